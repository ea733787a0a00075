"""``Client``: a collection that another process serves, with the methods of ``Collection``; ``AsyncClient``."""

from __future__ import annotations

import asyncio
import builtins
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, update_wrapper
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec, TypeVar, Unpack, cast

from neardup.collection import (
    Added,
    Arrival,
    Change,
    Document,
    DocumentPage,
    DocumentsById,
    GroupedPending,
    GroupPage,
    PairDecision,
    StoredGroup,
    StoredMember,
    count_into,
    rows_of_page,
)
from neardup.collection.answers import (
    LENGTH,
    LIMIT,
    MOST,
    Near,
    NearMeasure,
    Page,
    SharedPassages,
    WhyNot,
    hit_fields,
)
from neardup.collection.changes import (
    THRESHOLD,
    Ids,
    OnDuplicate,
    StorableRows,
    intake_of,
    require_verdict,
    usable_id,
    usable_ids,
)
from neardup.display.view import Public
from neardup.errors import InputError, NeardupError, NetworkError, SettingError, UnknownIdError
from neardup.io.decisions import Action, Verdict
from neardup.io.outputs import document_bytes, write_documents
from neardup.runtime import Progress, Silent
from neardup.service import answers
from neardup.service.sender import Sender

if TYPE_CHECKING:
    import httpx

    from neardup.service.sender import Authority


_PAGE = 500
_AT_ONCE = 1000
"""Documents named in a request."""
LARGEST = 256 << 20
"""The most bytes of an answer."""
_PENDING = 200
"""Documents compared by a request."""


