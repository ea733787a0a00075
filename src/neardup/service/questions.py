"""The endpoints that search, explain and compare, and change nothing."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.responses import Response

from neardup.collection.query import Query as Parsed
from neardup.collection.query import explanation
from neardup.collection.search import LIMIT, WhyNot, explain, near_query, search, why_not
from neardup.collection.view import View
from neardup.comparison import compare as measures
from neardup.errors import QueryError, SettingError
from neardup.service import answers, requests
from neardup.service.described import Hits, IdInQuery, QueryInAddress, described
from neardup.service.executor import Executor, answer, refusal_of, unknown
from neardup.settings import as_compared
from neardup.web.refusals import RefusedError

COMPARED_BYTES = 4_000_000
"""Characters of both texts of a comparison, since the time limit cannot interrupt a step of its matching."""
_CLAUSE = 200
"""Characters of a clause in a hit, since a pasted text would be repeated in each."""


def add_to(app: FastAPI, executor: Executor) -> None:
    """Add the endpoints."""
    _add_search(app, executor)
    _add_explanations(app, executor)

    @app.post("/v1/near", **described(answers.NearAnswer, body=requests.NearRequest))
    async def near(request: Request) -> Response:
        """Find the stored documents that contain or resemble a text by at least `overlap`."""
        asked = await executor.received(request, requests.NearRequest)
        try:
            query = near_query(asked.text, asked.overlap, asked.probability, asked.measure, asked.where)
        except SettingError as error:
            raise RefusedError(422, error.given, error.allowed, error.do) from error
        except QueryError as error:
            raise refusal_of(error, executor.collection.path) from error
        return await _search(executor, query, asked.limit, asked.after, False)

    @app.post("/v1/compare", **described(answers.ServiceComparison, 404, body=requests.CompareRequest))
    async def compare(request: Request) -> Response:
        """Compare two stored documents by all measures."""
        pair = await executor.received(request, requests.CompareRequest)
        return await executor.compare(lambda view, seconds: answer(_compared(view, pair, seconds)))


def _add_search(app: FastAPI, executor: Executor) -> None:
    @app.get("/v1/search", **described(answers.SearchAnswer))
    async def search_documents(
        query: QueryInAddress, limit: Hits = None, after: str | None = None, include_self: bool = False
    ) -> Response:
        """Find the documents that fit a query, best first."""
        return await _search(executor, query, limit, after, include_self)

    @app.post("/v1/search", **described(answers.SearchAnswer, body=requests.SearchRequest))
    async def search_documents_by_body(request: Request) -> Response:
        """The same, for queries that are too long for an address."""
        asked = await executor.received(request, requests.SearchRequest)
        return await _search(executor, asked.query, asked.limit, asked.after, asked.include_self)


def _add_explanations(app: FastAPI, executor: Executor) -> None:
    @app.get("/v1/explain", **described(answers.ExplainAnswer))
    async def explain_query(query: QueryInAddress) -> Response:
        """Explain the meaning of a query and its look-ups, without searching."""
        return await _explain(executor, query)

    @app.post("/v1/explain", **described(answers.ExplainAnswer, body=requests.QueryRequest))
    async def explain_query_by_body(request: Request) -> Response:
        """The same, for queries that are too long for an address."""
        asked = await executor.received(request, requests.QueryRequest)
        return await _explain(executor, asked.query)

    @app.get("/v1/why-not", **described(WhyNot))
    async def why_not_found(query: QueryInAddress, id: IdInQuery, include_self: bool = False) -> Response:
        """Explain why a query does not find a document."""
        return await _why_not(executor, query, id, include_self)

    @app.post("/v1/why-not", **described(WhyNot, body=requests.WhyNotRequest))
    async def why_not_found_by_body(request: Request) -> Response:
        """The same, for queries that are too long for an address."""
        asked = await executor.received(request, requests.WhyNotRequest)
        return await _why_not(executor, asked.query, asked.id, asked.include_self)


async def _search(
    executor: Executor, query: str | Parsed, limit: int | None, after: str | None, include_self: bool
) -> Response:
    if limit is None:
        limit = min(LIMIT, executor.limits.most_hits)
    if limit > executor.limits.most_hits:
        allowed = f"At most {executor.limits.most_hits} hits on a page"
        raise RefusedError(422, f"limit is {limit}", allowed, fields=(("limit", allowed),))

    def look(view: View) -> Response:
        most = executor.limits.most_candidates
        page = search(view, query, limit=limit, after=after, include_self=include_self, most_candidates=most)
        if page.found is None:
            raise RefusedError(
                400, "The query begins with EXPLAIN", "A query without it", "Send it to /v1/explain", code="query"
            )
        data = page.as_dict()
        for hit in data["hits"]:
            if len(hit.get("clause", "")) > _CLAUSE:
                hit["clause"] = hit["clause"][:_CLAUSE] + " …"
        if not isinstance(query, str):  # a posted text has no query
            del data["query"]
        return answer(data)

    return await executor.view(look)


async def _explain(executor: Executor, query: str) -> Response:
    return await executor.view(lambda view: answer(explanation.as_dict(explain(view, query))))


async def _why_not(executor: Executor, query: str, id: str, include_self: bool) -> Response:
    return await executor.view(lambda view: answer(why_not(view, query, id, include_self=include_self)))


def _compared(view: View, pair: requests.CompareRequest, seconds: float) -> answers.ServiceComparison:
    texts = []
    for id in (pair.a, pair.b):
        number = view.number(id)
        if number is None:
            raise unknown()
        texts.append(view.text(number))
    base = view.base_texts()
    if sum(map(len, [*texts, *base])) > COMPARED_BYTES:
        most = f"{COMPARED_BYTES:,} characters in both, and in the base texts"
        raise RefusedError(413, "The documents are too large to compare", most)
    found = measures.compare(*texts, **as_compared(view.sampling.as_dict()), seconds=seconds, ignore=base)
    names = ("settings", "measures", "left_out", "kind", "degraded", "caps", "proven")
    return answers.ServiceComparison(pair.a, pair.b, *(getattr(found, name) for name in names))
