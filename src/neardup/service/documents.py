"""The endpoints that add, replace, remove and return documents."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from neardup.collection.documents import Document, DocumentPage
from neardup.service import answers, requests
from neardup.service.described import After, IdInPath, IdInQuery, Rows, described
from neardup.service.executor import Executor, answer
from neardup.web.refusals import CODES, RefusedError


class _Anything(Convertor[str]):
    """The rest of an address, line ends included: the framework's own ``path`` stops there."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())


def add_to(app: FastAPI, executor: Executor) -> None:
    """Add the endpoints."""
    _add_by_query(app, executor)
    _add_by_path(app, executor)
    _add_for_several(app, executor)


def _add_for_several(app: FastAPI, executor: Executor) -> None:
    @app.get("/v1/list", **described(DocumentPage))
    async def list_documents(after: After = 0, limit: Rows = 100, texts: bool = False) -> Response:
        """List documents in the order in which they were first added."""
        return await executor.read(lambda: answer(executor.collection.list(after, limit, texts=texts)))

    @app.post("/v1/remove", **described(answers.RemovedAnswer, 404, body=requests.RemoveRequest))
    async def remove_documents(request: Request) -> Response:
        """Remove documents, all or none."""
        removed = await executor.received(request, requests.RemoveRequest)
        return answer(await executor.remove(removed.ids, removed.missing))

    @app.get("/v1/base-texts", **described(answers.BaseTextsAnswer))
    async def base_texts() -> Response:
        """List the ids of the base texts."""
        return await executor.read(lambda: answer(answers.BaseTextsAnswer(executor.collection.base_texts())))


def _add_by_query(app: FastAPI, executor: Executor) -> None:
    route = described(answers.AddedAnswer, 409, body=requests.NewDocuments, status=201)
    route["responses"][200] = {**route["responses"][201], "description": "Nothing was stored."}

    @app.post("/v1/documents", **route)
    async def add_documents(request: Request) -> Response:
        """Add documents, all or none."""
        new = await executor.received(request, requests.NewDocuments)
        rows = [(each.id, each.text, each.metadata) for each in new.documents]
        added = await executor.add(rows, new, new.on_duplicate)
        return answer(added, 201 if added.added or added.replaced else 200)

    @app.get("/v1/documents", **described(Document, 404))
    async def get_document(id: IdInQuery) -> Response:
        """Get a document; the id, which may be any text, is in the query string."""
        return await _get(executor, id)

    @app.patch("/v1/documents", **described(answers.MetadataAnswer, 404, body=requests.MetadataRequest))
    async def update_metadata(id: IdInQuery, request: Request) -> Response:
        """Change the metadata of a document, and nothing else."""
        return await _update(executor, id, await executor.received(request, requests.MetadataRequest))

    @app.put("/v1/documents", **described(answers.AddedAnswer, body=requests.NewContent))
    async def put_document(id: IdInQuery, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        return await _put(executor, id, await executor.received(request, requests.NewContent))

    @app.delete("/v1/documents", **described(answers.RemovedAnswer, 404))
    async def remove_document(id: IdInQuery) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await executor.remove([id]))


def _add_by_path(app: FastAPI, executor: Executor) -> None:
    # the same by path: an id may contain slashes, and the router receives the decoded path
    @app.get("/v1/documents/{id:anything}", **described(Document, 404))
    async def get_document_by_path(id: IdInPath) -> Response:
        """Get a document."""
        return await _get(executor, id)

    @app.put("/v1/documents/{id:anything}", **described(answers.AddedAnswer, body=requests.NewContent))
    async def put_document_by_path(id: IdInPath, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        return await _put(executor, id, await executor.received(request, requests.NewContent))

    @app.patch(
        "/v1/documents/{id:anything}", **described(answers.MetadataAnswer, 404, body=requests.MetadataRequest)
    )
    async def update_metadata_by_path(id: IdInPath, request: Request) -> Response:
        """Change the metadata of a document, and nothing else."""
        return await _update(executor, id, await executor.received(request, requests.MetadataRequest))

    @app.delete("/v1/documents/{id:anything}", **described(answers.RemovedAnswer, 404))
    async def remove_document_by_path(id: IdInPath) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await executor.remove([id]))


async def _get(executor: Executor, id: str) -> Response:
    return await executor.read(lambda: answer(executor.collection.get(id)))


async def _update(executor: Executor, id: str, changed: requests.MetadataRequest) -> Response:
    try:
        metadata = await executor.write(lambda: executor.collection.update_metadata(id, changed.metadata))
    except RefusedError as refusal:
        if refusal.status == 400:  # metadata beyond the limits counts as an invalid body
            refusal.status, refusal.code = 422, CODES[422]
        raise
    return answer(answers.MetadataAnswer(id, metadata))


async def _put(executor: Executor, id: str, content: requests.NewContent) -> Response:
    return answer(await executor.add([(id, content.text, content.metadata)], content, "replace"))