class Client(DocumentsById):
    """The collection that ``neardup serve`` serves at ``url``; needs the extra ``client``.

    It has the methods of ``Collection`` that need no file, with the same arguments, results and errors, and
    NetworkError where the service cannot be reached or another program answers. ``timeout`` is how many seconds to
    wait for a whole answer, ``largest`` its most bytes. ``retries`` is how often a request that may be repeated
    is sent again when the service has too much to do (503 and 429), after the seconds it asks for. It
    follows no redirect. ``transport`` is that of httpx, for tests and unusual networks. Any number of threads may
    use one client. ``verify`` is the file with the certificates (PEM) of a private authority, or an
    ``ssl.SSLContext``; without it, those of the usual authorities count. No value turns the check off.
    Raises InputError for an address that is none, and for a file without certificates.

    >>> with Client("http://127.0.0.1:8321", token="0123456789abcdef") as mails:
    ...     print(mails)
    Client('http://127.0.0.1:8321')
    """

    _sender_type: ClassVar[type[Sender]] = Sender

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        largest: int = LARGEST,
        transport: httpx.BaseTransport | None = None,
        verify: Authority = None,
    ) -> None:
        self._sender = self._sender_type(url, token, timeout, retries, largest, transport, verify)
        self.url = self._sender.url

    def add(
        self,
        documents: Any,
        *,
        text: str | Sequence[str] | None = None,
        id: str | None = None,
        metadata: Sequence[str] = (),
        on_duplicate: OnDuplicate = "error",
        progress: Progress | None = None,
        **arrival: Unpack[Arrival],
    ) -> Added:
        """Add documents of any kind that ``Collection.add`` accepts; they need ids, or come from files.

        They are sent some at a time, and each request is stored whole or not at all. When one is refused, the
        error has a note that says how many documents were stored before.
        """
        if isinstance(metadata, str):
            raise InputError(f"metadata is {metadata!r}", "A list of names of columns", f"Give [{metadata!r}]")
        how = {"on_duplicate": on_duplicate, **_arrival_fields(arrival)}
        intake = intake_of(documents, text, id, metadata)
        if intake.nameless:
            raise InputError(
                "The documents have no ids",
                "Documents with ids: a service gives none",
                "Name a column of ids with id=",
            )
        added = Added(notes=intake.notes, recall=how.get("recall"))
        with (progress or Silent()).stage("add", None, "documents") as advance:
            for rows in map(intake.rows_of, intake.parts):
                for problem in rows.problems:
                    added.reject(problem)
                for batch in _batches(rows):
                    self._add(batch, how, added)
                    advance(len(batch))
        return added

    def _add(self, batch: Sequence[Mapping[str, Any]], how: Mapping[str, Any], added: Added) -> None:
        again = how["on_duplicate"] != "error"
        try:
            counts = self._sender.send(
                answers.AddedAnswer, "POST", "/v1/documents", {"documents": batch, **how}, again=again
            )
        except NeardupError as error:
            if done := added.added + added.replaced:
                error.add_note(f"{done:,} documents of this call were stored before this one")
            raise
        count_into(added, counts)

    def put(
        self,
        id: str | int,
        text: str,
        metadata: Mapping[str, Any] | None = None,
        **arrival: Unpack[Arrival],
    ) -> Added:
        """Add a document, or replace the one of this id; doing it again changes nothing."""
        body = {"text": text, "metadata": {} if metadata is None else metadata, **_arrival_fields(arrival)}
        added = Added()
        count_into(added, self._sender.send(answers.AddedAnswer, "PUT", "/v1/documents", body, id=usable_id(id)))
        return added

    def remove(self, ids: Ids, *, missing: Literal["error", "ignore"] = "error") -> int:
        """Remove documents, a thousand in a request, and return how many were removed."""
        named, removed = usable_ids(ids), 0
        for begin in range(0, len(named), _AT_ONCE):
            body = {"ids": named[begin : begin + _AT_ONCE], "missing": missing}
            answer = self._sender.send(
                answers.RemovedAnswer, "POST", "/v1/remove", body, again=missing == "ignore"
            )
            removed += answer.removed
        return removed

    def get(self, id: str | int) -> Document:
        """Return the document of this id. Raises UnknownIdError if it does not exist."""
        return self._sender.send(Document, "GET", "/v1/documents", id=usable_id(id))

    def base_texts(self) -> builtins.list[str]:
        """Return the ids of the boilerplate texts, in the order in which they were first added."""
        return self._sender.send(answers.BaseTextsAnswer, "GET", "/v1/base-texts").ids

    def list(self, after: int | None = None, limit: int = 100, *, texts: bool = False) -> DocumentPage:
        """Return documents in the order in which they were first added, at most 1,000 at a time."""
        return self._sender.send(DocumentPage, "GET", "/v1/list", after=after or 0, limit=limit, texts=texts)

    def documents(self) -> Iterator[Document]:
        """Yield all documents with their texts, in the order in which they were first added, page by page."""
        for page in self._pages(texts=True):
            for one in page.documents:
                yield Document(one.id, one.text or "", one.metadata, one.tokens, one.shingles, one.role)

    def update_metadata(self, id: str | int, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change the metadata of a document, and return all of it; None deletes, a record is merged."""
        body = {"metadata": changes}
        return self._sender.send(answers.MetadataAnswer, "PATCH", "/v1/documents", body, id=usable_id(id)).metadata

    def export(
        self, path: str | PathLike[str], form: str | None = None, *, overwrite: bool = False, kept: bool = False
    ) -> int:
        """Write all documents to a file of this machine, page by page, with those that come meanwhile."""
        pages = (rows_of_page(page, kept) for page in self._pages(texts=True))
        return write_documents(pages, Path(path), form, overwrite=overwrite)

    def exported(self, form: str = "jsonl", *, kept: bool = False) -> Iterator[bytes]:
        """Yield the file of ``export`` in pieces, for a pipe."""
        pages = (rows_of_page(page, kept) for page in self._pages(texts=True))
        for _, part in document_bytes(pages, form):
            yield part

    def compare(self, a: str | int, b: str | int, **how: Any) -> answers.ServiceComparison:
        """Compare two documents by every measure, as the service does; ``how`` is for ``Collection`` alone."""
        if how:
            raise SettingError(f"{', '.join(how)} was given to a service", "None: it compares as it is set up")
        body = {"a": usable_id(a), "b": usable_id(b)}
        return self._sender.send(answers.ServiceComparison, "POST", "/v1/compare", body, again=True)

    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        after: str | None = None,
        include_self: bool = False,
        fields: str | Iterable[str] = (),
        most_compared: int | None = None,
    ) -> Page:
        """Return the documents that match a query, ``limit`` at a time: docs/reference/query.md."""
        paging = {"limit": limit, "after": after, "fields": hit_fields(fields)}
        body = {"query": query, "include_self": include_self, "most_compared": most_compared, **paging}
        found = self._sender.send(answers.SearchAnswer, "POST", "/v1/search", body, again=True, query=query)
        return self._page(found, found.query)

    def near(
        self,
        text: str,
        *,
        overlap: float | str | None = None,
        probability: float | str | None = None,
        measure: NearMeasure = "containment",
        where: str | None = None,
        limit: int = LIMIT,
        after: str | None = None,
        fields: str | Iterable[str] = (),
    ) -> Page:
        """Return the documents that contain a text by at least ``overlap``, most of it first."""
        shares = {"overlap": overlap, "probability": probability}
        paging = {"limit": limit, "after": after, "fields": hit_fields(fields)}
        body = {"text": text, **shares, "measure": measure, "where": where, **paging}
        found = self._sender.send(answers.NearAnswer, "POST", "/v1/near", body, again=True, query=where or "")
        return self._page(found, "")

    def why_not(self, query: str, id: str | int, *, include_self: bool = False) -> WhyNot:
        """Return why a query does not find a document, or that it does."""
        body = {"query": query, "id": usable_id(id), "include_self": include_self}
        return self._sender.send(WhyNot, "POST", "/v1/why-not", body, again=True, query=query)

    def passages(self, id: str | int, *, length: int = LENGTH, most: int = MOST) -> SharedPassages:
        """Return the passages of at least ``length`` tokens that a document shares with others, token by token."""
        document = usable_id(id)
        return self._sender.send(SharedPassages, "GET", "/v1/passages", id=document, length=length, most=most)

    def info(self) -> dict[str, Any]:
        """Return counts, bytes and settings as plain data; instead of the path, the address."""
        return {"url": self.url, **self._sender.send(dict, "GET", "/v1/stats")}

    def groups(self, after: int | None = None, limit: int = 100) -> GroupPage:
        """Return groups by their ids, at most 100 at a time."""
        return self._sender.send(GroupPage, "GET", "/v1/groups", after=after or 0, limit=limit)

    def group(self, group: int) -> StoredGroup:
        """Return the group of this id. Raises InputError if it does not exist."""
        return self._sender.send(StoredGroup, "GET", f"/v1/groups/{int(group)}")

    def group_of(self, id: str | int) -> StoredGroup | None:
        """Return the group of a document, or None. Raises UnknownIdError if the document does not exist."""
        return self._sender.send(answers.GroupOfAnswer, "GET", "/v1/group-of", id=usable_id(id)).group

    def members(self, group: int, after: str | int | None = None, limit: int = 1000) -> tuple[StoredMember, ...]:
        """Return members of a group in the order in which they were first added, after the document ``after``."""
        last = None if after is None else usable_id(after)
        address = f"/v1/groups/{int(group)}/members"
        return self._sender.send(answers.MembersAnswer, "GET", address, after=last, limit=limit).members

    def group_pending(
        self,
        near: float | str | Near = THRESHOLD,
        *,
        after: int | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> GroupedPending:
        """Put documents that are in no group into groups, 200 in a request."""
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise SettingError(f"limit is {limit!r}", "A whole number from 1 on, or None for all documents")
        asked, compared, repeats, linked = Near.of(near), 0, 0, 0
        copies: builtins.list[Any] = []
        with (progress or Silent()).stage("group", None, "documents") as advance:
            while True:
                most = _PENDING if limit is None else min(_PENDING, limit - compared)
                body = {"near": asked.threshold, "recall": asked.recall, "after": after or 0, "limit": most}
                done = self._sender.send(GroupedPending, "POST", "/v1/groups/pending", body, again=True)
                compared, repeats, linked = (
                    compared + done.compared,
                    repeats + done.repeats,
                    linked + done.linked,
                )
                copies += done.near[: _AT_ONCE - len(copies)]
                advance(done.compared)
                if done.next is not None:
                    _require_further(after, done.next)
                after = done.next
                if after is None or compared == limit:
                    return GroupedPending(compared, repeats, linked, asked.recall, tuple(copies), after)

    def regroup(
        self, threshold: float | str | Near = THRESHOLD, *, progress: Progress | None = None
    ) -> GroupedPending:
        """Bring all groups to a threshold, 100 in a request, then do as ``group_pending`` does."""
        near, changed, left = Near.of(threshold), 0, 1
        body = {"near": near.threshold, "recall": near.recall}
        with (progress or Silent()).stage("regroup", None, "groups") as advance:
            while left > 0:
                done = self._sender.send(answers.RegroupedAnswer, "POST", "/v1/groups/regroup", body, again=True)
                if done.left and done.regrouped < 1:
                    raise self._sender.unlike_error("groups left, and none changed")
                changed, left = changed + done.regrouped, done.left
                advance(done.regrouped)
        return replace(self.group_pending(near, progress=progress), regrouped=changed)

    def decide(
        self, a: str | int, b: str | int, verdict: Verdict, *, by: str = "", note: str = ""
    ) -> PairDecision:
        """Decide about two documents as ``Collection.decide`` does."""
        decision = self._send_verdict(a, b, verdict, by, note).decision
        if decision is None:
            raise self._sender.unlike_error("no decision")
        return decision

    def undecide(self, a: str | int, b: str | int, *, by: str = "") -> bool:
        """Withdraw the decision about two documents; return False if none existed."""
        return self._send_verdict(a, b, "undecided", by, "").withdrawn

    def decisions(self, after: int = 0, limit: int = 1000) -> tuple[PairDecision, ...]:
        """Return the decisions in force, by number; ``after``: the number of the last one seen."""
        return self._sender.send(
            answers.DecisionsAnswer, "GET", "/v1/decisions", after=after, limit=limit
        ).decisions

    def tag(
        self,
        tag: str,
        ids: Ids = (),
        *,
        group: int | None = None,
        query: str | None = None,
        on: bool = True,
        by: str = "",
        seen: int | None = None,
        what: str = "",
    ) -> Action | None:
        """Tag up to 1,000 documents, a group and the hits of a query, as ``Collection.tag`` does."""
        body = {"tag": tag, "ids": usable_ids(ids), "group": group, "query": query, "on": on, "by": by}
        body |= {"seen": seen, "what": what}
        return self._sender.send(answers.ActionAnswer, "POST", "/v1/tags", body, query=query or "").action

    def tags(self, ids: Ids | None = None) -> dict[str, tuple[str, ...]]:
        """Return the tags of the documents that have any, or of these ``ids``; a thousand in a request."""
        tags: dict[str, tuple[str, ...]] = {}
        if ids is not None:
            named = usable_ids(ids)
            for begin in range(0, len(named), _AT_ONCE):
                body = {"ids": named[begin : begin + _AT_ONCE]}
                tags |= self._sender.send(answers.TagsAnswer, "POST", "/v1/tags/look-up", body, again=True).tags
            return tags
        after: int | None = 0
        while after is not None:
            page = self._sender.send(answers.TagsAnswer, "GET", "/v1/tags", after=after, limit=_AT_ONCE)
            tags |= page.tags
            if page.next is not None:
                _require_further(after, page.next)
            after = page.next
        return tags

    def undo(self, by: str, action: int | None = None) -> Action | None:
        """Undo an action of decisions or tags as ``Collection.undo`` does."""
        body = {"by": by, "action": action}
        return self._sender.send(answers.ActionAnswer, "POST", "/v1/actions/undo", body).action

    def actions(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return actions of decisions and tags, the latest first; ``before``: the number of the last one seen."""
        return self._sender.send(answers.ActionsAnswer, "GET", "/v1/actions", before=before, limit=limit).actions

    def changes(self, after: int = 0, limit: int = 1000) -> tuple[Change, ...]:
        """Return the change log of groups and decisions, by number; ``after``: the number of the last one seen."""
        return self._sender.send(answers.ChangesAnswer, "GET", "/v1/changes", after=after, limit=limit).changes

    def close(self) -> None:
        """Close the connections. Closing twice is allowed."""
        self._sender.close()

    def _send_verdict(self, a: str | int, b: str | int, verdict: str, by: str, note: str) -> answers.DecidedAnswer:
        if verdict != "undecided":
            require_verdict(verdict)
        body = {"a": usable_id(a), "b": usable_id(b), "verdict": verdict, "by": by, "note": note}
        return self._sender.send(answers.DecidedAnswer, "POST", "/v1/decisions", body)

    def _pages(self, *, texts: bool = False) -> Iterator[DocumentPage]:
        after: int | None = None
        while True:
            page = self.list(after, _PAGE, texts=texts)
            yield page
            if page.next is None:
                return
            _require_further(after, page.next if page.documents else 0)
            after = page.next

    def _page(self, found: answers.NearAnswer, query: str) -> Page:
        """The page, after its warnings are issued."""
        try:
            page = found.page(query)
        except ValueError as error:
            raise self._sender.unlike_error(f"hits that are none: {error}") from error
        for sentence in page.warnings:
            warnings.warn(sentence, UserWarning, stacklevel=3)
        return page

    def __len__(self) -> int:
        return self._sender.send(answers.StatsAnswer, "GET", "/v1/stats").documents

    def __iter__(self) -> Iterator[str]:
        """The ids, in the order in which they were first added; ids added meanwhile come at the end."""
        for page in self._pages():
            yield from (one.id for one in page.documents)

    def __contains__(self, id: object) -> bool:
        try:
            self.group_of(usable_id(id))  # the shortest answer that depends on the document
        except UnknownIdError:
            return False
        except InputError:
            if isinstance(id, str | int) and not isinstance(id, bool):
                raise
            return False
        return True

    def __repr__(self) -> str:
        return f"Client({self.url!r})"


P = ParamSpec("P")
T = TypeVar("T")


def _later(method: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return a method of ``Client`` as one that is awaited."""

    async def later(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in_thread(partial(method, self._client, *args, **kwargs))

    update_wrapper(later, method)
    return later


def _each(
    method: Callable[Concatenate[Client, P], Iterator[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    """Return a method of ``Client`` that yields values as one for ``async for``."""

    async def each(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        values, end = method(self._client, *args, **kwargs), object()
        while (value := await self._in_thread(partial(next, values, end))) is not end:
            yield cast(T, value)

    update_wrapper(each, method)
    return each


class AsyncClient(Public):
    """A ``Client`` whose methods are awaited, for a program with an event loop; needs the extra ``client``.

    The arguments are those of ``Client``, and ``at_once``: the most requests at a time, from 1 to 1,000; the
    others wait. Each is sent by a thread of a pool of its own, so the event loop never waits, whatever else
    the program does in threads. Where the task is cancelled, the request itself goes on to its end.
    Raises SettingError for ``at_once``, and the errors of ``Client``.

    >>> import asyncio
    >>> async def shown():
    ...     async with AsyncClient("http://127.0.0.1:8321", token="0123456789abcdef") as mails:
    ...         print(mails)
    >>> asyncio.run(shown())
    AsyncClient('http://127.0.0.1:8321')
    """

    def __init__(self, url: str, token: str | None = None, *, at_once: int = 32, **how: Any) -> None:
        if not isinstance(at_once, int) or not 1 <= at_once <= _AT_ONCE:
            raise SettingError(f"at_once is {at_once!r}", f"A whole number from 1 to {_AT_ONCE:,}")
        self._client = Client(url, token, **how)
        self.url = self._client.url
        self._threads, self._closed = ThreadPoolExecutor(at_once, "neardup-client"), False

    add, put, remove = _later(Client.add), _later(Client.put), _later(Client.remove)
    update_metadata, get, list = _later(Client.update_metadata), _later(Client.get), _later(Client.list)
    base_texts, info, export = _later(Client.base_texts), _later(Client.info), _later(Client.export)
    search, near, why_not = _later(Client.search), _later(Client.near), _later(Client.why_not)
    passages = _later(Client.passages)
    compare = _later(cast(Callable[..., answers.ServiceComparison], Client.compare))
    groups, group = _later(Client.groups), _later(Client.group)
    group_of, members = _later(Client.group_of), _later(Client.members)
    group_pending, regroup = _later(Client.group_pending), _later(Client.regroup)
    decide, undecide = _later(Client.decide), _later(Client.undecide)
    decisions, changes = _later(Client.decisions), _later(Client.changes)
    tag, tags, undo, actions = _later(Client.tag), _later(Client.tags), _later(Client.undo), _later(Client.actions)
    documents, exported = _each(Client.documents), _each(Client.exported)

    async def close(self) -> None:
        """Wait for the requests under way, and close the connections. Closing twice is allowed."""
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._closed:
            return work()  # the client says that it is closed
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def __aiter__(self) -> AsyncIterator[str]:
        return _each(Client.__iter__)(self)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"


def _arrival_fields(arrival: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request for ``near``, ``on_near`` and ``role``. Raises TypeError for another name."""
    unknown = arrival.keys() - Arrival.__annotations__.keys()
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    given = {name: value for name, value in arrival.items() if value is not None}
    if "near" in given:
        near = Near.of(given["near"])
        given |= {"near": near.threshold, "recall": near.recall}
    return given


def _require_further(after: int | None, next: int) -> None:
    """Raise NetworkError if the place where the next request begins is not after that of this one."""
    if next <= (after or 0):
        raise NetworkError(
            f"The page after {after or 0:,} names {next:,} as its next, which does not lead on",
            "",
            "Check that the address is that of neardup serve",
        )


_MOST, _BYTES = 500, 8_000_000
"""Documents in a request, and characters of their texts."""


def _batches(rows: StorableRows) -> Iterator[list[dict[str, Any]]]:
    """Yield the documents of each request."""
    batch: list[dict[str, Any]] = []
    size = 0
    for id, text, values in zip(rows.ids, rows.texts, rows.metadata, strict=True):
        content = text.as_py()
        whole = content.decode("utf-8", "replace") if isinstance(content, bytes) else content or ""
        if batch and (len(batch) == _MOST or size + len(whole) > _BYTES):
            yield batch
            batch, size = [], 0
        batch.append({"id": id, "text": whole, "metadata": values})
        size += len(whole)
    if batch:
        yield batch
