"""Documents added without ``near`` get, when asked, the groups that they would have got with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup import Collection, LimitError, Near, SettingError
from neardup.collection import arrivals
from neardup.collection.entries import entries_again
from neardup.collection.near import READ
from neardup.collection.sets import Sets
from neardup.runtime import Deadline
from support.memory_collection import MemoryCollection
from support.pending_texts import WORDS, groups, made_texts, put


def changes(collection: Collection) -> list[dict[str, Any]]:
    return [{**one.as_dict(), "at": ""} for one in collection.changes()]


@pytest.mark.part(2)
@pytest.mark.parametrize("recall", [1, 0.99])
@pytest.mark.parametrize("seed", range(3))
def test_the_groups_are_those_of_adding_with_near(tmp_path: Path, seed: int, recall: float) -> None:
    texts, near = made_texts(seed), Near((0.6, 0.8, 0.9)[seed], recall)
    with (
        Collection(tmp_path / "with", floor=4, scale=3) as one,
        Collection(tmp_path / "off", floor=4, scale=3) as other,
    ):
        put(one, texts, near=near, on_near="link")
        put(other, texts)
        assert groups(other)["groups"] == []
        # in several calls and transactions
        first = other.group_pending(near, limit=9)
        assert first.compared == 9
        assert first.next is not None
        rest = other.group_pending(near, after=first.next)
        assert (rest.next, rest.compared) == (None, len(texts) - 9)
        assert groups(one) == groups(other)
        assert len(groups(one)["groups"]) > 3
        assert changes(one) == changes(other)
        assert other.check() == []
        again = other.group_pending(near)
        assert (again.linked, groups(one)) == (0, groups(other))


@pytest.mark.parametrize("seed", range(2))
def test_documents_compared_on_arrival_and_later_make_the_same_groups(tmp_path: Path, seed: int) -> None:
    texts, near = made_texts(seed + 10), Near(0.7, 1)
    ids = list(texts)
    with Collection(tmp_path / "with") as one, Collection(tmp_path / "part") as other:
        put(one, texts, near=near, on_near="link")
        put(other, {id: texts[id] for id in ids[:20]}, near=near, on_near="link")
        put(other, {id: texts[id] for id in ids[20:]})
        other.group_pending(near)
        assert groups(one) == groups(other)


def members(found: Sequence[dict[str, Any]]) -> set[frozenset[str]]:
    return {frozenset(member["id"] for member in group["members"]) for group in found}


def naive(texts: dict[str, str], threshold: float) -> set[frozenset[str]]:
    """The rule of links, with sets of Python: each text joins the most similar earlier one's group, if it may."""
    sets = {id: frozenset(MemoryCollection({id: text}).sets[0].tolist()) for id, text in texts.items()}

    def alike(a: str, b: str) -> float:
        whole = len(sets[a] | sets[b])
        return len(sets[a] & sets[b]) / whole if whole else 0.0

    led: dict[str, list[str]] = {}
    leader: dict[str, str] = {}
    ids = list(texts)
    for place, id in enumerate(ids):
        near = [other for other in ids[:place] if alike(id, other) >= threshold]
        for other in sorted(near, key=lambda other: (-alike(id, other), ids.index(other))):
            head = leader.get(other, other)
            if alike(id, head) >= threshold:
                led.setdefault(head, [head]).append(id)
                leader |= {head: head, id: head}
                break
    return {frozenset(group) for group in led.values()}


def test_the_groups_follow_the_rule_of_links(tmp_path: Path) -> None:
    texts = made_texts(33)
    with Collection(tmp_path / "made") as made:
        put(made, texts)
        made.group_pending(Near(0.7, 1))
        assert members(groups(made)["groups"]) == naive(texts, 0.7)


def test_existing_groups_stay_and_take_earlier_documents(tmp_path: Path) -> None:
    """The first document was not compared, the next two were: it joins their group."""
    text = " ".join(WORDS[:60])
    with Collection(tmp_path / "made") as made:
        made.put("first", text + " once")
        made.put("second", text)
        made.put("third", text, near=0.9, on_near="link")
        made.put("base-like", "something else")
        assert [member.id for member in made.group(1).members] == ["second", "third"]
        done = made.group_pending(0.9)
        assert (done.compared, done.repeats, done.linked, done.recall) == (2, 1, 1, 0.99)
        assert [(one.id, one.of, one.action, one.group) for one in done.near] == [("first", "second", "linked", 1)]
        assert made.group(1).representative == "second"
        assert [member.id for member in made.group(1).members] == ["first", "second", "third"]
        assert made.check() == []


