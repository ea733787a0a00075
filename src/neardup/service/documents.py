"""The endpoints that add, replace, remove and return documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from neardup.collection.ids import LONGEST_ID
from neardup.service import answers, models
from neardup.service.described import described
from neardup.service.desk import Desk, answer, unknown
from neardup.service.received import received

InPath = Annotated[models.Id, Path(min_length=1, max_length=LONGEST_ID, description="Percent-encoded.")]
InQuery = Annotated[models.Id, Query(min_length=1, max_length=LONGEST_ID)]


class _Anything(Convertor[str]):
    """The rest of an address, line ends included: the framework's own ``path`` stops there."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())


def add_to(app: FastAPI, desk: Desk) -> None:
    """Add the endpoints."""

    @app.post("/v1/documents", status_code=201, **described(answers.AddedAnswer, 409, body=models.NewDocuments))
    async def add_documents(request: Request) -> Response:
        """Add documents, all or none."""
        return answer(await desk.add(await received(desk, request, models.NewDocuments)), 201)

    @app.get("/v1/documents", **described(answers.DocumentAnswer, 404))
    async def get_document(id: InQuery) -> Response:
        """Get a document; the id, which may be any text, is in the query string."""
        return await _get(desk, id)

    @app.put("/v1/documents", **described(answers.AddedAnswer, body=models.NewContent))
    async def put_document(id: InQuery, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        return await _put(desk, id, await received(desk, request, models.NewContent))

    @app.delete("/v1/documents", **described(answers.RemovedAnswer, 404))
    async def remove_document(id: InQuery) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await desk.remove(id))

    # the same by path: an id may contain slashes, and the router receives the decoded path
    @app.get("/v1/documents/{id:anything}", **described(answers.DocumentAnswer, 404))
    async def get_document_by_path(id: InPath) -> Response:
        """Get a document."""
        return await _get(desk, id)

    @app.put("/v1/documents/{id:anything}", **described(answers.AddedAnswer, body=models.NewContent))
    async def put_document_by_path(id: InPath, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        return await _put(desk, id, await received(desk, request, models.NewContent))

    @app.delete("/v1/documents/{id:anything}", **described(answers.RemovedAnswer, 404))
    async def remove_document_by_path(id: InPath) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await desk.remove(id))


async def _get(desk: Desk, id: str) -> Response:
    def read() -> Response:
        if id not in desk.collection:
            raise unknown()
        found = desk.collection.get(id)
        names = ("id", "text", "metadata", "tokens", "shingles", "role")
        return answer({name: getattr(found, name) for name in names})

    return await desk.read(read)


async def _put(desk: Desk, id: str, content: models.NewContent) -> Response:
    # validated before; validating a text again would take as long
    new = models.NewDocument.model_construct(id=id, text=content.text, metadata=content.metadata)
    return answer(await desk.add(models.NewDocuments.model_construct(documents=[new], on_duplicate="replace")))
