"""The live pages in a browser: what they announce, and the keys that change something."""

import itertools
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from neardup.collection import Collection
from neardup.io.decisions.records import Action
from neardup.review.desk.desk import Desk
from neardup.review.source import Decide, DrawSeconds, HandOut, Question
from support.made_reviews import make_result

COUNCIL = (
    "The council met on the third of March. It heard a report about the lights along the coast, and about the "
    "cost of oil. Nobody spoke against it. "
)
LONG_NAME, LONG_NOTE = f"Beatrice.{'b' * 100}@example.org", f"see {'n' * 150}"


def key_of(desk: Desk, id: str) -> int:
    lines = desk.groups(Question()).lines
    found = [line.key for line in lines for member in desk.group(line.key).members if member.id == id]
    return found[0]


def said(page: Any, words: str) -> None:
    """Wait until the page announces the words."""
    page.locator("#said", has_text=words).wait_for(state="attached")


def focused(page: Any) -> str:
    text: str = page.evaluate("document.activeElement.textContent")
    return " ".join(text.split())


def press(page: Any, desk: Desk, key: str) -> Action:
    """Press a key that changes something, and return the action that the page then reports."""
    number = len(desk.history(limit=1000)) + 1
    page.keyboard.press(key)
    page.wait_for_url(f"**done={number}")
    said(page, "one: ")  # Done or Undone
    return desk.history(limit=1)[0]


def unbroken_texts() -> dict[str, str]:
    """Two groups whose names, words and lines have few places to break."""
    folder = "contracts/" + "framework_agreement_of_the_year_" * 3
    texts = {f"{folder}/v{n}.txt": f"{COUNCIL} {'x' * 120} price {n} {'0123456789' * 12}" for n in range(5)}
    address = f"https://example.org/{'path/' * 40}"
    return texts | {f"b-{n}": f"{'Total 1,200.00 | ' * 30} {address}" + "row " * n for n in range(3)}


def pairs_of(desk: Desk) -> list[tuple[int, int]]:
    """Return the members of all groups, each with its representative."""
    groups = [desk.group(line.key).members for line in desk.groups(Question()).lines]
    heads = [next(each.key for each in members if each.representative) for members in groups]
    return [
        (each.key, head) for head, group in zip(heads, groups, strict=True) for each in group if each.key != head
    ]


def judge_all(desk: Desk, person: str, note: str) -> tuple[int, int]:
    """Hand out, tag and decide all pairs, look at half of them twice, and return one that waits for that."""
    seen = itertools.count(desk.history(limit=1)[0].number if desk.history(limit=1) else 0)
    desk.hand_out(HandOut("", "size", (("Ann", 1), (person, 1)), 1, False, "Max", next(seen)))
    for pair in pairs_of(desk):
        desk.tag(pair[0], "t" * 200, True, "Ann", next(seen))
        desk.decide(Decide("pair", "duplicate", "Ann", next(seen), pair=pair, note=note))
    desk.draw_seconds(DrawSeconds((person,), 100, 1, "Max", next(seen)))
    ((_, _, pair),) = desk.second_reviews().waiting
    waiting = desk.decide_second(pair, "not alike", note, person, next(seen)).next
    assert waiting is not None
    return waiting


def desk_over(kind: str, folder: Path, stack: ExitStack) -> Desk:
    """A desk over the result or the collection of these texts, which closes with the stack."""
    if kind == "result":
        return stack.enter_context(closing(Desk.open(make_result(folder, unbroken_texts(), threshold=0.3))))
    collection = stack.enter_context(Collection(folder / "matter.neardup"))
    rows = [{"id": id, "text": text} for id, text in unbroken_texts().items()]
    collection.add(rows, near=0.3, on_near="link")
    return stack.enter_context(closing(Desk.of_collection(collection)))
