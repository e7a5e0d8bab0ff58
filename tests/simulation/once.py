"""Work that what is under test and its twin both do with the same text: it is done once, as it gives the same again.

Bodies are written and read once, texts of queries are parsed and planned once, also where a restart or another history
would do it again. What depends on what came before, which is what a history is about, is left to each of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from unittest.mock import patch

from spaseq.engine import arguments, setup
from spaseq.lang import parse as language
from spaseq.service.core import kernels, meanings
from spaseq.service.core.bodies import Body, BodyReading, read_body

TEXTS_MAX = 1_000
BODIES_MAX = 8


@contextmanager
def work_done_once() -> Iterator[None]:
    """A time in which the same work is done once."""
    with ExitStack() as changed:
        for module, name, once in _ONCE:
            changed.enter_context(patch.object(module, name, once))
        changed.enter_context(patch.object(kernels, "read_body", _bodies_once()))
        yield


_check = lru_cache(TEXTS_MAX)(language.check)
_ONCE = [
    (language, "check", _check),
    (meanings, "check", _check),
    *(
        (module, name, lru_cache(TEXTS_MAX)(getattr(module, name)))
        for module, name in (
            (meanings, "build"),
            (arguments, "build"),
            (setup, "optimise"),
            (setup, "compile_program"),
        )
    ),
]
"""Functions of values, and the same that remember what they gave."""


def _bodies_once() -> Callable[..., Body]:
    """`read_body` that remembers the last bodies; how a stream is read counts as the same as long as it is the same."""
    known: dict[tuple[object, ...], Body] = {}

    def read(data: bytes, body_format: str, reading: BodyReading, now_ns: int, compiled: bool = False) -> Body:
        key = data, body_format, repr(reading), now_ns, compiled
        if key not in known:
            known[key] = read_body(data, body_format, reading, now_ns, compiled)
            if len(known) > BODIES_MAX:
                del known[next(iter(known))]
        return known[key]

    return read
