"""The user's description of a knowledge base: its location and the options of its use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

Failure = Literal["wait", "skip", "fail"]
FAILURES: tuple[Failure, ...] = ("wait", "skip", "fail")
PathLike = str | os.PathLike[str]
_REMOTE = ("http://", "https://")
ANSWERS_KEPT_S = 300.0
"""The default of `Source.answers_kept_s`."""


@dataclass(frozen=True, slots=True)
class Source:
    """A knowledge base as the user gives it.

    location        the path of a file, a directory, a glob or a prepared .kb file; or the URL of a SPARQL endpoint
    failure         when the endpoint fails: `wait` until it is back, so that nothing is lost; `skip` the request as if
                    it had no solution, and count the rows concerned; or `fail`
    refresh_s       seconds between checks of files, None: never; for which answers of an endpoint are kept, None:
                    ANSWERS_KEPT_S. Never inside a batch
    entail          materialise the RDFS entailments of the knowledge base, and apply its schema to all events; a
                    prepared file that was built so says it itself
    timeout_s       for one answer of the endpoint
    batch_keys      keys in one request, up to `batch_keys_max` when there are more than the requests in flight hold
    in_flight       requests at a time
    whole_rows_max  a pattern with at most this many solutions is fetched once and kept, 0: never
    answer_rows_max, answer_bytes_max   a larger answer is an error
    invalid_answers_max     invalid answers to one request after which `wait` gives up, about 15 s by default
    """

    location: str
    failure: Failure = "wait"
    refresh_s: float | None = None
    entail: bool = False
    timeout_s: float = 30.0
    batch_keys: int = 100
    batch_keys_max: int = 500
    in_flight: int = 4
    whole_rows_max: int = 5_000
    answer_rows_max: int = 1_000_000
    answer_bytes_max: int = 256 << 20
    invalid_answers_max: int = 10

    def __post_init__(self) -> None:
        if self.failure not in FAILURES:
            raise ValueError(f"failure {self.failure!r}: one of {', '.join(FAILURES)}")
        limits = (self.answer_rows_max, self.answer_bytes_max, self.invalid_answers_max)
        if min(self.timeout_s, self.batch_keys, self.in_flight, *limits) <= 0:
            raise ValueError("time-outs, batches and limits are positive")

    @staticmethod
    def of(given: Source | PathLike) -> Source:
        """The source itself, or a location with everything else left at its default."""
        return given if isinstance(given, Source) else Source(os.fspath(given))

    @property
    def answers_kept_s(self) -> float:
        """Seconds for which answers of an endpoint are kept."""
        return ANSWERS_KEPT_S if self.refresh_s is None else self.refresh_s

    @property
    def remote(self) -> bool:
        """True for a SPARQL endpoint."""
        return self.location.lower().startswith(_REMOTE)


def how_endpoints_are_asked(source: Source) -> str:
    """In words, for `explain`."""
    batches = f"asked over HTTP for distinct keys, {source.batch_keys} a request or more, {source.in_flight} at a time"
    kept = f"answers are kept for {source.answers_kept_s:g} s"
    return f"is a SPARQL endpoint: {batches}; {kept}, and it may fail ({source.failure})"
