"""A small result in a folder, of documents whose differences are known, for tests of the review."""

import json
from pathlib import Path

import neardup as nd

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


def make_result(folder: Path, texts: dict[str, str] | None = None, **settings: object) -> Path:
    """Write the documents and the result of a run; return the folder of the result."""
    documents = folder / "documents.jsonl"
    rows = [
        {"id": id, "text": text, "day": len(id), "list": [1]}
        for id, text in (TEXTS if texts is None else texts).items()
    ]
    documents.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = nd.find(documents, **{"id": "id", "threshold": 0.5, "kinds": True, **settings})
    found.save(folder / "result")
    return folder / "result"
