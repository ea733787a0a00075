"""One line of JSON for each event, on standard error.

The log contains route templates and counts, but no text, query, document id or address.
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
