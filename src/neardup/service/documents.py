"""The endpoints that add, replace, remove and return documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Path, Query, Request
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import Response

from neardup.collection.ids import LONGEST_ID
from neardup.service import answers, models
from neardup.service.described import described
from neardup.service.executor import Executor, answer
from neardup.service.groups import After, Rows
from neardup.service.received import received
from neardup.web.refusals import CODES, RefusedError

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


def add_to(app: FastAPI, executor: Executor) -> None:
    """Add the endpoints."""
    _add_by_query(app, executor)
    _add_by_path(app, executor)
    _add_for_several(app, executor)


def _add_for_several(app: FastAPI, executor: Executor) -> None:
    @app.get("/v1/list", **described(answers.DocumentsAnswer))
    async def list_documents(after: After = 0, limit: Rows = 100, texts: bool = False) -> Response:
        """List documents in the order in which they were first added."""
        return await executor.read(lambda: answer(executor.collection.list(after, limit, texts=texts).as_dict()))

    @app.post("/v1/remove", **described(answers.RemovedAnswer, 404, body=models.Removed))
    async def remove_documents(request: Request) -> Response:
        """Remove documents, all or none."""
        removed = await received(executor, request, models.Removed)
        return answer(await executor.remove(removed.ids, removed.missing))

    @app.get("/v1/base-texts", **described(answers.BaseTextsAnswer))
    async def base_texts() -> Response:
        """List the ids of the base texts."""
        return await executor.read(lambda: answer({"ids": executor.collection.base_texts()}))


def _add_by_query(app: FastAPI, executor: Executor) -> None:
    said = described(answers.AddedAnswer, 409, body=models.NewDocuments)
    said["responses"][200] = {"model": answers.AddedAnswer, "description": "Nothing was stored."}

    @app.post("/v1/documents", status_code=201, **said)
    async def add_documents(request: Request) -> Response:
        """Add documents, all or none."""
        added = await executor.add(await received(executor, request, models.NewDocuments))
        return answer(added, 201 if added["added"] or added["replaced"] else 200)

    @app.get("/v1/documents", **described(answers.DocumentAnswer, 404))
    async def get_document(id: InQuery) -> Response:
        """Get a document; the id, which may be any text, is in the query string."""
        return await _get(executor, id)

    @app.patch("/v1/documents", **described(answers.MetadataAnswer, 404, body=models.ChangedMetadata))
    async def update_metadata(id: InQuery, request: Request) -> Response:
        """Change the metadata of a document, and nothing else."""
        return await _update(executor, id, await received(executor, request, models.ChangedMetadata))

    @app.put("/v1/documents", **described(answers.AddedAnswer, body=models.NewContent))
    async def put_document(id: InQuery, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        return await _put(executor, id, await received(executor, request, models.NewContent))

    @app.delete("/v1/documents", **described(answers.RemovedAnswer, 404))
    async def remove_document(id: InQuery) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await executor.remove([id]))


def _add_by_path(app: FastAPI, executor: Executor) -> None:
    # the same by path: an id may contain slashes, and the router receives the decoded path
    @app.get("/v1/documents/{id:anything}", **described(answers.DocumentAnswer, 404))
    async def get_document_by_path(id: InPath) -> Response:
        """Get a document."""
        return await _get(executor, id)

    @app.put("/v1/documents/{id:anything}", **described(answers.AddedAnswer, body=models.NewContent))
    async def put_document_by_path(id: InPath, request: Request) -> Response:
        """Add a document, or replace the one with this id."""
        return await _put(executor, id, await received(executor, request, models.NewContent))

    @app.patch(
        "/v1/documents/{id:anything}", **described(answers.MetadataAnswer, 404, body=models.ChangedMetadata)
    )
    async def update_metadata_by_path(id: InPath, request: Request) -> Response:
        """Change the metadata of a document, and nothing else."""
        return await _update(executor, id, await received(executor, request, models.ChangedMetadata))

    @app.delete("/v1/documents/{id:anything}", **described(answers.RemovedAnswer, 404))
    async def remove_document_by_path(id: InPath) -> Response:
        """Remove a document and everything derived from it."""
        return answer(await executor.remove([id]))


async def _get(executor: Executor, id: str) -> Response:
    return await executor.read(lambda: answer(executor.collection.get(id).as_dict()))


async def _update(executor: Executor, id: str, changed: models.ChangedMetadata) -> Response:
    try:
        metadata = await executor.write(lambda: executor.collection.update_metadata(id, changed.metadata))
    except RefusedError as refusal:
        if refusal.status == 400:  # metadata beyond the limits counts as an invalid body
            refusal.status, refusal.code = 422, CODES[422]
        raise
    return answer({"id": id, "metadata": metadata})


async def _put(executor: Executor, id: str, content: models.NewContent) -> Response:
    # validated before; validating a text again would take as long
    new = models.NewDocument.model_construct(id=id, text=content.text, metadata=content.metadata)
    arriving = {name: getattr(content, name) for name in models.Arriving.model_fields}
    whole = models.NewDocuments.model_construct(documents=[new], on_duplicate="replace", **arriving)
    return answer(await executor.add(whole))
