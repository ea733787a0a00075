"""The endpoints of a collection, with their parameters, errors and records."""

import math
from dataclasses import replace
from typing import Annotated, Any, get_args

from msgspec import Meta
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from neardup import __version__
from neardup.collection import Document, DocumentPage, GroupedPending, GroupPage, StoredGroup
from neardup.collection.answers import (
    LENGTH,
    LIMIT,
    MOST,
    RECALL,
    HitField,
    Near,
    Page,
    SharedPassages,
    View,
    WhyNot,
    explain,
    found_by,
    hit_fields,
    near_query,
    shared_passages,
)
from neardup.collection.answers import compare as compared_texts
from neardup.collection.changes import (
    LONGEST_ID,
    TaggedDocuments,
    differing_parts,
    group_pending,
    id_fault,
    regroup,
    tag_chosen,
    tags_page,
)
from neardup.collection.queries import Query as Parsed
from neardup.collection.queries import as_dict, parse
from neardup.collection.shard import OpenShard, ShardQuestion
from neardup.errors import InputError, QueryError, SecondReviewError, SettingError
from neardup.runtime import Deadline
from neardup.service import answers, requests
from neardup.service.executor import Executor, Told, answer, bad_request_as, refusal_error, unknown_error
from neardup.service.routes import Described, Routes
from neardup.service.web.limits import RefusedError, stopping_error, timeout_error
from neardup.service.web.monitoring import MEDIA_TYPE
from neardup.settings import as_compared


def add_endpoints(routes: Routes, executor: Executor) -> None:
    """Add all endpoints of a collection."""
    for add in (
        *(_add_state, _add_documents, _add_document, _add_search, _add_explanations, _add_comparisons),
        *(_add_groups, _add_decisions, _add_tags, _add_actions, _add_shard),
    ):
        add(routes, executor)


def _id(id: str) -> str:
    fault = id_fault(id)
    if fault:
        raise ValueError(f"Value error, {fault}; allowed are 1 to {LONGEST_ID:,} bytes of UTF-8")
    return id


LARGEST = (1 << 63) - 1
"""The largest number in a store."""
Id = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_ID,
        description="Any text of 1 to 1,024 bytes of UTF-8, percent-encoded.",
        extra={"check": _id},
    ),
]
AfterId = Annotated[Id | None, Meta(description="The last id of the previous page.")]
Number = Annotated[int, Meta(ge=1, le=LARGEST)]
_Since = Annotated[int, Meta(ge=0, le=LARGEST)]
After = Annotated[_Since, Meta(description="The last number of the previous page.")]
Before = Annotated[_Since | None, Meta(description="The last number of the previous page.")]
Rows = Annotated[int, Meta(ge=1, le=1000)]
_AtLeastOne = Annotated[int, Meta(ge=1)]
Hits = Annotated[_AtLeastOne | None, Meta(description="Hits on the page; by default 20, at most --most-hits.")]
Compared = Annotated[_AtLeastOne | None, Meta(description=requests.COMPARED)]
_FIELD = f"({'|'.join(get_args(HitField))})"
HitFields = Annotated[
    Annotated[str, Meta(pattern=f"^{_FIELD}(,{_FIELD})*$")] | None,
    Meta(description="What each hit holds besides: metadata,text,excerpt."),
]
Partial = Annotated[bool, Meta(description="Of several shards: answer without those that do not answer.")]
Length = Annotated[int, Meta(ge=1, le=LARGEST, description="Least tokens, from those of a shingle on.")]
Quoted = Annotated[int, Meta(ge=1, le=MOST, description="The most documents to compare.")]
Groups = Annotated[int, Meta(ge=1, le=100, description="Each includes up to 1,000 members.")]


