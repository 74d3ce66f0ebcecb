"""Write toolc's log to stderr, as text or as one JSON object per line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {"time": time, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return json.dumps(entry | ({"error": type(record.exc_info[1]).__name__} if record.exc_info else {}))


def log_as_json() -> None:
    """Write the messages of all toolc loggers as JSON instead of text."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("toolc")
    logger.addHandler(handler)
    logger.propagate = False
    logging.getLogger("toolc.images").setLevel(logging.INFO)


def logs_as_json() -> bool:
    """Return whether this process logs JSON."""
    return any(isinstance(each.formatter, JsonFormatter) for each in logging.getLogger("toolc").handlers)
