"""The log of the service: a line of JSON for each record, on stderr. No header of a request is ever in it."""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import msgspec

_TEXT_MAX = 4_000
"""Characters of one text: parts of it may come from outside."""


class JsonFormatter(logging.Formatter):
    """Records as JSON; `details` of a record are members of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:_TEXT_MAX],
        }
        document |= getattr(record, "details", {})
        if record.exc_info and record.exc_info[1] is not None:
            document["exception"] = "".join(traceback.format_exception(record.exc_info[1]))[-_TEXT_MAX:]
        return msgspec.json.encode(document).decode()


def begin_logging() -> None:
    """Send all records to stderr as JSON; of other libraries warnings only."""
    destination = logging.StreamHandler(sys.stderr)
    destination.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [destination]
    root.setLevel(logging.WARNING)
    logging.getLogger("spaseq").setLevel(logging.INFO)
