"""The collection as the endpoints use it: work for the threads that read, work for the one that writes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from starlette.responses import Response

from neardup.collection import Collection
from neardup.collection.view import View
from neardup.errors import LimitError, NeardupError, OutputError
from neardup.service.limits import Limits
from neardup.service.metrics import Metrics
from neardup.service.models import NewDocuments
from neardup.service.refusals import CODES, RefusedError, gone, overloaded, refusal_of, timeout
from neardup.service.workers import Workers
from neardup.service.writer import Writer

T = TypeVar("T")

_STEP = 0.02


class Desk:
    """A collection with its threads; ``close`` finishes what is under way and closes the collection, too."""

    def __init__(self, collection: Collection, limits: Limits) -> None:
        self.collection, self.limits, self.metrics = collection, limits, Metrics()
        self._workers = Workers(limits.threads)
        self._comparing = Workers(
            1
        )  # of its own: what only stops between its steps must not keep others from reading
        self._writer = Writer(self._together, self.metrics.batches.observe)
        self._file = _file(collection.path)
        self.warmed, self.closed = threading.Event(), False
        self.warmed.set()
        self.metrics.watch("read", lambda: self._workers.waiting)
        self.metrics.watch("compare", lambda: self._comparing.waiting)
        self.metrics.watch("write", lambda: self._writer.waiting)

    @property
    def ready(self) -> bool:
        """Whether it can read and write."""
        return self._writer.alive

    def require_warmed(self) -> None:
        """Raise RefusedError while the service has started just now, and compiles."""
        if not self.warmed.is_set():
            raise overloaded("The service has started just now, and compiles")

    async def _warmed(self, until: float) -> None:
        """Wait until what it needs is compiled, at most ``until``."""
        while not self.warmed.is_set() and monotonic() < until:
            await asyncio.sleep(_STEP)
        self.require_warmed()

    def require_file(self) -> None:
        """Raise RefusedError when the file that was opened is not at its place any more."""
        if _file(self.collection.path) != self._file:
            raise gone()

    async def view(self, work: Callable[[View], T]) -> T:
        """The result of look-ups in the collection as it is when they begin; they are stopped when time is up."""
        until = monotonic() + self.limits.seconds

        def look() -> T:
            with self.collection.view(until - monotonic()) as view:
                return work(view)

        return await self.read(look, until)

    async def compare(self, work: Callable[[View, float], T]) -> T:
        """The result of a comparison, one after the other; ``work`` is told how many seconds it has."""
        until = monotonic() + self.limits.seconds

        def look() -> T:
            with self.collection.view(until - monotonic()) as view:
                return work(view, until - monotonic())

        return await self._run(self._comparing, look, until)

    async def read(self, work: Callable[[], T], until: float | None = None) -> T:
        """The result of work that changes nothing."""
        return await self._run(self._workers, work, self._end(until))

    async def _run(self, workers: Workers, work: Callable[[], T], until: float) -> T:
        await self._warmed(until)
        try:
            return await workers.run(work, until)
        except NeardupError as error:
            refusal = refusal_of(error, self.collection.path)
            if isinstance(error, OutputError):  # of a disk that cannot be read
                refusal.code = CODES[refusal.status]
            raise refusal from error

    async def add(self, new: NewDocuments) -> dict[str, Any]:
        """Add documents, all or none; what became of them is on the disk when it returns."""
        until = monotonic() + self.limits.seconds
        if new.near is None and new.on_near != "keep":
            raise RefusedError(422, f"on_near is {new.on_near} without near", "A resemblance as near, too")
        collection, documents = self.collection, new.documents
        ids, texts = [each.id for each in documents], [each.text for each in documents]
        metadata = [each.metadata for each in documents]
        try:
            entries = await self.read(
                lambda: collection.prepare(ids, texts, metadata, seconds=until - monotonic()), until
            )
        except RefusedError as refusal:
            if refusal.status == 400:  # a document that cannot be kept: as if the description of the body said so
                refusal.status, refusal.code = 422, CODES[422]
            raise

        def write() -> dict[str, Any]:
            if new.on_duplicate == "error":
                self._require_new(ids)
            left = until - monotonic()
            added = collection.put(entries, new.on_duplicate, near=new.near, on_near=new.on_near, seconds=left)
            counts = {name: getattr(added, name) for name in ("added", "replaced", "skipped", "left_out")}
            return {**counts, "near": [one.as_dict() for one in added.near]}

        return await self.write(write, until)

    async def remove(self, id: str) -> dict[str, int]:
        """Remove a document."""

        def write() -> dict[str, int]:
            if id not in self.collection:
                raise unknown()
            return {"removed": self.collection.remove(id)}

        return await self.write(write)

    async def write(self, work: Callable[[], T], until: float | None = None) -> T:
        """The result of work that changes something; it is on the disk when it returns."""
        end = self._end(until)
        await self._warmed(end)
        try:
            result = await self._writer.run(work, end)
        except LimitError as error:
            raise timeout() from error
        except NeardupError as error:
            refusal = refusal_of(error, self.collection.path)
            if refusal.status >= 500:
                self.metrics.writable.set(0)
            raise refusal from error
        self.metrics.writable.set(1)
        return result

    def close(self) -> bool:
        """End; whether everything ended in time. The collection is closed when nobody uses it any more."""
        self.closed = True
        end = monotonic() + self.limits.stop_seconds
        written = self._writer.close(self.limits.stop_seconds)
        closed = [lane.close(max(0.0, end - monotonic())) for lane in (self._workers, self._comparing)]
        read = all(closed)
        if written and read:
            self.collection.close()
        return written and read

    def _end(self, until: float | None) -> float:
        return monotonic() + self.limits.seconds if until is None else until

    def _require_new(self, ids: Sequence[str]) -> None:
        todo = 'Give "on_duplicate": "replace" or "skip"'
        if len(set(ids)) < len(ids):
            raise RefusedError(409, "An id comes twice in this request", "Each id once; nothing was stored", todo)
        if self.collection.store.numbers(ids):
            raise RefusedError(
                409, "A document with this id is there already", "Ids that are new; nothing was stored", todo
            )

    @contextmanager
    def _together(self) -> Iterator[None]:
        try:
            self.require_file()
        except RefusedError:
            self.metrics.writable.set(0)
            raise
        with self.collection.together():
            yield


def _file(path: Path) -> tuple[int, int] | None:
    """Which file is at a place."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def unknown() -> RefusedError:
    """There is no document of an id."""
    return RefusedError(
        404, "There is no document with this id", "An id as it was when the document was added", code="unknown_id"
    )


def answer(data: Any, status: int = 200) -> Response:
    """An answer of plain data, which is not checked again.

    Made in the thread that read it: while a large one is written nobody else would be listened to.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        content = json.dumps(data).encode("ascii")
    return Response(content, status, media_type="application/json")


__all__ = ["Desk", "answer", "unknown"]
