"""Lines from a socket as a Spark source, for tests and demonstrations: they cannot be read again."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import SimpleDataSourceStreamReader

from spaseq.errors import RunError
from spaseq.inputs.cutting import last_start
from spaseq.runtime.spark.sources.options import SourceOptions
from spaseq.runtime.spark.sources.rows import END, SCHEMA

_NO_RANGE = (None,) * (len(SCHEMA) - SCHEMA.get_field_index("first_byte"))
_RECEIVED_BYTES_MAX = 1 << 20


class SocketReader(SimpleDataSourceStreamReader):
    """N-Quads as they arrive; an event is complete after the next event, an empty line or the end of the connection.

    The driver reads, and keeps rows until their micro-batch is committed. The connection's end is that of the stream.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._connection: socket.socket | None = None
        self._rows: dict[int, tuple[Any, ...]] = {}
        self._text = b""
        self._lines = 0
        self._ended = False

    def initialOffset(self) -> dict[str, Any]:
        """The offset before the first row."""
        return {"rows": 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        """The rows since an offset; the iterator is a list's, which can be copied and pickled."""
        first = start["rows"]
        number = first + len([n for n in self._rows if n >= first])
        for text in self._received():
            place = f"{self._options.host}:{self._options.port}"
            self._rows[number] = (text, place, self._lines, "nquads", *_NO_RANGE)
            self._lines += text.count(b"\n")
            number += 1
        return iter([self._rows[n] for n in range(first, number)]), {"rows": number}

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """The rows between two offsets; raises RunError after a restart, when they are no longer kept."""
        wanted = range(start["rows"], end["rows"])
        if any(number not in self._rows for number in wanted):
            raise RunError(
                "a socket cannot be read again", hint="use files or Kafka where a job must survive a restart"
            )
        return iter([self._rows[number] for number in wanted])

    def commit(self, end: dict[str, Any]) -> None:
        """Forget the rows of a committed micro-batch."""
        self._rows = {number: row for number, row in self._rows.items() if number >= end["rows"]}

    def _received(self) -> list[bytes]:
        """The complete events that have arrived, as one text; then the signal of the end, if it has arrived."""
        if self._ended:
            return []
        self._ended = not self._receive()
        whole = self._text.rfind(b"\n") + 1
        if self._ended:
            cut = len(self._text)
        elif self._text[:whole].endswith((b"\n\n", b"\n\r\n")):
            cut = whole
        else:
            cut = last_start(self._text[:whole])
        text, self._text = self._text[:cut], self._text[cut:]
        return [*([text] if text else []), *([END.text] if self._ended else [])]

    def _receive(self) -> bool:
        """Read without waiting; False at the end of the connection."""
        if self._connection is None:
            self._connection = socket.create_connection((self._options.host, self._options.port))
        while select.select([self._connection], [], [], 0)[0]:
            received = self._connection.recv(_RECEIVED_BYTES_MAX)
            if not received:
                self._connection.close()
                return False
            self._text += received
        return True
