"""Logs, one line of JSON an event on standard error, and metrics for Prometheus.

No line and no label has a text, a query, a document id or an address, only route templates, statuses and counts.
"""

import json
import logging
import math
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from neardup.io.files import allocate

LOGGER = logging.getLogger("neardup.service")
_SERVER, _LOOP = logging.getLogger("uvicorn.error"), logging.getLogger("asyncio")


class JsonLines(logging.Formatter):
    """Formats a record as JSON: time, level, worker, event, and the values of ``extra={"fields": …}``."""

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = {} if worker is None else {"worker": worker}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without a line end."""
        known = getattr(record, "fields", None)
        head = {"time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")}
        start = {**head, "level": record.levelname.lower(), **self._worker}
        if (
            known is None
        ):  # from the HTTP server or the event loop: only the first line of the message, without values
            event = {"event": "server", "message": str(record.msg).strip().partition("\n")[0]}
            return json.dumps({**start, **event})
        return json.dumps({**start, "event": record.getMessage(), **known})


def log_to_stderr(worker: int | None = None) -> None:
    """Log the service and the HTTP server to standard error, without propagation to other loggers.

    ``worker``: the number of this process among several, for every line.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(worker))
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


_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable from which the library takes the folder of shared metrics."""
_ROOM = 1 << 17
"""Bytes of a file of metrics: twice its first size, in which all labels of the service fit."""
_FRESH = 0.25
"""Seconds for which the lengths of queues that other processes read are not measured again."""


def share(folder: Path, worker: int) -> None:
    """Keep the metrics of this process in files of ``folder``; ``Metrics.text`` adds up those of all processes.

    Call it before metrics are made. A worker continues the counters of an earlier one with its number.
    """
    os.environ[_FOLDER] = str(folder)
    values.ValueClass = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]


def forget(folder: Path, worker: int) -> None:
    """Remove the gauges of a worker that has ended; its counters stay."""
    mark_process_dead(worker, str(folder))  # type: ignore[no-untyped-call]


class Metrics:
    """The metrics of one service, in their own registry, or in the files of all its processes (``share``)."""

    def __init__(self) -> None:
        self._shared = Path(os.environ[_FOLDER]) if _FOLDER in os.environ else None
        self._queue_lengths: dict[str, Callable[[], int]] = {}
        self._measured = 0.0
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
        self.under_way = self._sum("neardup_requests_under_way", "Requests in progress.")
        self.arriving = self._sum("neardup_requests_arriving", "Requests whose bodies are arriving.")
        self.held = self._sum("neardup_body_bytes", "Bytes of bodies in memory.")
        self.workers = self._sum("neardup_workers", "Processes that serve the collection.")
        self.workers.set(1)
        self.starts = Counter("neardup_worker_starts", "Starts of these processes.", registry=self._registry)
        self.starts.inc()
        self.batches = Histogram(
            "neardup_write_batch_requests",
            "Requests that were committed together.",
            buckets=_BATCHES,
            registry=self._registry,
        )
        self.shard_failures = Counter(
            "neardup_shard_failures", "Requests to a shard without an answer.", ("shard",), registry=self._registry
        )
        self.documents = self._latest("neardup_documents", "Documents in the collection.")
        self.writable = self._latest(
            "neardup_writable", "1 if the last change was written, 0 if it failed; NaN or absent before the first."
        )
        self._queues = self._sum("neardup_queue_requests", "Requests that wait for a thread.", "queue")
        if self._shared is None:
            self.writable.set(math.nan)
        else:
            _allocate(self._shared)

    def _sum(self, name: str, help: str, *labels: str) -> Gauge:
        return Gauge(name, help, labels, registry=self._registry, multiprocess_mode="livesum")

    def _latest(self, name: str, help: str) -> Gauge:
        return Gauge(name, help, registry=self._registry, multiprocess_mode="mostrecent")

    def watch(self, queue: str, waiting: Callable[[], int]) -> None:
        """Register a function that returns the length of a queue."""
        self._queue_lengths[queue] = waiting

    def _measure_queues(self) -> None:
        self._measured = monotonic()
        for queue, waiting in self._queue_lengths.items():
            self._queues.labels(queue).set(waiting())

    def count_answer(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        known = method if method in METHODS else "other"
        self.requests.labels(known, route, str(status)).inc()
        self.seconds.labels(known, route).observe(seconds)
        if self._shared and monotonic() - self._measured >= _FRESH:  # another process may be asked for the metrics
            self._measure_queues()

    def text(self) -> bytes:
        """Return all metrics in the text format, those of all processes together."""
        self._measure_queues()
        if self._shared is None:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        registry.register(_Processes(self._shared))
        return generate_latest(registry)


@dataclass(frozen=True)
class _Processes:
    """Collects the metrics of all processes from the files in ``folder``."""

    folder: Path

    def collect(self) -> Any:
        """Return the merged metrics, without the files that a process has made and not yet filled."""
        files = [str(path) for path in self.folder.glob("*.db") if _size(path)]
        return MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]


def _size(path: Path) -> int:
    """Return the bytes of a file; 0 if it has gone, with a worker that has ended."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _allocate(folder: Path) -> None:
    """Allocate space for the files in ``folder``; writing to one on a full disk would end the process (SIGBUS)."""
    for path in folder.glob("*.db"):
        allocate(path, _ROOM)
