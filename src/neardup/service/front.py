"""The start address: the name of the service and its links."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from neardup import __version__
from neardup.service.answers import FrontAnswer
from neardup.service.described import described
from neardup.service.executor import Executor, answer

LINKS = {
    "description": "/openapi.json",
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


def add_to(app: FastAPI, executor: Executor) -> None:
    """Add the endpoint."""

    @app.get("/", **described(FrontAnswer, token=False))
    async def front() -> Response:
        """The name and version of the service, and its main addresses."""
        return answer(FrontAnswer("neardup", __version__, LINKS))
