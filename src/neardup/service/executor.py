"""The collection as the endpoints use it: reads run in several threads, writes in one, together."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from neardup import errors
from neardup.collection import Collection
from neardup.collection.answers import RECALL, Bounds, Near, Page, View, WhyNot, search, why_not
from neardup.collection.changes import StoreUnavailableError, too_long_error
from neardup.collection.shard import OfferedDocuments, ShardQuestion
from neardup.collection.shards import ShardError
from neardup.io.place import Place, file_at
from neardup.runtime import Deadline
from neardup.service.answers import AddedAnswer, RemovedAnswer
from neardup.service.requests import Arriving, OnDuplicate, parse_body
from neardup.service.web.limits import CODES, Limits, RefusedError, internal_error, stopping_error, timeout_error
from neardup.service.web.monitoring import Metrics
from neardup.service.web.server import Job, Turn, Workers

T = TypeVar("T")
Told: TypeAlias = tuple[str, Mapping[str, Any]]
"""The text and the metadata of a document."""
Missing: TypeAlias = Literal["error", "ignore"]
_SMALL = 32 << 10
"""Bytes of a body that is read at once, in less than a millisecond."""


PATIENCE = 0.02
"""Seconds for which a read keeps the next one waiting: most are over by then."""


class Executor:
    """A collection with its threads; ``close`` finishes pending work and closes the collection, too."""

    refused: tuple[str, ...] = ()
    """Beginnings of addresses that are refused."""

    def __init__(self, collection: Collection, limits: Limits) -> None:
        self.collection: OfferedDocuments = collection
        self._own, self.names = collection, {str(collection.path): "the collection"}
        # a database computes elsewhere, so threads that wait for it do not contend
        self._begin(limits, limits.threads, PATIENCE if file_at(collection.path) else 0.0)
        self._writer = Writer(
            self._together, self.metrics.batches.observe, lambda: self._workers.waiting > 0, self._workers.turn
        )
        self._file = file_identity(collection.path)
        self.metrics.watch("write", lambda: self._writer.waiting)

    def _begin(self, limits: Limits, threads: int, patience: float = 0.0) -> None:
        self.limits, self.metrics = limits, Metrics()
        self._workers = Workers(threads, patience)
        # a separate thread: a comparison stops only between its steps, and must not delay reads
        self._comparing = Workers(1)
        self.closed = False
        self.metrics.watch("read", lambda: self._workers.waiting)
        self.metrics.watch("compare", lambda: self._comparing.waiting)

    @property
    def own(self) -> Collection:
        """The one collection of this process, with its groups and decisions."""
        return self._own

    @property
    def ready(self) -> bool:
        """Whether the service can read and write."""
        return self._writer.alive

    @property
    def readonly(self) -> bool:
        """Whether every change is refused."""
        return self.own.store.readonly

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the collection."""
        return self.own.settings.as_dict()

    @property
    def has_parts(self) -> bool:
        """Whether the metadata names the parts beside the text of each document that has some."""
        return self.own.settings.has_parts

    async def require_store(self, *, partial: bool) -> None:
        """Raise RefusedError if the collection cannot be used; ``partial`` is for shards."""
        self.require_file()

    def require_file(self) -> None:
        """Raise RefusedError if the opened file is no longer at its place."""
        if file_identity(self.own.path) != self._file:
            raise _gone_error()

    async def view(self, work: Callable[[View, float], T], *, alone: bool = False) -> T:
        """Return the result of look-ups in one state of the collection; they stop at the time limit.

        ``work`` receives its seconds. Work that is ``alone`` has a thread of its own, one at a time.
        """
        deadline = self._deadline(alone_late_error if alone else timeout_error)

        def look() -> T:
            with self.own.view(deadline.left) as view:
                return work(view, deadline.left)

        return await self._run(self._comparing if alone else self._workers, look, deadline)

    async def search(
        self, question: Callable[[], ShardQuestion], form: Callable[[Page], T], *, partial: bool
    ) -> T:
        """Return a page in a ``form``; ``partial`` is for shards."""

        def look(view: View, _: float) -> T:
            wanted = question()
            page = search(
                view,
                wanted.query,
                limit=wanted.limit,
                after=wanted.after,
                include_self=wanted.include_self,
                fields=wanted.fields,
                bounds=Bounds(self.limits.most_candidates, wanted.compared),
            )
            return form(page)

        return await self.view(look)

    async def why_not(self, query: str, id: str, form: Callable[[WhyNot], T], *, include_self: bool) -> T:
        """Return why a query does not find a document, in a ``form``."""
        return await self.view(lambda view, _: form(why_not(view, query, id, include_self=include_self)))

    async def texts(self, ids: Sequence[str], work: Callable[[list[Told], list[str], float], T]) -> T:
        """Return the result of work with the texts and metadata of documents, the base texts, and its seconds."""

        def look(view: View, seconds: float) -> T:
            numbers = [view.number(id) for id in ids]
            texts = [(view.text(one), view.row(one).metadata) for one in numbers if one is not None]
            if len(texts) < len(numbers):
                raise unknown_error()
            return work(texts, view.base_texts(), seconds)

        return await self.view(look, alone=True)

    async def read(self, work: Callable[[], T], deadline: Deadline | None = None) -> T:
        """Return the result of work that changes nothing."""
        return await self._run(self._workers, work, deadline or self._deadline())

    async def _run(self, workers: Workers, work: Callable[[], T], deadline: Deadline) -> T:
        try:
            return await workers.run(work, deadline)
        except errors.NeardupError as error:
            refusal = refusal_error(error, self.names)
            if refusal.code == "unwritable":  # the disk cannot be read
                refusal.code = CODES[refusal.status]
            raise refusal from error

    async def receive(self, request: Request, kind: type[T]) -> T:
        """Return the body of a request; a thread reads a large one. Raises RefusedError for an invalid body."""
        body = await request.body()
        return parse_body(body, kind) if len(body) <= _SMALL else await self.read(lambda: parse_body(body, kind))

    async def add(
        self,
        rows: Sequence[tuple[str, str, dict[str, Any]]],
        arriving: Arriving,
        on_duplicate: OnDuplicate,
    ) -> AddedAnswer:
        """Add all documents (id, text, metadata) or none; returns their counts when they are on the disk."""
        ids, texts, metadata = map(list, zip(*rows, strict=True))
        deadline, collection = self._deadline(), self.own
        near, on_near = near_of(arriving), arriving.on_near
        with bad_request_as(422):  # an unstorable document counts as an invalid body
            entries = await self.read(
                lambda: collection.prepare(ids, texts, metadata, seconds=deadline.left), deadline
            )

        def write() -> AddedAnswer:
            if on_duplicate == "error":
                self._require_new(ids)
            left = deadline.left
            added = collection.put_prepared(
                entries, on_duplicate, near=near, on_near=on_near, seconds=left, role=arriving.role
            )
            return AddedAnswer.of(added)

        return await self.write(write, deadline)

    async def remove(self, ids: Sequence[str], missing: Missing = "error") -> RemovedAnswer:
        """Remove documents, all or none."""
        return await self.write(lambda: RemovedAnswer(self.own.remove(ids, missing=missing)))

    async def write_in_time(self, work: Callable[[Deadline], T]) -> T:
        """Return the result of work that stops at the deadline, which it receives."""
        deadline = self._deadline()
        return await self.write(lambda: work(Deadline(deadline.left, too_long_error)), deadline)

    async def write(self, work: Callable[[], T], deadline: Deadline | None = None) -> T:
        """Return the result of work that changes the collection, when the change is on the disk."""
        deadline = deadline or self._deadline()
        try:
            result = await self._writer.run(work, deadline)
        except errors.LimitError as error:
            raise timeout_error() from error
        except errors.NeardupError as error:
            refusal = refusal_error(error, self.names)
            if refusal.status >= 500:
                self.metrics.writable.set(0)
            raise refusal from error
        self.metrics.writable.set(1)
        return result

    def close(self, *, unused: bool = True) -> bool:
        """Stop the threads, then close the collection if they all ended in time; return whether they did.

        ``unused``: whether no other thread uses the collection; otherwise it stays open, since closing it under a
        thread in native code crashes the process.
        """
        self.closed = True
        deadline = Deadline(self.limits.stop_seconds)
        ended = [self._writer.close(self.limits.stop_seconds)]
        ended += [threads.close(max(0.0, deadline.left)) for threads in (self._workers, self._comparing)]
        if all(ended) and unused:
            self.own.close()
        return all(ended)

    def _deadline(self, late: Callable[[], RefusedError] = timeout_error) -> Deadline:
        return Deadline(self.limits.seconds, late)

    def _require_new(self, ids: Sequence[str]) -> None:
        do = 'Give "on_duplicate": "replace" or "skip"'
        if len(set(ids)) < len(ids):
            raise RefusedError(409, "An id is repeated in this request", "Each id once; nothing was stored", do)
        if self.own.store.numbers(ids):
            raise RefusedError(409, "A document with this id exists already", "New ids; nothing was stored", do)

    @contextmanager
    def _together(self) -> Iterator[None]:
        try:
            self.require_file()
        except RefusedError:
            self.metrics.writable.set(0)
            raise
        with self.own.together():
            yield


