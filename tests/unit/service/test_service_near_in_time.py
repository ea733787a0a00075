"""A request that adds and looks for near copies has its time; then it is undone as a whole, and others go on."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection, Near
from neardup.collection.contract import too_long_error
from neardup.collection.intake import Adding
from neardup.collection.near import Finder
from neardup.collection.search import search
from neardup.errors import LimitError
from neardup.runtime import Deadline
from neardup.service.web.limits import Limits
from neardup.service.web.server import Job
from support.made_service import serving

TEXT = " ".join(f"word{number}" for number in range(40))
SOON = 60.0


def texts(begin: int, number: int) -> dict[str, str]:
    """Alike but for one word each; the same ids have the same texts."""
    return {f"d{k}": TEXT.replace(f"word{k % 40}", f"other{k}") for k in range(begin, begin + number)}


def state(collection: Collection) -> Any:
    """Everything that an addition could have changed."""
    with collection.view() as looked:
        found = search(looked, "word1 OR word2", limit=1000)
    info = collection.info()
    said = {name: info[name] for name in ("documents", "tokens", "shingles", "postings", "groups")}
    groups = [group.as_dict() for group in collection.groups().groups]
    return sorted(hit.id for hit in found.hits), said, groups, len(collection.changes())


@pytest.mark.part(3)
@pytest.mark.parametrize("near", [Near(0.6), Near(0.6, recall=1)])
@pytest.mark.parametrize("on_near", ["link", "reject", "keep"])
def test_wherever_the_time_ends_nothing_is_left(tmp_path: Path, near: Near, on_near: Any) -> None:
    """The clock says that time is up when it is looked at for the first, second … time, until it is not asked."""
    new = texts(8, 6) | {"d3": TEXT}  # replaces a member of the group
    with Collection(tmp_path / "x", scale=2) as collection, Collection(tmp_path / "whole", scale=2) as whole:
        for one in (collection, whole):
            old = texts(0, 8)
            one.put_prepared(one.prepare(list(old), list(old.values()), [{}] * len(old)), near=0.6, on_near="link")
        entries = collection.prepare(list(new), list(new.values()), [{}] * len(new))
        whole.put_prepared(entries, "replace", near=near, on_near=on_near)
        before, looks = state(collection), 0
        for allowed in count():
            asked = iter([0.0] * (allowed + 1))  # the first look is at the beginning, to know the end
            deadline = Deadline(50, too_long_error, lambda asked=asked: next(asked, 100.0))
            with collection.together():
                try:
                    Adding(collection.store, "replace", near, on_near, deadline=deadline).put(entries)
                except LimitError:
                    looks += 1
                else:
                    break
            assert state(collection) == before
        assert looks > 10
        assert state(collection) == state(whole)
        assert collection.check() == []


def test_a_slow_look_up_ends_and_those_behind_it_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, looked = Finder.repeated_documents, []

    def slow(finder: Finder, place: int, old: int) -> Any:
        looked.append(place)
        time.sleep(0.05)
        return whole(finder, place, old)

    new = [{"id": id, "text": text} for id, text in texts(0, 200).items()]
    with serving(tmp_path / "mail.neardup") as service:
        monkeypatch.setattr(Finder, "repeated_documents", slow)

        async def asked() -> list[Any]:
            service.executor.limits = Limits.of(seconds=0.5)
            many = {"documents": new, "near": 0.5, "on_near": "link"}
            first = asyncio.create_task(service.ask("POST", "/v1/documents", many))
            while not looked:
                await asyncio.sleep(0.005)
            service.executor.limits = Limits.of(seconds=SOON)
            others = [service.ask("PUT", f"/v1/documents/{id}", {"text": TEXT}) for id in "ab"]
            return await asyncio.gather(first, *others)

        refused, *others = service.runner.run(asked())
        assert (refused.status, refused.error["code"]) == (503, "timeout")
        assert "nothing was changed" in refused.error["message"]
        assert refused.headers["retry-after"]
        assert [other.status for other in others] == [200, 200]
        assert 0 < len(looked) < len(new)
        assert sorted(service.executor.collection) == ["a", "b"]
        assert service("GET", "/v1/groups").json["groups"] == []
        monkeypatch.undo()
        again = service("POST", "/v1/documents", {"documents": new[:3], "near": 0.5, "on_near": "link"})
        assert (again.status, again.json["added"]) == (201, 3)
        assert service.executor.collection.check() == []


def test_of_a_batch_only_the_slow_one_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three requests in one transaction. The time of the second ends when it begins to look for near copies."""
    whole, now, begun, all_wait = Finder.begin, [0.0], threading.Event(), threading.Event()

    def slow(finder: Finder, entries: Any) -> None:
        now[0] += 100
        whole(finder, entries)

    monkeypatch.setattr(Finder, "begin", slow)
    with serving(tmp_path / "mail.neardup") as service:
        collection = service.executor.collection
        entries = [collection.prepare([id], [TEXT], [{}]) for id in "abc"]

        def in_time() -> Any:
            deadline = Deadline(50, too_long_error, lambda: now[0])
            return Adding(collection.store, "error", Near(0.5), "keep", deadline=deadline).put(entries[1])

        async def together() -> list[Any]:
            writer = service.executor._writer
            # a request that has left the queue may still wait for others of its batch
            writer._queue.put(Job(lambda: begun.set() or all_wait.wait(SOON), Deadline(SOON)))
            while not begun.is_set():
                await asyncio.sleep(0)
            works = (
                lambda: collection.put_prepared(entries[0]),
                in_time,
                lambda: collection.put_prepared(entries[2]),
            )
            writes = [asyncio.create_task(service.executor.write(work, Deadline(SOON))) for work in works]
            while writer.waiting < len(works):
                await asyncio.sleep(0)
            all_wait.set()
            return await asyncio.gather(*writes, return_exceptions=True)

        first, second, third = service.runner.run(together())
        assert (first.added, third.added) == (1, 1)
        assert second.code == "timeout"
        assert list(collection) == ["a", "c"]
        assert "neardup_write_batch_requests_count 2.0" in service.executor.metrics.text().decode()
        assert collection.check() == []
