"""``neardup review``: the pages of a result on a server of their own."""

from __future__ import annotations

import logging
import socket

from neardup.review.live.app import Served, review_app
from neardup.review.source import ReviewSource
from neardup.web import monitoring
from neardup.web.server import run


def serve_review(source: ReviewSource, served: Served, listening: socket.socket) -> bool:
    """Serve the pages until a signal arrives; return whether all threads that use the source ended in time.

    Requests are logged only if other machines can send them.
    """
    monitoring.log_to_stderr()
    monitoring.LOGGER.setLevel(logging.INFO if served.tokens else logging.WARNING)
    app = review_app(source, served)
    try:
        run(app, served.limits, listening, lambda: None)
    finally:
        ended = app.close(served.limits.stop_seconds)
        listening.close()
    return ended