def answer(data: Any, status: int = 200) -> Response:
    """Return an answer of a record or of plain data, without validating it.

    Call it in the thread that read the data: the event loop would be blocked while a large answer is serialised.
    """
    data = asdict(data) if is_dataclass(data) and not isinstance(data, type) else data
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:  # only an escape can represent half a surrogate pair
        content = json.dumps(data).encode("ascii")
    return Response(content, status, media_type="application/json")


@contextmanager
def bad_request_as(status: int) -> Iterator[None]:
    """Give a refusal with the status 400 within the block another status."""
    try:
        yield
    except RefusedError as refusal:
        if refusal.status == 400:
            refusal.status, refusal.code = status, CODES[status]
        raise


_REFUSALS: tuple[tuple[type[errors.NeardupError], int, str], ...] = (
    (StoreUnavailableError, 503, ""),
    (errors.LimitError, 503, "timeout"),
    (errors.OutputError, 503, "unwritable"),
    (errors.ChangedMeanwhileError, 409, "changed"),
    (errors.UnknownIdError, 404, "unknown_id"),
    (errors.SettingError, 400, "setting"),
    (errors.SecondReviewError, 409, "second_review"),
    (errors.InputError, 400, ""),
)
"""The status and the code of errors, the narrower kinds first; "" is the code of the status."""


