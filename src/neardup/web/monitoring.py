"""Logs, one line of JSON an event on standard error, and metrics for Prometheus.

No line and no label has a text, a query, a document id or an address, only route templates, statuses and counts.
"""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

LOGGER = logging.getLogger("neardup.service")
_SERVER, _LOOP = logging.getLogger("uvicorn.error"), logging.getLogger("asyncio")


class JsonLines(logging.Formatter):
    """Formats a record as JSON: time, level, event, and the values of ``extra={"fields": …}``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without a line end."""
        known = getattr(record, "fields", None)
        head = {"time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")}
        if (
            known is None
        ):  # from the HTTP server or the event loop: only the first line of the message, without values
            event = {"event": "server", "message": str(record.msg).strip().partition("\n")[0]}
            return json.dumps({**head, "level": record.levelname.lower(), **event})
        return json.dumps({**head, "level": record.levelname.lower(), "event": record.getMessage(), **known})


def log_to_stderr() -> None:
    """Log the service and the HTTP server to standard error, without propagation to other loggers."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for logger, level in ((LOGGER, logging.INFO), (_SERVER, logging.WARNING), (_LOOP, logging.WARNING)):
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    # the interpreter would otherwise print the message of the error
    threading.excepthook = lambda error: mistake(error.exc_value or Exception(), "")


def event(name: str, **values: Any) -> None:
    """Log an event."""
    LOGGER.info(name, extra={"fields": values})


def mistake(error: BaseException, request: str) -> None:
    """Log the class and place of an unexpected error, but not its message, which may contain a text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    fields = {"request": request, "error": type(error).__name__, "where": where}
    LOGGER.error("mistake", extra={"fields": fields})


MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_BATCHES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The metrics of one service, in their own registry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "neardup_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self.seconds = Histogram(
            "neardup_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.under_way = Gauge("neardup_requests_under_way", "Requests in progress.", registry=self._registry)
        self.arriving = Gauge(
            "neardup_requests_arriving", "Requests whose bodies are arriving.", registry=self._registry
        )
        self.held = Gauge("neardup_body_bytes", "Bytes of bodies in memory.", registry=self._registry)
        self.batches = Histogram(
            "neardup_write_batch_requests",
            "Requests that were committed together.",
            buckets=_BATCHES,
            registry=self._registry,
        )
        self.documents = Gauge("neardup_documents", "Documents in the collection.", registry=self._registry)
        self.writable = Gauge(
            "neardup_writable",
            "1 if the last change was written, 0 if it failed; NaN before the first.",
            registry=self._registry,
        )
        self.writable.set(math.nan)
        self._queues = Gauge(
            "neardup_queue_requests", "Requests that wait for a thread.", ("queue",), registry=self._registry
        )

    def watch(self, queue: str, waiting: Callable[[], int]) -> None:
        """Register a function that returns the length of a queue."""
        self._queues.labels(queue).set_function(waiting)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        known = method if method in METHODS else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(known, route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in the text format."""
        return generate_latest(self._registry)
