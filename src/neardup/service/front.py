"""A service in front of shards: the same endpoints, whose work is done by collections and other services."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from neardup.collection import Collection
from neardup.collection.answers import Page, View, WhyNot
from neardup.collection.shard import OpenShard, ShardQuestion
from neardup.collection.shards import Collections, ShardError
from neardup.errors import NeardupError
from neardup.runtime import Deadline
from neardup.service.answers import AddedAnswer, RemovedAnswer
from neardup.service.executor import Executor, Missing, Told, alone_late_error, near_of, refusal_error
from neardup.service.requests import Arriving, OnDuplicate
from neardup.service.web import monitoring
from neardup.service.web.limits import Limits, RefusedError

T = TypeVar("T")
THREADS = 32
"""The least number of threads in front of other services, for which most of them wait."""


class Front(Executor):
    """Several shards with the threads that ask them; ``close`` closes the shards, too.

    A change is made by the shard of its document and is on its disk when it is acknowledged. Changes in several
    shards are not one transaction.
    """

    refused = (
        *("/v1/groups", "/v1/decisions", "/v1/tags", "/v1/actions", "/v1/changes"),
        *("/v1/explain", "/v1/passages", "/v1/shard/"),
    )

    def __init__(self, shards: Collections, limits: Limits, *, readonly: bool = False) -> None:
        self.shards, self._readonly = shards, readonly
        self.collection = shards
        self.names = {part.name: f"shard {number}" for number, part in enumerate(shards.parts, 1)}
        remote = any(not isinstance(part, OpenShard) for part in shards.parts)
        self._begin(limits, max(THREADS, limits.threads) if remote else limits.threads)
        shards.watch = self._note

    @property
    def own(self) -> Collection:
        """Raise RefusedError: groups and decisions are those of one collection."""
        _refuse()

    @property
    def readonly(self) -> bool:
        """Whether every change is refused."""
        return self._readonly

    @property
    def ready(self) -> bool:
        """Whether the service accepts requests; its shards may not answer all the same."""
        return not self.closed

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of all shards."""
        return self.shards.settings()

    @property
    def has_parts(self) -> bool:
        """True: services of earlier versions, whose shards may lack them, are no shards."""
        return True

    async def require_store(self, *, partial: bool) -> None:
        """Raise RefusedError unless each shard is ready; with ``partial``, unless one is."""
        await self.read(lambda: self.shards.ask(lambda _, part: part.require_ready(), partial=partial))

    def _note(self, error: ShardError) -> None:
        """Count and log a shard that did not answer."""
        number = error.number + 1
        self.metrics.shard_failures.labels(str(number)).inc()
        monitoring.event("shard_failed", shard=number, error=type(error.__cause__).__name__)

    async def view(self, work: Callable[[View, float], T], *, alone: bool = False) -> T:
        """Raise RefusedError: several shards have no common state."""
        _refuse()

    async def search(
        self, question: Callable[[], ShardQuestion], form: Callable[[Page], T], *, partial: bool
    ) -> T:
        """Return a page of all shards in a ``form``."""
        deadline = self._deadline()
        return await self.read(
            lambda: form(self.shards.page_of(question(), partial=partial, seconds=deadline.left)), deadline
        )

    async def why_not(self, query: str, id: str, form: Callable[[WhyNot], T], *, include_self: bool) -> T:
        """Return why a query does not find a document, in a ``form``; the shard of the document answers."""
        return await self.read(lambda: form(self.shards.why_not(query, id, include_self=include_self)))

    async def texts(self, ids: Sequence[str], work: Callable[[list[Told], list[str], float], T]) -> T:
        """Return the result of work with the texts and metadata of documents, the base texts, and its seconds."""
        deadline = self._deadline(alone_late_error)

        def look() -> T:
            texts = [(one.text, one.metadata) for one in map(self.shards.get, ids)]
            base = list(self.shards.parts[0].base_texts())
            return work(texts, base, deadline.left)

        return await self._run(self._comparing, look, deadline)

    async def add(
        self, rows: Sequence[tuple[str, str, dict[str, Any]]], arriving: Arriving, on_duplicate: OnDuplicate
    ) -> AddedAnswer:
        """Add documents, each to its shard."""
        near = near_of(arriving)
        records = [{"id": id, "text": text, "metadata": metadata} for id, text, metadata in rows]
        ids = [id for id, _, _ in rows]
        how: dict[str, Any] = {"role": arriving.role}
        if near is not None:
            how |= {"near": near, "on_near": arriving.on_near}

        def store() -> AddedAnswer:
            if on_duplicate == "error" and (len(set(ids)) < len(ids) or self.shards.existing(ids)):
                do = 'Give "on_duplicate": "replace" or "skip"'
                raise RefusedError(
                    409, "A document with this id exists already", "Each id once; nothing was stored", do
                )
            return AddedAnswer.of(self.shards.add(records, on_duplicate=on_duplicate, **how))

        return await self.write(store)

    async def remove(self, ids: Sequence[str], missing: Missing = "error") -> RemovedAnswer:
        """Remove documents, each from its shard."""
        return await self.write(lambda: RemovedAnswer(self.shards.remove(ids, missing=missing)))

    async def write_in_time(self, work: Callable[[Deadline], T]) -> T:
        """Raise RefusedError: only changes of groups need it."""
        _refuse()

    async def write(self, work: Callable[[], T], deadline: Deadline | None = None) -> T:
        """Return the result of work that changes shards, when the changes are on their disks."""
        deadline = deadline or self._deadline()
        try:
            return await self._workers.run(work, deadline, to_its_end=True)
        except NeardupError as error:
            refusal = refusal_error(error, self.names)
            if refusal.code == "shard":
                refusal.do = "Repeat it: a part of the change may have been made"
            raise refusal from error

    def close(self, *, unused: bool = True) -> bool:
        """Stop the threads, then close the shards if they all ended in time; return whether they did."""
        self.closed = True
        deadline = Deadline(self.limits.stop_seconds)
        ended = [threads.close(max(0.0, deadline.left)) for threads in (self._workers, self._comparing)]
        if all(ended) and unused:
            self.shards.close()
        return all(ended)


def _refuse() -> NoReturn:
    raise RefusedError(
        422, "The request needs one collection", "Requests about documents, and searches", code="shards"
    )