def refusal_error(error: errors.NeardupError, names: Mapping[str, str]) -> RefusedError:
    """Return an error of the library as an answer; ``names`` of collections, which are not revealed → words."""
    given = error.plain if isinstance(error, ShardError) else error.given
    allowed, do = error.allowed, error.do
    for name, word in names.items():
        given, allowed, do = (part.replace(name, word) for part in (given, allowed, do))
    if isinstance(error, ShardError):
        return RefusedError(503, given, "", "Repeat it, or ask for a partial answer", code="shard")
    if isinstance(error, errors.QueryError):
        place = error.position if error.query else None
        # the body has the position as a number, so the caret is left out
        given = given.partition(f" (character {error.position + 1}):\n")[0]
        return RefusedError(400, given, allowed, do, code="query", position=place)
    for kind, status, code in _REFUSALS:
        if isinstance(error, kind):
            return RefusedError(status, given, allowed, do, code=code)
    if isinstance(error, errors.FormatError):
        return RefusedError(500, "The collection is damaged", "", "Restore it from a copy", code="damaged")
    return internal_error()


def alone_late_error() -> RefusedError:
    """Return the refusal for texts that were not compared in time; only one request compares at a time."""
    return RefusedError(
        503,
        "The texts were not compared within the time limit of a request",
        "",
        "Repeat it: requests that compare texts wait for each other. Raise --seconds for long texts",
        code="timeout",
    )


def unknown_error() -> RefusedError:
    """Return the refusal for an unknown id."""
    return RefusedError(
        404, "There is no document with this id", "An id as it was when the document was added", code="unknown_id"
    )


def _gone_error() -> RefusedError:
    """Return the refusal for a file that was moved, removed or replaced: writes to it would be lost."""
    return RefusedError(
        503,
        "The file of the collection is not at its place any more; nothing was changed",
        "",
        "Put it back with its -wal file, or start the service again",
    )


