"""One line of JSON for each event, on standard error. Nothing of a request but what is named here is ever logged.

No text, no query, no id, no address: templates of routes and counts.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("neardup.service")
_SERVER, _LOOP = logging.getLogger("uvicorn.error"), logging.getLogger("asyncio")


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, event, and the values given as ``extra={"fields": …}``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        known = getattr(record, "fields", None)
        head = {"time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")}
        if (
            known is None
        ):  # of the HTTP server or the event loop: the first line of their own words, without values
            event = {"event": "server", "message": str(record.msg).strip().partition("\n")[0]}
            return json.dumps({**head, "level": record.levelname.lower(), **event})
        return json.dumps({**head, "level": record.levelname.lower(), "event": record.getMessage(), **known})


def log_to_stderr() -> None:
    """Let the service and the HTTP server log, and nobody above them."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for logger, level in ((LOGGER, logging.INFO), (_SERVER, logging.WARNING), (_LOOP, logging.WARNING)):
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    # else the interpreter would write what the error says
    threading.excepthook = lambda error: mistake(error.exc_value or Exception(), "")


def event(name: str, **values: Any) -> None:
    """Log an event."""
    LOGGER.info(name, extra={"fields": values})


def mistake(error: BaseException, request: str) -> None:
    """Log an error that should not be: its kind and where it arose, not its words, which may hold a text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    fields = {"request": request, "error": type(error).__name__, "where": where}
    LOGGER.error("mistake", extra={"fields": fields})
