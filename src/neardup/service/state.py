"""The endpoints that tell how the collection and the service are."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from neardup.service import answers
from neardup.service.described import described
from neardup.service.desk import Desk, answer
from neardup.service.metrics import MEDIA_TYPE
from neardup.service.refusals import stopping


def add_to(app: FastAPI, desk: Desk) -> None:
    """Add the endpoints."""

    @app.get("/v1/stats", **described(answers.Stats))
    async def stats() -> Response:
        """What the collection holds."""
        known = await desk.read(desk.collection.info)
        return answer({name: value for name, value in known.items() if name != "path"})

    @app.get("/health", **described(answers.Status, token=False))
    async def health() -> Response:
        """That the service lives."""
        return answer({"status": "alive"})

    @app.get("/ready", **described(answers.Status, token=False))
    async def ready() -> Response:
        """That it takes requests."""
        if not desk.ready:
            raise stopping()
        return answer({"status": "ready"})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """The numbers for Prometheus."""
        desk.metrics.documents.set(await desk.read(lambda: len(desk.collection)))
        return Response(desk.metrics.text(), headers={"content-type": MEDIA_TYPE})
