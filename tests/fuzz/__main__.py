"""Mutated and random inputs for every way in, in worker processes, until the end or without one.

    python -m tests.fuzz                                   without end, from a random seed
    python -m tests.fuzz --inputs 100000 --seed 7          so many inputs of each way in
    python -m tests.fuzz query calls --inputs 1000         of some ways in
    python -m tests.fuzz query --seed 7 --one 4711         one input again, in this process

An input must be used, or refused by an error that is meant for users: without a traceback, within the time and memory
of `worker`, and without a growth of memory from input to input. A worker that dies, hangs or grows is replaced. Each
finding is written to out/fuzz with its error; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import selectors
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from os import cpu_count
from pathlib import Path
from random import SystemRandom
from typing import Any

from tests.fuzz.target import Target
from tests.fuzz.targets import BY_NAME, TARGETS
from tests.fuzz.worker import READY, fed, input_of
from tests.fuzz.workers import GROWTH_MAX, Chunk, Worker

OUTPUT = Path("out") / "fuzz"
CHUNK_MAX = 200
"""Inputs of one request."""
TURN = 20_000
"""Inputs of a way in before the next has its turn, in a run without end."""
KEPT_MAX = 20
"""Findings of a way in that are written; more are counted."""


@dataclass(slots=True)
class Log:
    """What was fed and found so far, and the most by which a worker grew."""

    seed: int
    fed: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    grown: Counter[str] = field(default_factory=Counter)

    def keep(self, target: Target, number: int, error: str, data: bytes) -> None:
        """Writes a finding."""
        self.found[target.name] += 1
        if self.found[target.name] > KEPT_MAX:
            return
        OUTPUT.mkdir(parents=True, exist_ok=True)
        path = OUTPUT / f"{target.name}-{self.seed}-{number}"
        path.write_bytes(data)
        Path(f"{path}.error").write_text(error, encoding="utf-8", errors="backslashreplace")
        print(f"FOUND {path}: {error.strip().splitlines()[-1][:160]}", flush=True)

    def table(self) -> str:
        """A line for each target."""
        lines = [f"{'target':18}{'inputs':>10}{'cpu s':>10}{'ms each':>10}{'MiB grown':>11}{'found':>8}"]
        for target in TARGETS:
            name = target.name
            if self.fed[name]:
                lines.append(self._row(name, self.fed[name], self.seconds[name], self.found[name], self.grown[name]))
        whole = self.fed.total(), self.seconds.total(), self.found.total(), max(self.grown.values(), default=0)
        return "\n".join([*lines, self._row("all", *whole)])

    @staticmethod
    def _row(name: str, inputs: int, seconds: float, found: int, grown: int) -> str:
        each = 1000 * seconds / max(1, inputs)
        return f"{name:18}{inputs:>10,}{seconds:>10.1f}{each:>10.2f}{grown / (1 << 20):>11.1f}{found:>8}"


def chunks(targets: Sequence[Target], inputs: int) -> Iterator[Chunk]:
    """So many inputs of each target, one target after the other; without end, in turns, if `inputs` is 0."""
    for begin in count(0, TURN) if not inputs else (0,):
        for target in targets:
            stop = begin + (inputs or TURN)
            for first in range(begin, stop, CHUNK_MAX):
                yield Chunk(target.name, first, min(CHUNK_MAX, stop - first))


class Fuzzing:
    """Workers, their chunks and the log."""

    def __init__(self, seed: int, targets: Sequence[Target], inputs: int, folder: Path) -> None:
        self.log = Log(seed)
        self._folder = folder
        self._chunks = chunks(targets, inputs)
        self._unready: set[str] = set()
        self._selector = selectors.DefaultSelector()
        self._started = 0
        self._alive = 0

    def run(self, workers: int, report_every: float) -> None:
        """Until the chunks end."""
        for _ in range(workers):
            self._next(self._start())
        reported = time.monotonic()
        while self._alive:
            for key, _ in self._selector.select(timeout=5.0):
                self._answered(key.data)
            for key in list(self._selector.get_map().values()):
                worker: Worker = key.data
                worker.end_if_hung()
            if time.monotonic() - reported > report_every:
                print(self.log.table(), flush=True)
                reported = time.monotonic()

    def _start(self) -> Worker:
        self._started += 1
        worker = Worker.started(self._folder / str(self._started))
        self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        self._alive += 1
        return worker

    def _next(self, worker: Worker) -> None:
        chunk = next((each for each in self._chunks if each.target not in self._unready), None)
        if chunk is None:
            self._stop(worker)
        else:
            worker.ask(chunk, self.log.seed)

    def _stop(self, worker: Worker) -> None:
        self._selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
        worker.process.communicate()
        self._alive -= 1

    def _answered(self, worker: Worker) -> None:
        assert worker.chunk is not None and worker.process.stdout is not None
        chunk, line = worker.chunk, worker.process.stdout.readline()
        if not line:
            self._died(worker, chunk)
            return
        answer: dict[str, Any] = json.loads(line)
        self._enter(chunk, answer)
        grown = worker.took(chunk.size, answer["resident"])
        self.log.grown[chunk.target] = max(self.log.grown[chunk.target], grown)
        if grown > GROWTH_MAX:
            error = f"a worker grew by {grown >> 20} MiB to {answer['resident'] >> 20} MiB, at last by these inputs"
            self.log.keep(BY_NAME[chunk.target], chunk.first, error, b"")
            self._stop(worker)
            worker = self._start()
        self._next(worker)

    def _enter(self, chunk: Chunk, answer: dict[str, Any]) -> None:
        self.log.fed[chunk.target] += chunk.size
        self.log.seconds[chunk.target] += answer["seconds"]
        target = BY_NAME[chunk.target]
        for number, error in answer["found"]:
            self.log.keep(target, number, error, input_of(target, self.log.seed, number))
        self.log.found[chunk.target] += answer["count"] - len(answer["found"])

    def _died(self, worker: Worker, chunk: Chunk) -> None:
        """Keeps the input that ended the worker, and goes on behind it; a target that cannot be made ready is left."""
        number, target = worker.number, BY_NAME[chunk.target]
        self._stop(worker)
        fresh = self._start()
        if number == READY:
            self._unready.add(chunk.target)
            self.log.keep(target, chunk.first, f"{worker.ended()}, while it was made ready", b"")
            self._next(fresh)
            return
        self.log.keep(target, number, worker.ended(), input_of(target, self.log.seed, number))
        self.log.fed[target.name] += number - chunk.first + 1
        left = chunk.first + chunk.size - number - 1
        if left > 0:
            fresh.ask(Chunk(chunk.target, number + 1, left), self.log.seed)
        else:
            self._next(fresh)


def main() -> int:
    """Parses the options, runs, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="WAY-IN", help=f"of {', '.join(BY_NAME)} [all]")
    parser.add_argument("--inputs", type=int, default=0, metavar="N", help="of each; 0: without end [0]")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32), metavar="S")
    parser.add_argument("--one", type=int, metavar="K", help="only this input of the way in, in this process")
    parser.add_argument("--workers", type=int, default=cpu_count(), metavar="W", help="processes [one a core]")
    options = parser.parse_args()
    targets = [BY_NAME[name] for name in options.targets] or list(TARGETS)
    if options.one is not None:
        data = input_of(targets[0], options.seed, options.one)
        targets[0].ready()
        print(data.decode("utf-8", "backslashreplace"), fed(targets[0], data), sep="\n")
        return 0
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="spaseq-fuzz-") as folder:
        fuzzing = Fuzzing(options.seed, targets, options.inputs, Path(folder))
        with suppress(KeyboardInterrupt):
            fuzzing.run(options.workers, report_every=60.0)
    print(fuzzing.log.table())
    return 1 if fuzzing.log.found.total() else 0


if __name__ == "__main__":
    sys.exit(main())
