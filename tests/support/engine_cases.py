"""What every engine is given: documents of all kinds in one table, and the settings to run with."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from support import shared_data
from support.made_texts import Writer, edited


class Case(NamedTuple):
    """Settings, and whether a reference set is given."""

    settings: dict[str, Any]
    against: bool = False


CASES = {
    "against": Case(
        {"method": "lsh", "threshold": 0.6, "groups": "components", "empty": "one", "lose": 0.2}, against=True
    ),
    "by the command": Case({"method": "exact", "measure": "containment", "keep": "first", "empty": "drop"}),
    "killed": Case({"method": "lsh", "copies": "identical"}),
}


@cache
def documents() -> pa.Table:
    """The own collection; families; a crowd and a template in hub buckets; empty documents and exact copies."""
    writer = Writer(77)
    texts = [*shared_data.documents("own").values()]
    for size in (2, 3, 5, 40, 130):
        first = writer.words(90)
        texts += [" ".join(edited(first, 0.82, writer)) for _ in range(size)]
    head, tail = writer.text(60), writer.text(60)
    texts += [f"{head} Number {k}. {tail}" for k in range(1100)]
    page = writer.text(200)
    texts += [f"{page} {writer.text(30 + k % 9)}" for k in range(160)]
    texts += ["", "   ", "", *texts[5:9], texts[900], texts[901].upper()]
    order = list(range(len(texts)))
    writer.random.shuffle(order)
    return pa.table({"id": [f"d{k}" for k in order], "text": [texts[k] for k in order], "size": order})


@cache
def lines() -> tuple[list[str], list[str]]:
    """The documents as the lines of two files of JSONL; one line is damaged."""
    rows = [json.dumps(row) + "\n" for row in documents().to_pylist()]
    return rows[:900], [*rows[900:], '{"id": "damaged", "text": \n']


@cache
def reference() -> pa.Table:
    """A reference set: every seventh document under another id, and some text of its own."""
    rows = documents().to_pylist()[::7]
    more = [{"id": f"r{k}", "text": Writer(k).text(50), "size": k} for k in range(5)]
    return pa.Table.from_pylist([*({**row, "id": f"r-{row['id']}"} for row in rows), *more])
