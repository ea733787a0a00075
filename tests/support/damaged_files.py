"""A collection file with every kind of page, the kinds of places in it, and its answers."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.collection import Collection

PAGE = 8192
BTREES = {0x02: "inner index page", 0x05: "inner table page", 0x0A: "index leaf", 0x0D: "table leaf"}

QUERIES = (
    "FINGERPRINT:d3",
    "FINGERPRINT:d3_20_95",
    "FINGERPRINT:long_1",
    "SIMILAR:d3_10_90",
    "word7",
    '"of its own word8"',
    '"common words common words"',
    "from:ann",
    "year>=2003 AND word9",
    "from!=ann AND NOT year<2002",
    "NOT word9",
)


def texts() -> dict[str, str]:
    """Documents of one page and of many, with words in common and of their own."""
    draw = random.Random(1)
    made = {}
    for k in range(60):
        own = " ".join(f"w{draw.randrange(400)}" for _ in range(60))
        made[f"d{k}"] = (
            f"text {k} with some words of its own word{k} {own} and common words common words at its end"
        )
    made["long"] = " ".join(f"long{draw.randrange(10**6)}" for _ in range(4000)) + " " + made["d3"]
    made["d3 again"] = made["d3"].upper()
    return made


def make(path: Path) -> None:
    """A collection in which documents were added, replaced and removed."""
    known = texts()
    rows: dict[str, list[Any]] = {
        "id": list(known),
        "text": list(known.values()),
        "from": [("ann", "bob")[k % 2] for k in range(len(known))],
        "year": [2000 + k % 5 for k in range(len(known))],
        "tags": [[f"tag {k} {place} of a document" for place in range(8)] for k in range(len(known))],
    }
    some = pa.table({name: values[:9] for name, values in rows.items()})
    with Collection(path, scale=4, slots=16) as collection:
        gone = {f"gone{k}": f"{known['long']} {k}" for k in range(4)}
        collection.add(pa.table({"id": list(gone), "text": list(gone.values())}))
        collection.add(pa.table(rows), metadata=["from", "year", "tags"])
        collection.remove(list(gone))
        collection.add(some.drop_columns(["from", "year", "tags"]), on_duplicate="replace")
        collection.add(some, metadata=["from", "year", "tags"], on_duplicate="replace")
        collection.add(pa.table({"id": ["near"], "text": [known["d7"] + " and more"]}), near=0.8, on_near="link")
        collection.decide("d1", "d2", "not alike", by="ann")
        late = {f"late{k}": text[::-1] for k, text in enumerate(gone.values())}
        collection.add(pa.table({"id": list(late), "text": list(late.values())}))
        collection.remove(list(late))


def places(data: bytes, packed: Sequence[bytes]) -> Mapping[str, list[int]]:
    """The bytes of a collection file by their kind; ``packed`` are stored texts."""
    free = set(free_pages(data))
    found: dict[str, list[int]] = {"header": list(range(100)), "text": []}
    for begin in range(0, len(data), PAGE):
        number = begin // PAGE + 1
        kind = "free page" if number in free else BTREES.get(data[begin + 100 * (number == 1)], "overflow page")
        found.setdefault(kind, []).extend(range(begin + 100 * (number == 1), begin + PAGE))
    for text in packed:
        place = data.find(text)
        if place >= 0:
            found["text"].extend(range(place, place + len(text)))
    return found


def free_pages(data: bytes) -> list[int]:
    """The numbers of the pages in the list of free pages (SQLite file format, 1.5)."""
    (trunk,) = struct.unpack_from(">I", data, 32)
    found = []
    while trunk:
        begin = (trunk - 1) * PAGE
        following, count = struct.unpack_from(">II", data, begin)
        found += [trunk, *struct.unpack_from(f">{count}I", data, begin + 8)]
        trunk = following
    return found


def answers(collection: Collection) -> dict[str, Any]:
    """Everything that can be asked of a collection: documents, counts, searches."""
    documents = {}
    for id in collection:
        document = collection.get(id)
        documents[id] = (document.text, document.metadata, document.tokens, document.shingles)
    counts = {key: value for key, value in collection.info().items() if key not in ("path", "bytes")}
    searches = {query: [hit.as_dict() for hit in collection.search(query, limit=100).hits] for query in QUERIES}
    groups = [group.as_dict() for group in collection.groups().groups]
    decided = list(collection.decisions())
    logged = list(collection.changes())
    return {
        "documents": documents,
        "counts": counts,
        "searches": searches,
        "groups": groups,
        "said": [decided, logged],
    }
