"""One line of JSON for each event, on standard error. Nothing of a request but what is named here is ever logged.

No text, no query, no id, no address: templates of routes and counts.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("neardup.service")
_SERVER = logging.getLogger("uvicorn.error")


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, event, and the values given as ``extra={"fields": …}``."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        known = getattr(record, "fields", None)
        head = {"time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")}
        if known is None:  # of the HTTP server: its own words, without a traceback
            event = {"event": "server", "message": record.getMessage().strip()}
            return json.dumps({**head, "level": record.levelname.lower(), **event})
        return json.dumps({**head, "level": record.levelname.lower(), "event": record.getMessage(), **known})


def log_to_stderr() -> None:
    """Let the service and the HTTP server log, and nobody above them."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for logger, level in ((LOGGER, logging.INFO), (_SERVER, logging.WARNING)):
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def event(name: str, **values: Any) -> None:
    """Log an event."""
    LOGGER.info(name, extra={"fields": values})


def mistake(error: BaseException, request: str) -> None:
    """Log an error that should not be: its kind and where it arose, not its words, which may hold a text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
    fields = {"request": request, "error": type(error).__name__, "where": where}
    LOGGER.error("mistake", extra={"fields": fields})
