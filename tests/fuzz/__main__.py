"""Mutated and random inputs for every way in, in worker processes, until the end or without one.

    python -m tests.fuzz                                   without end, from a random seed
    python -m tests.fuzz --inputs 1000000 --seed 7         so many inputs in all
    python -m tests.fuzz query calls --inputs 1000         some ways in
    python -m tests.fuzz query --seed 7 --one 4711         one input again, in this process

An input must be used, or refused by an error that is meant for users: without a traceback, within the time and memory
of `worker`, and without a growth of memory from input to input. A worker that dies, hangs or grows is replaced. Each
finding is written to out/fuzz with its error; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import selectors
import subprocess
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

from tests.fuzz.targets import BY_NAME, TARGETS, Target
from tests.fuzz.worker import fed, input_of

OUTPUT = Path("out") / "fuzz"
CHUNK_MAX = 200
"""Inputs of one request; fewer where few are fed in all."""
SILENT_SECONDS_MAX = 300.0
"""Wall time without an answer after which a worker is killed: its input hangs outside Python."""
WARM_CHUNKS = 40
"""Chunks before a worker's memory is taken as its base."""
GROWTH_MAX = 400 << 20
"""Bytes by which a worker may grow after that: caches that have a bound of their own."""
KEPT_MAX = 200
"""Findings that are written; more are counted."""


@dataclass(slots=True)
class Worker:
    """One process, and the chunk that it works at."""

    process: subprocess.Popen[str]
    place: Path
    chunk: tuple[str, int, int] | None = None
    asked_at: float = 0.0
    chunks: int = 0
    base: int = 0

    def ask(self, chunk: tuple[str, int, int], seed: int) -> None:
        """Sends a chunk: target, first number, count."""
        self.chunk, self.asked_at = chunk, time.monotonic()
        name, first, inputs = chunk
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name} {seed} {first} {inputs}\n")
        self.process.stdin.flush()

    def number(self) -> int:
        """The input that it takes, or took when it died."""
        return int.from_bytes(self.place.read_bytes()[:8], "big")

    def grown(self, resident: int) -> bool:
        """True if its memory has grown by more than GROWTH_MAX since it was warm."""
        self.chunks += 1
        if self.chunks == WARM_CHUNKS:
            self.base = resident
        return self.chunks > WARM_CHUNKS and resident - self.base > GROWTH_MAX


@dataclass(slots=True)
class Log:
    """What was fed and found so far."""

    seed: int
    fed: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def keep(self, target: Target, number: int, error: str) -> None:
        """Writes a finding."""
        self.found[target.name] += 1
        if self.found.total() > KEPT_MAX:
            return
        OUTPUT.mkdir(parents=True, exist_ok=True)
        path = OUTPUT / f"{target.name}-{self.seed}-{number}"
        path.write_bytes(input_of(target, self.seed, number))
        path.with_suffix(".error").write_text(error, encoding="utf-8", errors="backslashreplace")
        print(f"FOUND {path}: {error.strip().splitlines()[-1][:160]}", flush=True)

    def table(self) -> str:
        """A line for each target."""
        lines = [f"{'target':18}{'inputs':>10}{'cpu s':>10}{'found':>8}"]
        for target in TARGETS:
            name = target.name
            if self.fed[name]:
                lines.append(f"{name:18}{self.fed[name]:>10,}{self.seconds[name]:>10.1f}{self.found[name]:>8}")
        total = f"{'all':18}{self.fed.total():>10,}{self.seconds.total():>10.1f}{self.found.total():>8}"
        return "\n".join([*lines, total])


def chunks(targets: Sequence[Target], inputs: int) -> Iterator[tuple[str, int, int]]:
    """The targets in turn, each by its share; without end if `inputs` is 0."""
    shares = sum(target.share for target in targets)
    fed = dict.fromkeys((target.name for target in targets), 0)
    whole = min(CHUNK_MAX, inputs // 100 + 1) if inputs else CHUNK_MAX
    for done in count(0, whole):
        size = min(whole, inputs - done) if inputs else whole
        if size <= 0:
            return
        due = {target.name: target.share * (done + whole) / shares for target in targets}
        target = max(targets, key=lambda target: due[target.name] - fed[target.name])
        yield target.name, fed[target.name], size
        fed[target.name] += size


class Fuzzing:
    """Workers, their chunks and the log."""

    def __init__(self, seed: int, targets: Sequence[Target], inputs: int, folder: Path) -> None:
        self.log = Log(seed)
        self._folder = folder
        self._chunks = chunks(targets, inputs)
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
                if time.monotonic() - worker.asked_at > SILENT_SECONDS_MAX:
                    worker.process.kill()
            if time.monotonic() - reported > report_every:
                print(self.log.table(), flush=True)
                reported = time.monotonic()

    def _start(self) -> Worker:
        self._started += 1
        place = self._folder / str(self._started)
        place.write_bytes(bytes(8))
        command = [sys.executable, "-m", "tests.fuzz.worker", str(place)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        worker = Worker(process, place)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]
        self._alive += 1
        return worker

    def _next(self, worker: Worker) -> None:
        chunk = next(self._chunks, None)
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
        name, first, size = worker.chunk
        line = worker.process.stdout.readline()
        if not line:
            self._died(worker, BY_NAME[name], first, size)
            return
        answer: dict[str, Any] = json.loads(line)
        self.log.fed[name] += size
        self.log.seconds[name] += answer["seconds"]
        for number, error in answer["found"]:
            self.log.keep(BY_NAME[name], number, error)
        if worker.grown(answer["resident"]):
            error = f"a worker grew from {worker.base >> 20} to {answer['resident'] >> 20} MiB"
            self.log.keep(BY_NAME[name], first, error)
            self._stop(worker)
            worker = self._start()
        self._next(worker)

    def _died(self, worker: Worker, target: Target, first: int, size: int) -> None:
        """Keeps the input that ended the worker, and goes on behind it."""
        number = max(worker.number(), first)
        self._stop(worker)
        self.log.keep(target, number, f"the worker ended with {worker.process.returncode}")
        self.log.fed[target.name] += number - first + 1
        fresh = self._start()
        left = first + size - number - 1
        if left > 0:
            fresh.ask((target.name, number + 1, left), self.log.seed)
        else:
            self._next(fresh)


def main() -> int:
    """Parses the options, runs, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="WAY-IN", help=f"of {', '.join(BY_NAME)} [all]")
    parser.add_argument("--inputs", type=int, default=0, metavar="N", help="in all; 0: without end [0]")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32), metavar="S")
    parser.add_argument("--one", type=int, metavar="K", help="only this input of the way in, in this process")
    parser.add_argument("--workers", type=int, default=cpu_count(), metavar="W", help="processes [one a core]")
    options = parser.parse_args()
    targets = [BY_NAME[name] for name in options.targets] or list(TARGETS)
    if options.one is not None:
        data = input_of(targets[0], options.seed, options.one)
        print(data.decode("utf-8", "backslashreplace"), fed(targets[0], data), sep="\n")
        return 0
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="spaseq-fuzz-") as folder:
        fuzzing = Fuzzing(options.seed, targets, options.inputs, Path(folder))
        with suppress(KeyboardInterrupt):
            fuzzing.run(options.workers, report_every=60.0)
    print(fuzzing.log.table())
    return 1 if fuzzing.log.found else 0


if __name__ == "__main__":
    sys.exit(main())