def _add_state(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/", Described(answers.FrontAnswer, token=False))
    async def front() -> Response:
        """The name and version of the service, and its main addresses."""
        return answer(answers.FrontAnswer("neardup", __version__, LINKS))

    @routes.add("GET", "/v1/stats", Described(answers.StatsAnswer))
    async def stats() -> Response:
        """Return counts and sizes of the collection."""
        known = await executor.read(executor.collection.info)
        return answer({name: value for name, value in known.items() if name != "path"})

    @routes.add("GET", "/health", Described(answers.StatusAnswer, token=False))
    async def health() -> Response:
        """Report that the service is alive."""
        return answer({"status": "alive"})

    @routes.add("GET", "/ready", Described(answers.StatusAnswer, token=False))
    async def ready(partial: Partial = False) -> Response:
        """Report whether the service accepts requests, and its file is at its place or its shards answer."""
        if not executor.ready:
            raise stopping_error()
        await executor.require_store(partial=partial)
        return answer({"status": "ready"})

    @routes.add("GET", "/metrics")
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        try:
            documents: float = await executor.read(
                lambda: len(executor.collection), Deadline(_COUNT_SECONDS, timeout_error)
            )
        except RefusedError:  # the other metrics matter most when the collection cannot be read
            documents = math.nan
        executor.metrics.documents.set(documents)
        return Response(executor.metrics.text(), headers={"content-type": MEDIA_TYPE})


LINKS = {
    "description": "/openapi.json",
    "docs": "/docs",
    "health": "/health",
    "ready": "/ready",
    "metrics": "/metrics",
    "stats": "/v1/stats",
    "documents": "/v1/documents",
    "list": "/v1/list",
    "search": "/v1/search",
    "groups": "/v1/groups",
    "changes": "/v1/changes",
}
"""The main addresses by purpose; OpenAPI describes all."""
_COUNT_SECONDS = 1.0
"""Longest wait for the number of documents in the metrics."""


def _add_documents(routes: Routes, executor: Executor) -> None:
    about = Described(answers.AddedAnswer, (200, 409), body=requests.NewDocuments, status=201)

    @routes.add("POST", "/v1/documents", about)
    async def add_documents(request: Request) -> Response:
        """Add documents, all or none."""
        new = await executor.receive(request, requests.NewDocuments)
        rows = [(each.id, each.text, each.metadata) for each in new.documents]
        added = await executor.add(rows, new, new.on_duplicate)
        return answer(added, 201 if added.added or added.replaced else 200)

    @routes.add("GET", "/v1/list", Described(DocumentPage))
    async def list_documents(after: After = 0, limit: Rows = 100, texts: bool = False) -> Response:
        """List documents in the order in which they were first added."""
        return await executor.read(lambda: answer(executor.collection.list(after, limit, texts=texts)))

    @routes.add("POST", "/v1/remove", Described(answers.RemovedAnswer, (404,), body=requests.RemoveRequest))
    async def remove_documents(request: Request) -> Response:
        """Remove documents, all or none."""
        removed = await executor.receive(request, requests.RemoveRequest)
        return answer(await executor.remove(removed.ids, removed.missing))

    @routes.add("GET", "/v1/base-texts", Described(answers.BaseTextsAnswer))
    async def base_texts() -> Response:
        """List the ids of the boilerplate texts."""
        return await executor.read(lambda: answer(answers.BaseTextsAnswer(executor.collection.base_texts())))


_BY_QUERY, _BY_PATH = "/v1/documents", "/v1/documents/{id:anything}"
"""Both addresses of a document: an id may contain slashes, and the router receives the decoded path."""


def _add_document(routes: Routes, executor: Executor) -> None:
    about = Described(Document, (404,))

    @routes.add("GET", _BY_QUERY, about)
    @routes.add("GET", _BY_PATH, about)
    async def get_document(id: Id) -> Response:
        """Get a document."""
        return await executor.read(lambda: answer(executor.collection.get(id)))

    about = Described(answers.MetadataAnswer, (404,), body=requests.MetadataRequest)

    @routes.add("PATCH", _BY_QUERY, about)
    @routes.add("PATCH", _BY_PATH, about)
    async def update_metadata(id: Id, request: Request) -> Response:
        """Change the metadata of a document, and nothing else."""
        changes = (await executor.receive(request, requests.MetadataRequest)).metadata
        with bad_request_as(422):  # metadata beyond the limits counts as an invalid body
            metadata = await executor.write(lambda: executor.collection.update_metadata(id, changes))
        return answer(answers.MetadataAnswer(id, metadata))

    about = Described(answers.AddedAnswer, body=requests.NewContent)

    @routes.add("PUT", _BY_QUERY, about)
    @routes.add("PUT", _BY_PATH, about)
    async def put_document(id: Id, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        content = await executor.receive(request, requests.NewContent)
        return answer(await executor.add([(id, content.text, content.metadata)], content, "replace"))

    about = Described(answers.RemovedAnswer, (404,))

    @routes.add("DELETE", _BY_QUERY, about)
    @routes.add("DELETE", _BY_PATH, about)
    async def remove_document(id: Id) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await executor.remove([id]))


class _Anything(Convertor[str]):
    """The rest of an address, line ends included: the framework's own ``path`` stops there."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())


def _add_search(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/v1/search", Described(answers.SearchAnswer))
    async def search_documents(
        q: requests.Query,
        limit: Hits = None,
        after: str | None = None,
        include_self: bool = False,
        fields: HitFields = None,
        partial: Partial = False,
        most_compared: Compared = None,
    ) -> Response:
        """Find the documents that fit a query, best first."""
        chosen = hit_fields(fields or "")
        request = requests.SearchRequest(q, include_self, limit, after, chosen, partial, most_compared)
        return await _search(executor, q, request)

    @routes.add("POST", "/v1/search", Described(answers.SearchAnswer, body=requests.SearchRequest))
    async def search_documents_by_body(request: Request) -> Response:
        """The same, for queries that are too long for an address."""
        asked = await executor.receive(request, requests.SearchRequest)
        return await _search(executor, asked.query, asked)


COMPARED_BYTES = 4_000_000
"""Characters of both texts of a comparison, since the time limit cannot interrupt a step of its matching."""
_CLAUSE = 200
"""Characters of a clause in a hit, since a pasted text would be repeated in each."""


def _add_explanations(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/v1/explain", Described(answers.ExplainAnswer))
    async def explain_query(q: requests.Query) -> Response:
        """Explain the meaning of a query and its look-ups, without searching."""
        return await _explain(executor, q)

    @routes.add("POST", "/v1/explain", Described(answers.ExplainAnswer, body=requests.QueryRequest))
    async def explain_query_by_body(request: Request) -> Response:
        """The same, for queries that are too long for an address."""
        asked = await executor.receive(request, requests.QueryRequest)
        return await _explain(executor, asked.query)

    @routes.add("GET", "/v1/why-not", Described(WhyNot))
    async def why_not_found(q: requests.Query, id: Id, include_self: bool = False) -> Response:
        """Explain why a query does not find a document."""
        return await executor.why_not(q, id, answer, include_self=include_self)

    @routes.add("POST", "/v1/why-not", Described(WhyNot, body=requests.WhyNotRequest))
    async def why_not_found_by_body(request: Request) -> Response:
        """The same, for queries that are too long for an address."""
        asked = await executor.receive(request, requests.WhyNotRequest)
        return await executor.why_not(asked.query, asked.id, answer, include_self=asked.include_self)


def _add_comparisons(routes: Routes, executor: Executor) -> None:
    @routes.add("POST", "/v1/near", Described(answers.NearAnswer, body=requests.NearRequest))
    async def near(request: Request) -> Response:
        """Find the stored documents that contain or resemble a text by at least `overlap`."""
        asked = await executor.receive(request, requests.NearRequest)
        try:
            query = near_query(asked.text, asked.overlap, asked.probability, asked.measure, asked.where)
        except SettingError as error:
            raise RefusedError(422, error.given, error.allowed, error.do) from error
        except QueryError as error:
            raise refusal_error(error, executor.names) from error
        return await _search(executor, query, asked)

    @routes.add("POST", "/v1/compare", Described(answers.ServiceComparison, (404,), body=requests.CompareRequest))
    async def compare(request: Request) -> Response:
        """Compare two stored documents by all measures."""
        pair = await executor.receive(request, requests.CompareRequest)

        def work(documents: list[Told], base: list[str], seconds: float) -> Response:
            return answer(_compare(pair, executor, (documents, base), seconds))

        return await executor.texts((pair.a, pair.b), work)

    @routes.add("GET", "/v1/passages", Described(SharedPassages, (404,)))
    async def passages(id: Id, length: Length = LENGTH, most: Quoted = MOST, limit: Rows = 1000) -> Response:
        """The passages that a document shares with others, token by token; `omitted` ones are beyond the limit."""

        def look(view: View, _: float) -> Response:
            return answer(shared_passages(view, id, length, most).first(limit))

        with bad_request_as(422):  # a length below that of a shingle
            return await executor.view(look, alone=True)


def _add_shard(routes: Routes, executor: Executor) -> None:
    @routes.add("POST", "/v1/shard/look-up", Described(answers.LookUpAnswer, body=requests.LookUpRequest))
    async def look_up(request: Request) -> Response:
        """Return texts of documents, and fields of metadata that exist: for a service in front of shards."""
        body = await executor.receive(request, requests.LookUpRequest)
        shard = OpenShard(executor.own)
        seconds = executor.limits.seconds
        return await executor.read(lambda: answer(shard.look_up(body.ids, body.fields, seconds)))

    @routes.add("POST", "/v1/shard/search", Described(answers.ShardAnswer, body=requests.ShardRequest))
    async def search_shard(request: Request) -> Response:
        """Find documents that fit a query about documents of other shards: for a service in front of shards."""
        body = await executor.receive(request, requests.ShardRequest)
        limit = _limit(executor, body.limit)
        shard = OpenShard(executor.own, executor.limits.most_candidates)

        def look() -> Response:
            question = replace(
                _lent_question(body),
                limit=limit,
                after=body.after,
                skip=body.skip,
                fields=tuple(body.fields),
                compared=body.most_compared,
            )
            page, begin = shard.answer(question, executor.limits.seconds)
            return answer(_page_record(page) | {"begin": begin})

        return await executor.read(look)

    @routes.add("POST", "/v1/shard/why-not", Described(WhyNot, body=requests.ShardWhyNotRequest))
    async def why_not_in_shard(request: Request) -> Response:
        """Explain why a query about documents of other shards does not find a document of this one."""
        body = await executor.receive(request, requests.ShardWhyNotRequest)
        shard = OpenShard(executor.own, executor.limits.most_candidates)

        return await executor.read(
            lambda: answer(shard.why_not(_lent_question(body), body.id, executor.limits.seconds))
        )


def _lent_question(body: requests.LentRequest) -> ShardQuestion:
    """Return a query over several shards. Raises QueryError for one that cannot be read."""
    return ShardQuestion(
        query=parse(body.query),
        include_self=body.include_self,
        texts=body.texts,
        known_fields=tuple(body.known_fields),
    )


async def _search(
    executor: Executor, query: str | Parsed, request: requests.SearchRequest | requests.NearRequest
) -> Response:
    limit = _limit(executor, request.limit)
    about = request if isinstance(request, requests.SearchRequest) else None

    def question() -> ShardQuestion:
        return ShardQuestion(
            query=parse(query) if isinstance(query, str) else query,
            limit=limit,
            after=request.after,
            include_self=bool(about and about.include_self),
            fields=tuple(request.fields),
            compared=about.most_compared if about else None,
        )

    def form(page: Page) -> Response:
        data = _page_record(page)
        if not isinstance(query, str):  # a posted text has no query
            del data["query"]
        return answer(data)

    return await executor.search(question, form, partial=request.partial)


def _limit(executor: Executor, given: int | None) -> int:
    """Return the number of hits on a page. Raises RefusedError for too many."""
    limit = min(LIMIT, executor.limits.most_hits) if given is None else given
    if limit > executor.limits.most_hits:
        allowed = f"At most {executor.limits.most_hits} hits on a page"
        raise RefusedError(422, f"limit is {limit}", allowed, fields=(("limit", allowed),))
    return limit


def _page_record(page: Page) -> dict[str, Any]:
    if page.found is None:
        raise RefusedError(
            400, "The query begins with EXPLAIN", "A query without it", "Send it to /v1/explain", code="query"
        )
    data = page.as_dict()
    for hit in data["hits"]:
        if len(hit.get("clause", "")) > _CLAUSE:
            hit["clause"] = hit["clause"][:_CLAUSE] + " …"
    return data


async def _explain(executor: Executor, query: str) -> Response:
    return await executor.view(lambda view, _: answer(as_dict(explain(view, query))))


def _compare(
    pair: requests.CompareRequest, executor: Executor, read: tuple[list[Told], list[str]], seconds: float
) -> answers.ServiceComparison:
    documents, base = read
    texts, (of_a, of_b) = [text for text, _ in documents], [metadata for _, metadata in documents]
    if sum(map(len, [*texts, *base])) > COMPARED_BYTES:
        most = f"{COMPARED_BYTES:,} characters in both, and in the boilerplate"
        raise RefusedError(413, "The documents are too large to compare", most)
    both = compared_texts(*texts, **as_compared(executor.settings), seconds=seconds, ignore=base)
    parts = differing_parts(of_a, of_b, known=executor.has_parts)
    both = replace(both, not_compared=parts or ())
    names = ("settings", "measures", "left_out", "kind", "degraded", "caps", "proven", "difference")
    values: dict[str, Any] = {name: getattr(both, name) for name in names}
    differences = both.alignment.differing()
    return answers.ServiceComparison(pair.a, pair.b, **values, not_compared=parts, differences=differences)


def _add_groups(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/v1/groups", Described(GroupPage))
    async def groups(after: After = 0, limit: Groups = 20) -> Response:
        """Groups by rising id."""
        return await executor.read(lambda: answer(executor.own.groups(after, limit)))

    @routes.add("POST", "/v1/groups/pending", Described(GroupedPending, body=requests.PendingRequest))
    async def group_those_pending(request: Request) -> Response:
        """Compare documents that are in no group, and put those that repeat others into groups."""
        pending = await executor.receive(request, requests.PendingRequest)
        near = Near(pending.near, RECALL if pending.recall is None else pending.recall)

        def compare(deadline: Deadline) -> GroupedPending:
            return group_pending(executor.own.store, near, pending.after, pending.limit, deadline)

        return answer(await executor.write_in_time(compare))

    @routes.add("POST", "/v1/groups/regroup", Described(answers.RegroupedAnswer, body=requests.RegroupRequest))
    async def regroup_groups(request: Request) -> Response:
        """Bring groups to another threshold: repeat it until none is left, then compare those in no group."""
        wanted = await executor.receive(request, requests.RegroupRequest)
        near = Near(wanted.near, RECALL if wanted.recall is None else wanted.recall)

        def change(deadline: Deadline) -> answers.RegroupedAnswer:
            return answers.RegroupedAnswer(*regroup(executor.own.store, near, wanted.limit, deadline))

        return answer(await executor.write_in_time(change))

    @routes.add("GET", "/v1/groups/{group}", Described(StoredGroup, (404,)))
    async def group(group: Number) -> Response:
        """A group with its first 1,000 members."""
        with bad_request_as(404):
            return await executor.read(lambda: answer(executor.own.group(group)))

    @routes.add("GET", "/v1/groups/{group}/members", Described(answers.MembersAnswer, (404,)))
    async def members(group: Number, after: AfterId = None, limit: Rows = 100) -> Response:
        """Members of a group."""
        with bad_request_as(404):
            return await executor.read(
                lambda: answer(answers.MembersAnswer(executor.own.members(group, after, limit)))
            )

    @routes.add("GET", "/v1/group-of", Described(answers.GroupOfAnswer, (404,)))
    async def group_of(id: Id) -> Response:
        """The group that a document is in."""
        return await executor.read(lambda: answer(answers.GroupOfAnswer(executor.collection.group_of(id))))


def _add_decisions(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/v1/decisions", Described(answers.DecisionsAnswer))
    async def decisions(after: After = 0, limit: Rows = 100) -> Response:
        """The decisions in force."""
        return await executor.read(lambda: answer(answers.DecisionsAnswer(executor.own.decisions(after, limit))))

    @routes.add(
        "POST", "/v1/decisions", Described(answers.DecidedAnswer, (404, 409), body=requests.DecisionRequest)
    )
    async def decide(request: Request) -> Response:
        """Decide whether two documents belong together; takes effect at once."""
        judged = await executor.receive(request, requests.DecisionRequest)
        if judged.a == judged.b:
            raise RefusedError(422, "Both ids name the same document", "Two documents")
        by = requests.signature(request.scope, judged.by)
        return answer(await executor.write(lambda: _decide(executor, judged, by)))


def _add_tags(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/v1/tags", Described(answers.TagsAnswer))
    async def tags(after: After = 0, limit: Rows = 100) -> Response:
        """Documents with tags, in the order in which they were first added."""
        return await executor.read(
            lambda: answer(answers.TagsAnswer(*tags_page(executor.own.store, after, limit)))
        )

    @routes.add("POST", "/v1/tags", Described(answers.ActionAnswer, (404, 409), body=requests.TagRequest))
    async def tag(request: Request) -> Response:
        """Add a tag to documents, or take it away, as one action that can be undone."""
        wanted = await executor.receive(request, requests.TagRequest)
        query = wanted.query
        # before the transaction, so that no change waits for a search
        queried = None if query is None else await executor.view(lambda view, _: found_by(view, query))
        chosen = TaggedDocuments(tuple(dict.fromkeys(wanted.ids)), wanted.group, queried)
        how = {name: getattr(wanted, name) for name in ("on", "seen", "what")}
        how["by"] = requests.signature(request.scope, wanted.by)
        return answer(
            await executor.write(lambda: answers.ActionAnswer(tag_chosen(executor.own, chosen, wanted.tag, **how)))
        )

    @routes.add("POST", "/v1/tags/look-up", Described(answers.TagsAnswer, (404,), body=requests.TagsRequest))
    async def tags_of(request: Request) -> Response:
        """The tags of some documents."""
        named = await executor.receive(request, requests.TagsRequest)
        return await executor.read(lambda: answer(answers.TagsAnswer(executor.own.tags(named.ids), None)))


def _add_actions(routes: Routes, executor: Executor) -> None:
    @routes.add("GET", "/v1/actions", Described(answers.ActionsAnswer))
    async def actions(before: Before = None, limit: Rows = 50) -> Response:
        """Actions of decisions and tags, the latest first."""
        return await executor.read(lambda: answer(answers.ActionsAnswer(executor.own.actions(before, limit))))

    @routes.add("POST", "/v1/actions/undo", Described(answers.ActionAnswer, (409,), body=requests.UndoRequest))
    async def undo(request: Request) -> Response:
        """Undo an action; undoing an undo restores its decisions and tags."""
        wanted = await executor.receive(request, requests.UndoRequest)
        by = requests.signature(request.scope, wanted.by)
        return answer(await executor.write(lambda: answers.ActionAnswer(executor.own.undo(by, wanted.action))))

    @routes.add("GET", "/v1/changes", Described(answers.ChangesAnswer))
    async def changes(after: After = 0, limit: Rows = 100) -> Response:
        """How groups and decisions have changed, and why."""
        return await executor.read(lambda: answer(answers.ChangesAnswer(executor.own.changes(after, limit))))


def _decide(executor: Executor, judged: requests.DecisionRequest, by: str) -> answers.DecidedAnswer:
    collection = executor.own
    if not (judged.a in collection and judged.b in collection):
        raise unknown_error()
    if judged.verdict == "undecided":
        return answers.DecidedAnswer(None, executor.own.undecide(judged.a, judged.b, by=by))
    try:
        decision = executor.own.decide(judged.a, judged.b, judged.verdict, by=by, note=judged.note)
    except SecondReviewError:
        raise
    except InputError as error:
        refusal = refusal_error(error, executor.names)
        raise RefusedError(409, refusal.given, refusal.allowed, refusal.do, code="contradiction") from error
    return answers.DecidedAnswer(decision, False)
