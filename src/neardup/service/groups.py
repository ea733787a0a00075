"""The endpoints for groups, decisions about documents, and the changes of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import FastAPI, Path, Query, Request
from starlette.responses import Response

from neardup.collection.arrivals import group_pending
from neardup.collection.near import RECALL, Near
from neardup.collection.records import GroupedPending, GroupPage, StoredGroup
from neardup.errors import InputError, UnknownIdError
from neardup.runtime import Deadline
from neardup.service import answers, requests
from neardup.service.described import LARGEST, After, AfterId, IdInQuery, Rows, described
from neardup.service.executor import Executor, answer, refusal_of, unknown
from neardup.web.refusals import RefusedError

T = TypeVar("T")

Number = Annotated[int, Path(ge=1, le=LARGEST)]
Groups = Annotated[int, Query(ge=1, le=100, description="Each includes up to 1,000 members.")]


def add_to(app: FastAPI, executor: Executor) -> None:
    """Add the endpoints."""
    collection = executor.collection

    @app.get("/v1/groups", **described(GroupPage))
    async def groups(after: After = 0, limit: Groups = 20) -> Response:
        """Groups by rising id."""
        return await executor.read(lambda: answer(collection.groups(after, limit)))

    @app.post("/v1/groups/pending", **described(GroupedPending, body=requests.PendingRequest))
    async def group_those_pending(request: Request) -> Response:
        """Compare documents that are in no group, and put those that repeat others into groups."""
        asked = await executor.received(request, requests.PendingRequest)
        return answer(await executor.write_in_time(lambda deadline: _grouped(executor, asked, deadline)))

    @app.get("/v1/groups/{group}", **described(StoredGroup, 404))
    async def group(group: Number) -> Response:
        """A group with its first 1,000 members."""
        return await executor.read(lambda: answer(_there(executor, lambda: collection.group(group))))

    @app.get("/v1/groups/{group}/members", **described(answers.MembersAnswer, 404))
    async def members(group: Number, after: AfterId = None, limit: Rows = 100) -> Response:
        """Members of a group."""

        def look() -> Response:
            found = _there(executor, lambda: collection.members(group, after, limit))
            return answer(answers.MembersAnswer(found))

        return await executor.read(look)

    @app.get("/v1/group-of", **described(answers.GroupOfAnswer, 404))
    async def group_of(id: IdInQuery) -> Response:
        """The group that a document is in."""

        def look() -> Response:
            found = _there(executor, lambda: collection.group_of(id))
            return answer(answers.GroupOfAnswer(found))

        return await executor.read(look)

    @app.get("/v1/decisions", **described(answers.DecisionsAnswer))
    async def decisions(after: After = 0, limit: Rows = 100) -> Response:
        """The decisions in force."""
        return await executor.read(lambda: answer(answers.DecisionsAnswer(collection.decisions(after, limit))))

    @app.post("/v1/decisions", **described(answers.DecidedAnswer, 404, 409, body=requests.DecisionRequest))
    async def decide(request: Request) -> Response:
        """Decide whether two documents belong together; takes effect at once."""
        judged = await executor.received(request, requests.DecisionRequest)
        if judged.a == judged.b:
            raise RefusedError(422, "Both ids name the same document", "Two documents")
        return answer(await executor.write(lambda: _decided(executor, judged)))

    @app.get("/v1/changes", **described(answers.ChangesAnswer))
    async def changes(after: After = 0, limit: Rows = 100) -> Response:
        """How groups and decisions have changed, and why."""
        return await executor.read(lambda: answer(answers.ChangesAnswer(collection.changes(after, limit))))


def _decided(executor: Executor, judged: requests.DecisionRequest) -> answers.DecidedAnswer:
    collection = executor.collection
    if not (judged.a in collection and judged.b in collection):
        raise unknown()
    if judged.verdict == "undecided":
        return answers.DecidedAnswer(None, collection.undecide(judged.a, judged.b, by=judged.by))
    try:
        made = collection.decide(judged.a, judged.b, judged.verdict, by=judged.by, note=judged.note)
    except InputError as error:
        found = refusal_of(error, collection.path)
        raise RefusedError(409, found.given, found.allowed, found.do, code="contradiction") from error
    return answers.DecidedAnswer(made, False)


def _grouped(executor: Executor, asked: requests.PendingRequest, deadline: Deadline) -> GroupedPending:
    near = Near(asked.near, RECALL if asked.recall is None else asked.recall)
    return group_pending(executor.collection.store, near, asked.after, asked.limit, deadline)


def _there(executor: Executor, look: Callable[[], T]) -> T:
    """Return the result of ``look``. Raises RefusedError (404) if the thing does not exist."""
    try:
        return look()
    except UnknownIdError as error:
        raise refusal_of(error, executor.collection.path) from error
    except InputError as error:
        found = refusal_of(error, executor.collection.path)
        raise RefusedError(404, found.given, found.allowed, code="not_found") from error
