"""The steps of a process that is going to be killed, on a collection, and the state that each should leave.

As a program it is a nursery: it has imported everything, and for each line on standard input (path, log, first
step) it forks a child that works from that step on, until somebody kills it. A step that is done is written to the
log.
"""

from __future__ import annotations

import os
import random
import sys
from itertools import count
from tempfile import TemporaryDirectory

import pyarrow as pa

from neardup.collection import Collection

SETTINGS = {"scale": 2, "slots": 16}


def new(step: int) -> dict[str, str]:
    """The documents that a step adds."""
    draw = random.Random(step)
    return {
        f"{step}.{k}": f"text {step} of {k} "
        + " ".join(f"w{draw.randrange(50)}" for _ in range(30 + 200 * (k == 3)))
        for k in range(1 + step % 13)
    }


def kind(step: int) -> str:
    """What a step does."""
    if step % 9 == 8:
        return "compact" if step % 2 else "reopen"
    return {3: "replace", 5: "remove", 6: "link"}.get(step % 7, "add")


def after(step: int, before: dict[str, str]) -> dict[str, str]:
    """The documents that are there after a step."""
    if kind(step) in ("compact", "reopen"):
        return before
    if kind(step) == "remove":
        gone = set(new(step - 2)) | set(new(step - 3))
        return {id: text for id, text in before.items() if id not in gone}
    if kind(step) == "replace":
        return before | {id: f"{text} again" for id, text in new(step - 1).items()} | new(step)
    if kind(step) == "link":
        return before | {f"{id} copy": before[id] + " or so" for id in new(step - 4) if id in before}
    return before | new(step)


def do(collection: Collection, step: int) -> None:
    """Do a step."""
    if kind(step) == "compact":
        collection.compact()
        return
    before = {id: collection.get(id).text for id in collection}
    wanted = after(step, before)
    gone = [id for id in before if id not in wanted]
    if gone:
        collection.remove(gone)
    put = {id: text for id, text in wanted.items() if before.get(id) != text}
    if put:
        rows = pa.table({"id": list(put), "text": list(put.values())})
        near = {"near": 0.8, "on_near": "link"} if kind(step) == "link" else {}
        collection.add(rows, on_duplicate="replace", **near)  # type: ignore[arg-type]


def work(path: str, log: int, first: int) -> None:
    """Do all steps from ``first`` on, and write down each that is done."""
    collection = Collection(path, **SETTINGS)
    for step in count(first):
        if kind(step) == "reopen":
            collection.close()
            collection = Collection(path, **SETTINGS)
        else:
            do(collection, step)
        os.write(log, b"%d\n" % step)


def nursery() -> None:
    """Fork a child for each line; say its number, and when it has ended."""
    with TemporaryDirectory() as folder, Collection(f"{folder}/x", **SETTINGS) as collection:
        for step in range(20):  # so that children find everything loaded
            do(collection, step)
    for line in sys.stdin:
        path, log, first = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            work(path, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), int(first))
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


if __name__ == "__main__":
    nursery()
