"""An engine that is restored again and again, beside its twin that never is."""

from __future__ import annotations

import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from spaseq.engine.live import Engine
from spaseq.errors import InputError, RunError
from spaseq.outputs.rows import Row, to_json
from tests.simulation.drawn_events import drawn_knowledge
from tests.simulation.engine_steps import Live, Open, Request, Restore, Snapshot, Step
from tests.simulation.history import Different, plain
from tests.strategies.knowledge import DB
from tests.strategies.sequence import SeededDice
from tests.strategies.stream import SECOND

BEGIN = Open(history=True, max_delay_s=2)
_KNOWLEDGE_SEED = 1


class EngineTrial:
    """See `Trial`.

    counts  of steps, events, rows and restores
    """

    def __init__(self, folder: Path) -> None:
        knowledge = folder / "knowledge.nt"
        knowledge.write_text(drawn_knowledge(SeededDice(Random(_KNOWLEDGE_SEED))))
        self._kb = {DB: str(knowledge)}
        self.counts: Counter[str] = Counter()
        self._found: list[str] = []
        self._expected: list[str] = []
        self._begin(BEGIN)

    def take(self, step: Step) -> None:
        """Take a step and compare; raises Different."""
        self.counts["steps"] += 1
        try:
            self._take(step)
            self._compare()
        except Different:
            raise
        except Exception as error:
            raise Different(type(error).__name__, "".join(traceback.format_exception(error))) from error

    def check_batch(self) -> None:
        """Nothing: an engine is compared with batches elsewhere, in `tests.pairs`."""

    def close(self) -> None:
        """End."""
        for live in (self._under, self._twin):
            live.engine.close(flush=False)

    def _begin(self, step: Open) -> None:
        def opened(rows: list[str]) -> Live:
            return Live(Engine(self._kb, history=step.history, max_delay_ns=step.max_delay_s * SECOND), _into(rows))

        self._under, self._twin = opened(self._found), opened(self._expected)

    def _take(self, step: Step) -> None:
        match step:
            case Open():
                self.close()
                self._begin(step)
            case Snapshot():
                self._under.engine.snapshot()
            case Restore():
                self.counts["restores"] += 1
                snapshot = self._under.engine.snapshot()
                self._under.engine.close(flush=False)
                on_match = self._under.on_match
                restored = Engine.restore(snapshot, self._kb, on_match=on_match)
                self._under = Live(restored, on_match)
            case _:
                before = self._twin.engine.statistics.events
                found, expected = _said(step, self._under), _said(step, self._twin)
                self.counts["events"] += self._twin.engine.statistics.events - before
                if found != expected:
                    raise Different("answer", f"{found}, not {expected}")

    def _compare(self) -> None:
        for one, other in zip(self._found, self._expected, strict=False):
            if plain(one) != plain(other):
                raise Different("rows", f"{one}, not {other}")
        if len(self._found) != len(self._expected):
            raise Different("rows", f"{len(self._found)}, not {len(self._expected)}: {self._found or self._expected}")
        self.counts["rows"] += len(self._found)
        self._found.clear()
        self._expected.clear()
        found, expected = _shown(self._under.engine), _shown(self._twin.engine)
        for what, value in expected.items():
            if found[what] != value:
                raise Different(what, f"{found[what]}, not {value}")


@contextmanager
def engine_trial() -> Iterator[EngineTrial]:
    """A trial with a knowledge base of its own."""
    with tempfile.TemporaryDirectory() as folder:
        trial = EngineTrial(Path(folder))
        try:
            yield trial
        finally:
            trial.close()


def _into(rows: list[str]) -> Any:
    def take(row: Row) -> None:
        rows.append(to_json(row))

    return take


def _said(request: Request, live: Live) -> str:
    """The refusal of a request in words, or "" ."""
    try:
        request.ask(live)
    except (InputError, RunError, KeyError) as error:
        return repr(error)
    return ""


def _shown(engine: Engine) -> dict[str, Any]:
    """What is compared of an engine."""
    statistics = engine.statistics
    queries = [(each.name, each.matches, each.paused, each.stopped) for each in engine.registrations]
    counts = statistics.events, statistics.matches, sorted(statistics.dead_letters.items())
    return {"queries": queries, "statistics": counts, "streams": engine.pushed_streams()}