def test_decisions_and_base_texts_hold(tmp_path: Path) -> None:
    text = " ".join(WORDS[:60])
    with Collection(tmp_path / "made") as made:
        made.put("form", text, role="base")
        made.put("a", text + " a letter of its own with more words")
        made.put("b", text)
        made.put("c", text + " a letter of its own with more words")
        made.put("d", text + " a letter of its own with more words")
        made.decide("a", "c", "not alike")
        done = made.group_pending("90%")
        assert done.compared == 4
        assert [(one.id, one.action) for one in done.near] == [("c", "kept"), ("d", "linked")]
        assert [member.id for member in made.group(1).members] == ["a", "d"]
        assert made.check() == []


def test_a_passed_time_limit_undoes_its_batch_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"{number}": " ".join(WORDS[:40]) for number in range(10)}
    monkeypatch.setattr(arrivals, "TOGETHER", 4)
    with Collection(tmp_path / "made") as made:
        put(made, texts)
        batches: list[Any] = []
        compared = arrivals.Pending._compare

        def counted(*given: Any) -> Any:
            batches.append(given)
            return compared(*given)

        class Passing(Deadline):
            def check(self) -> None:
                if len(batches) == 2:
                    raise LimitError("too long")

        monkeypatch.setattr(arrivals.Pending, "_compare", counted)
        with pytest.raises(LimitError):
            arrivals.group_pending(made.store, Near(0.8), 0, None, Passing(1000))
        batches.clear()
        assert made.group(1).size == 4
        assert made.check() == []
        made.group_pending()
        assert made.group(1).size == 10
        for limit in (0, True, "5"):
            with pytest.raises(SettingError):
                made.group_pending(limit=limit)  # type: ignore[arg-type]


def test_other_writers_get_in_while_documents_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not wait, and what they store, replace, remove and decide counts."""
    texts = made_texts(7)
    ids = list(texts)
    monkeypatch.setattr(arrivals, "TOGETHER", 5)
    with Collection(tmp_path / "made") as made, Collection(tmp_path / "made", wait=0) as other:
        put(made, texts)
        repeated = arrivals.StoredFinder.repeated_documents
        calls: list[int] = []

        def disturbed(finder: arrivals.StoredFinder, place: int, old: int = 0) -> Any:
            calls.append(place)
            found = repeated(finder, place, old)
            if len(calls) == 8:
                texts[ids[6]] = texts[ids[7]] = texts[ids[0]]
                other.put(ids[6], texts[ids[6]])
            if len(calls) == 18:
                other.put(ids[7], texts[ids[7]])
                other.remove(ids[9])
                del texts[ids[9]]
            if len(calls) == 29:
                other.put("late", texts[ids[1]])
            return found

        monkeypatch.setattr(arrivals.StoredFinder, "repeated_documents", disturbed)
        made.group_pending(Near(0.7, 1))
        assert len(calls) > 29
        monkeypatch.undo()
        made.group_pending(Near(0.7, 1))  # the late one, and those replaced after they were compared
        texts["late"] = texts[ids[1]]
        assert made.check() == []
        alone = set(texts) - {id for group in members(groups(made)["groups"]) for id in group}
        together = naive(texts, 0.7)
        assert {ids[6], ids[7]} <= set().union(*(group for group in together if ids[0] in group))
        assert not alone & {id for group in together for id in group}


def test_a_crowd_is_not_read_as_a_whole(tmp_path: Path) -> None:
    """What is kept of the posting lists of a crowd does not grow with it, so the work grows in proportion."""
    text = " ".join(WORDS[:60])
    with Collection(tmp_path / "made") as made:
        put(made, {f"{number}": text for number in range(600)})
        made.add([{"id": f"x{number}", "text": text} for number in range(600)], near=0.9, on_near="link")
        finder = arrivals.StoredFinder(
            made.store,
            Near(0.9),
            Sets(made.store),
            Deadline(None),
            arrivals._mask(made.store.groups.grouped_documents()),
        )
        for first in (1, 401):
            numbers = np.arange(first, first + arrivals.TOGETHER)
            finder.begin_stored(entries_again(made.store, numbers), numbers)
            assert finder._heads
            for head, later in finder._heads.values():
                assert len(head) == READ
                assert len(later) <= READ + arrivals.TOGETHER
            assert [one.number for one in finder.repeated_documents(5)][:2] == [1, 2]
