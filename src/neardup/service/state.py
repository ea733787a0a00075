"""The endpoints for the state of the collection and the service."""

from __future__ import annotations

import math

from fastapi import FastAPI
from starlette.responses import Response

from neardup.runtime import Deadline
from neardup.service import answers
from neardup.service.described import described
from neardup.service.executor import Executor, answer
from neardup.web.metrics import MEDIA_TYPE
from neardup.web.refusals import RefusedError, stopping, timeout

_COUNT_SECONDS = 1.0
"""Longest wait for the number of documents in the metrics."""


def add_to(app: FastAPI, executor: Executor) -> None:
    """Add the endpoints."""

    @app.get("/v1/stats", **described(answers.StatsAnswer))
    async def stats() -> Response:
        """Return counts and sizes of the collection."""
        known = await executor.read(executor.collection.info)
        return answer({name: value for name, value in known.items() if name != "path"})

    @app.get("/health", **described(answers.StatusAnswer, token=False))
    async def health() -> Response:
        """Report that the service is alive."""
        return answer({"status": "alive"})

    @app.get("/ready", **described(answers.StatusAnswer, token=False))
    async def ready() -> Response:
        """Report whether the service accepts requests and its file is at its place."""
        if not executor.ready:
            raise stopping()
        executor.require_warmed()
        executor.require_file()
        return answer({"status": "ready"})

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        try:
            documents: float = await executor.read(
                lambda: len(executor.collection), Deadline(_COUNT_SECONDS, timeout)
            )
        except RefusedError:  # the other metrics matter most when the collection cannot be read
            documents = math.nan
        executor.metrics.documents.set(documents)
        return Response(executor.metrics.text(), headers={"content-type": MEDIA_TYPE})
