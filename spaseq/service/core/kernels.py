"""Compiled kernels: loaded beside the work once they pay; bodies are read by line until then."""

from __future__ import annotations

import logging
from threading import Lock, Thread

import numpy as np

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.options import PROV_TIME
from spaseq.inputs.event_times import TimeReading
from spaseq.runtime.state.packed_events import packed_events, unpacked_events
from spaseq.service.core.bodies import Body, BodyReading, read_body

BODY_BYTES_MIN = 1 << 14
"""Shorter bodies are read by line."""
LOAD_BYTES_MIN = 1 << 20
"""Bytes in long bodies that repay loading kernels which an earlier process has compiled."""
COMPILE_BYTES_MIN = 64 << 20
"""Bytes in long bodies that repay compiling them, which takes a processor some ten seconds."""
_logger = logging.getLogger("spaseq.service")
_EXAMPLE = b"".join(
    b'<urn:e%d> <%b> "2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    b'_:b <urn:p> "%d"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:e%d> .\n' % (n, PROV_TIME.encode(), n, n)
    for n in range(100)
)
"""A body whose reading compiles all of them."""


class Kernels:
    """The kernels that read bodies of N-Quads, and that hold terms without a Python object for each.

    ready   they are loaded
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._bytes, self._at_work = 0, False
        self._wanted = LOAD_BYTES_MIN
        self.ready = False

    def read(self, data: bytes, body_format: str, reading: BodyReading, now_ns: int) -> Body:
        """The events of a body, as `read_body` gives them."""
        if body_format != "nquads" or len(data) < BODY_BYTES_MIN:
            return read_body(data, body_format, reading, now_ns)
        if not self.ready:
            self._count(len(data))
        return read_body(data, body_format, reading, now_ns, compiled=self.ready)

    def load(self, compiling: bool = False) -> None:
        """Load them if they are compiled already, or compile them; returns when they are `ready`, or cannot be."""
        from arrays.jit import is_kept
        from sparql_gpm.reading.nquads_kernel import scan

        if compiling or is_kept(scan):
            body = read_body(_EXAMPLE, "nquads", BodyReading(TimeReading((PROV_TIME,), TimeRule())), 0, compiled=True)
            terms = Dictionary()
            terms.table()
            unpacked_events(packed_events(body.events, body.dictionary, "x"), terms)
            terms.retain([np.zeros(0, dtype=np.int64)])
            self.ready = True

    def _count(self, size: int) -> None:
        """Begin to load them if that pays after so many more bytes."""
        with self._lock:
            self._bytes += size
            if self._at_work or self._bytes < self._wanted:
                return
            self._at_work = True
        Thread(target=self._load, name="spaseq-kernels", daemon=True).start()

    def _load(self) -> None:
        try:
            self.load(compiling=self._bytes >= COMPILE_BYTES_MIN)
            self._wanted = COMPILE_BYTES_MIN
            self._at_work = False
        except Exception:  # without them bodies are read by line
            _logger.exception("the compiled kernels cannot be used")
