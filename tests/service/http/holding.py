"""`spaseq serve` with threads that never ask whether their work is wanted: `python -m` this, HOW and the arguments."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping

from spaseq.cli import main
from spaseq.service.http.workers import Workers

HELD = "held"
"""It is said when the thread is at work."""


def _regular_expression() -> None:
    """One call that holds the interpreter's lock, for longer than anybody waits."""
    re.match("(a+)+$", "a" * 60 + "b")


def _rest() -> None:
    """Calls that do not hold it, one after the other."""
    while True:
        time.sleep(0.01)


HOLDS: Mapping[str, Callable[[], None]] = {"lock": _regular_expression, "thread": _rest}


def _hold(workers: Workers) -> None:
    print(HELD, file=sys.stderr, flush=True)
    HOLDS[sys.argv[1]]()


def _held_when_ready(check: Callable[[Workers], None]) -> Callable[[Workers], None]:
    """`check_ready` that begins to hold once the service is ready."""
    begun = threading.Event()

    def checked(workers: Workers) -> None:
        check(workers)
        if not begun.is_set():
            begun.set()
            threading.Thread(target=workers._counted, args=(lambda: _hold(workers),)).start()

    return checked


if __name__ == "__main__":
    Workers.check_ready = _held_when_ready(Workers.check_ready)  # type: ignore[method-assign]
    main(sys.argv[2:])
