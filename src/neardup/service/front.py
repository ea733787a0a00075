"""The front door: what this is, and where to go on."""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.responses import Response

from neardup import __version__
from neardup.service.described import described
from neardup.service.desk import Desk, answer

LINKS = {
    "description": "/openapi.json",
    "health": "/health",
    "ready": "/ready",
    "metrics": "/metrics",
    "stats": "/v1/stats",
    "documents": "/v1/documents",
    "search": "/v1/search",
    "groups": "/v1/groups",
    "changes": "/v1/changes",
}
"""Addresses by what they are; OpenAPI describes all."""


class Front(BaseModel):
    """What answers here, and its addresses."""

    name: str
    version: str
    links: dict[str, str]


def add_to(app: FastAPI, desk: Desk) -> None:
    """Add the endpoint."""

    @app.get("/", **described(Front, token=False))
    async def front() -> Response:
        """What this is, and where to go on."""
        return answer({"name": "neardup", "version": __version__, "links": LINKS})
