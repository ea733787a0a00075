"""Metrics for Prometheus. Labels have few values: route templates, methods, statuses, never ids."""

from __future__ import annotations

import math
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

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
