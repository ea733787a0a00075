"""A small result in a folder, of documents whose differences are known, for tests of the review."""

import json
from pathlib import Path

import neardup as nd
from neardup.review.desk.desk import Desk
from neardup.review.source import GroupLine, Question

FOX = "the quick brown fox jumps over the lazy dog and runs far away"
PLAN = "an entirely different text that speaks of budgets and of plans for the coming year of work"
NIGHT = "the night is dark and the moon is red over the hills where the old mill stands by the river"
TEXTS = {
    "fox": f"{FOX} 10 times in a day until the evening comes and all is quiet again on the farm",
    "fox-12": f"{FOX} 12 times in a day until the evening comes and all is quiet again on the farm",
    "fox-copy": f"{FOX} 10 times in a day until the evening comes and all is quiet again on the farm",
    "fox-less": f"{FOX} 10 times in a day until the evening comes",
    "plan": PLAN,
    "plan-more": f"{PLAN} and play",
    "night": NIGHT,
    "night-copy": NIGHT,
    "alone": "nothing else resembles this sentence about ships that sail to the south in winter storms",
}
"""Documents by id: a group of four (numbers, a copy, a beginning), one of two, and two exact copies."""


def make_result(
    folder: Path, texts: dict[str, str] | None = None, *, store_texts: bool = True, **settings: object
) -> Path:
    """Write the documents and the result of a run; return the folder of the result."""
    documents = folder / "documents.jsonl"
    rows = [
        {"id": id, "text": text, "day": len(id), "list": [1]}
        for id, text in (TEXTS if texts is None else texts).items()
    ]
    documents.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = nd.find(documents, **{"id": "id", "threshold": 0.5, "kinds": True, **settings})
    found.save(folder / "result", store_texts=store_texts)
    return folder / "result"


def lines(desk: Desk, filter: str = "", **how: object) -> dict[str, GroupLine]:
    """Return the lines of the list of groups by the id of the representative."""
    return {str(line.id): line for line in desk.groups(Question(filter, **how)).lines}  # type: ignore[arg-type]


def ids(desk: Desk, filter: str) -> set[str]:
    """Return the first words of the ids of the groups that a filter finds."""
    return {name.partition("-")[0] for name in lines(desk, filter)}


def key(desk: Desk, id: str) -> int:
    """Return the key of a document."""
    number = desk._index.documents.number(id)
    assert number is not None
    return int(desk._index.documents.rows[number])