def file_identity(path: Place) -> tuple[int, int] | None:
    """Return the device and inode of the file at ``path``, or None; always None for a database."""
    file = file_at(path)
    if file is None:
        return None
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def near_of(arriving: Arriving) -> Near | None:
    """Return the rule for repeats of a request. Raises RefusedError for parts of it without ``near``."""
    share, recall, on_near = arriving.near, arriving.recall, arriving.on_near
    if share is None and on_near != "keep":
        raise _without_near_error("on_near", f"on_near is {on_near} without near")
    if share is None and recall is not None:
        raise _without_near_error("recall", "recall is given without near")
    return None if share is None else Near(share, RECALL if recall is None else recall)


def _without_near_error(field: str, given: str) -> RefusedError:
    return RefusedError(422, given, "Both, near as a resemblance", fields=((f"body.{field}", "needs near"),))


MOST_TOGETHER = 64
"""Largest number of requests in a transaction, so that the first need not wait long for the last."""
GATHERING, _LOOK = 0.01, 0.002
"""The longest time in seconds for which changes let waiting reads go first, and between two looks at these."""


class Writer:
    """``together`` is ``Collection.together``: one transaction, on the disk at the end of its block.

    ``observe`` receives the number of requests in each commit. A result is returned only when it is on the disk.
    If a batch cannot be committed, its requests are retried one by one. While reads wait (``reads_wait``), changes
    are gathered for a short time: together, they take less of the processor.
    """

    def __init__(
        self,
        together: Callable[[], AbstractContextManager[None]],
        observe: Callable[[int], None],
        reads_wait: Callable[[], bool] = lambda: False,
        turn: Turn | None = None,
    ) -> None:
        self._together, self._observe, self._reads_wait = together, observe, reads_wait
        self._turn = turn or Turn(0.0)
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The approximate number of waiting requests."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether the writer accepts requests."""
        return self._thread.is_alive()

    async def run(self, work: Callable[[], T], deadline: Deadline) -> T:
        """Return the result of ``work`` when it is on the disk.

        Raises the error of the deadline if the work has not begun by then. Work that has begun runs to its end,
        so that every answer reports the real outcome.
        """
        if not self.alive:
            raise stopping_error()
        write = Job(work, deadline)
        self._queue.put(write)
        result: T = await asyncio.wrap_future(write.future)
        return result

    def close(self, seconds: float) -> bool:
        """Write the waiting requests, for at most ``seconds``; return whether all were written."""
        self._queue.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._batch():
            pass

    def _batch(self) -> bool:
        """Write one batch; return False after the last."""
        batch = [self._queue.get()]
        gathering = Deadline(GATHERING)
        while len(batch) < MOST_TOGETHER and batch[-1] is not None:
            wait = _LOOK if self._reads_wait() and not gathering.passed else 0.0
            try:
                batch.append(self._queue.get(timeout=wait) if wait else self._queue.get_nowait())
            except Empty:
                if not wait:
                    break
        # the request of a lost client is not begun
        writes = [write for write in batch if write and write.future.set_running_or_notify_cancel()]
        for outcome in self._commit(writes) if writes else ():
            outcome.tell()
        return None not in batch

    def _commit(self, writes: list[Job]) -> "list[_Outcome]":
        outcomes: list[_Outcome] = []
        begun = False
        try:
            with self._together():
                begun = True
                with self._turn.taken():  # not while it waits for another writer, or for the disk
                    outcomes = [_done(write) for write in writes]
        except Exception as error:
            if begun and len(writes) > 1:
                return [outcome for write in writes for outcome in self._commit([write])]
            # the error of a single request is the cause; the failed commit only follows from it
            known = [outcome.error for outcome in outcomes] if len(outcomes) == len(writes) == 1 else []
            return [_Outcome(write, error=next(filter(None, known), error)) for write in writes]
        self._observe(len(writes))
        return outcomes


@dataclass(eq=False)
class _Outcome:
    write: Job
    result: Any = None
    error: BaseException | None = None

    def tell(self) -> None:
        if self.error is None:
            self.write.future.set_result(self.result)
        else:
            self.write.future.set_exception(self.error)


def _done(write: Job) -> _Outcome:
    try:
        return _Outcome(write, write.done())
    except Exception as error:
        return _Outcome(write, error=error)
