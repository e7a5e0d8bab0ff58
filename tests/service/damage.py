"""Damage to the data folder of a service, drawn over every file and region of it: `python -m tests.service.damage`.

    python -m tests.service.damage --draws 10000 --seed 1
    python -m tests.service.damage --draws 100 --served          each in a process of its own, asked over HTTP

A damaged folder is opened. Then the service has the same rows as before, or it refuses to start and names the file or
the records, or it says in the place of a row, or of a query, that it is damaged. Never another row, never an accepted
event gone in silence. Some of what was refused is repaired, and starts then. The table has the outcomes by kind of
damage: `found again` are rows that the damage has lost and the service has found again in the log, `not noticed` is
what nothing reads.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from os import cpu_count
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, TypeAlias
from unittest.mock import patch
from zlib import crc32

import httpx2

from spaseq.errors import RunError
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.log import segmented
from spaseq.service.maintenance.check import check, held
from spaseq.service.maintenance.findings import Findings
from spaseq.service.maintenance.repair import repair
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.store.damage import is_in_a_place
from tests.service.damaging import KINDS, OTHERS, damage
from tests.service.listening import address_said
from tests.states.release import EVENTS, KNOWING, KNOWLEDGE, KNOWN, QUERIES, STREAMS, Event, bodies
from tests.waiting import PATIENCE_S, waited

NAMES = ("made", "reads", "chain", "negated", "two", "counted")
SEGMENT_BYTES = 6_000
"""Small: a folder has several segments."""
BODY_EVENTS = 5
DAMAGED = r"service\.sqlite|log|kb/"
"""What an error of a damaged folder names."""
MALFORMED = b"<urn:a> <urn:b> .\n"
_ROWS = 10**6
REPAIRED_EVERY = 4
"""Of so many draws one is repaired if it is refused."""
UNREAD_PART = 0.05
"""Of the draws, those that may damage what nothing reads."""
Shown: TypeAlias = dict[str, Any]


class Wrong(Exception):
    """A damaged folder gave something that it must not give."""


def opened(folder: Path) -> Service:
    """A service at work; RunError."""
    with patch.object(segmented, "SEGMENT_BYTES", SEGMENT_BYTES):
        return Service.open(folder, Limits())


def declare(service: Service, folder: Path) -> None:
    """Declare streams, a knowledge base and queries."""
    for name, iri in STREAMS.items():
        service.put_stream(name, StreamSettings(iri, max_delay="3s"))
    path = folder / "known.nt"
    path.write_text(KNOWLEDGE)
    service.put_kb("known", KnowledgeSettings(KNOWN, path=str(path)))
    for name in NAMES:
        service.put_query(name, QueryChanges(QUERIES[name]))
    service.put_query("knowing", QueryChanges(KNOWING["knowing"]))


def push(service: Service, events: Sequence[Event]) -> None:
    """Push events, some at a time, and one that is malformed."""
    for begin in range(0, len(events), BODY_EVENTS):
        for stream, body in bodies(tuple(events[begin : begin + BODY_EVENTS])):
            service.accept(stream, body + MALFORMED, "nquads", str(crc32(body)))


def shown(service: Service) -> Shown:
    """What can be asked of a service, when it has read all."""
    service.settled()
    queries = service.queries()
    return {
        "queries": {
            each["name"]: (each["text"], each["state"], (each["error"] or {}).get("detail")) for each in queries
        },
        "rows": {each["name"]: service.rows(each["name"], 0, _ROWS) for each in queries},
        "letters": service.dead_letters(0, _ROWS),
        "streams": [
            {key: each[key] for key in ("name", "events", "late", "malformed", "duplicates", "watermark", "position")}
            for each in service.streams()
            if "events" in each
        ],
        "kbs": service.kbs(),
    }


@dataclass(frozen=True, slots=True)
class Base:
    """A folder that is damaged, and what a service over it shows.

    folder          as the service has left it
    others          `older` as it was before, and that of a `foreign` service
    end             the number of the last record of which there are rows
    before, after   what the service shows at its start, and when it has read the rest of the events
    """

    folder: Path
    others: Mapping[str, Path]
    end: int
    before: Shown
    after: Shown


def bases(folder: Path, dice: Random) -> list[Base]:
    """The folder of a service that was ended, and that of one that was killed."""
    third = len(EVENTS) // 3
    service = opened(running := folder / "running")
    declare(service, folder)
    push(service, EVENTS[:third])
    service.close()
    shutil.copytree(running, folder / "older")
    service = opened(running)
    push(service, EVENTS[third : 3 * third // 2])
    service.snapshot()
    push(service, EVENTS[3 * third // 2 : 2 * third])
    service.settled()
    shutil.copytree(running, folder / "killed")
    service.close()
    running.rename(folder / "clean")
    other = opened(folder / "foreign")
    declare(other, folder)
    push(other, dice.sample(EVENTS[: 2 * third], third))
    other.close()
    found = []
    for name in ("clean", "killed"):
        shutil.copytree(folder / name, twin := folder / f"{name}-twin")
        _, end = _found(twin)
        found.append(Base(folder / name, {each: folder / each for each in OTHERS}, end, *_asked(twin)))
    return found


def _asked(folder: Path) -> tuple[Shown, Shown]:
    """What a service over a folder shows, before and after the rest of the events; RunError."""
    service = opened(folder)
    try:
        before = shown(service)
        for name in NAMES:
            before[f"replay of {name}"] = _replayed(service, name)
        push(service, EVENTS[2 * len(EVENTS) // 3 :])
        return before, shown(service)
    finally:
        service.close()


def _replayed(service: Service, name: str) -> list[str]:
    return list(service.retained.replay(name, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"))


# --- outcomes ----------------------------------------------------------------------------------------


def outcome(folder: Path, base: Base, repaired: bool) -> str:
    """What a service over a damaged folder does; if it refuses, the folder may be `repaired`. Raises Wrong."""
    noticed, end = _found(folder)
    try:
        before, after = _asked(folder)
    except RunError as error:
        if not re.search(DAMAGED, error.message):
            raise Wrong(f"it is not said what is damaged: {error.message}") from error
        if repaired:
            _check_repaired(folder)
        return "refused"
    except Refused as refused:
        if "damaged" not in refused.detail:
            raise
        return "said in an answer"
    found = {_compared(before, base.before), _compared(after, base.after)}
    if "said in its place" in found:
        return "said in its place"
    if noticed:
        return "same rows"
    return "found again" if end < base.end else "not noticed"


def served_outcome(folder: Path, base: Base) -> str:
    """What `spaseq serve` does over a damaged folder; raises Wrong."""
    command = [sys.executable, "-m", "spaseq.cli", "serve", "--data", str(folder), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address, said = address_said(process)
        if not address:
            if process.wait() != 1 or "Traceback" in said or not re.search(DAMAGED, said):
                raise Wrong(f"exit code {process.returncode}: {said}")
            return "refused"
        reading = Thread(target=process.stderr.read)
        reading.start()
        try:
            with httpx2.Client(base_url=address, timeout=PATIENCE_S) as client:
                found = {name: _served(client, name) for name in base.before["rows"]}
        finally:
            process.terminate()
            reading.join()
    if process.returncode:
        raise Wrong(f"exit code {process.returncode} after SIGTERM")
    failed, behind = _failed({name: error for name, (error, _) in found.items()})
    if others := {name: error for name, (error, _) in found.items() if error and name not in failed}:
        raise Wrong(str(others))
    places = sum(_same(name, rows, base.before["rows"][name], name in behind) for name, (_, rows) in found.items())
    return "said in its place" if failed or places else "same rows"


def _served(client: httpx2.Client, name: str) -> tuple[str, list[tuple[int, str]]]:
    """The error of a query, if it has failed, and its rows."""
    waited(lambda: client.get("/readyz").status_code == 200)
    answer = client.get(f"/v1/queries/{name}/matches", params={"after": 0})
    query = client.get(f"/v1/queries/{name}").json()
    if answer.status_code != 200:
        raise Wrong(f"{name}: {answer.status_code} {answer.text}")
    rows = [(json.loads(line)["n"], line) for line in answer.text.splitlines()]
    return query["error"]["detail"] if query["state"] == "failed" else "", rows


def _failed(errors: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """The queries whose errors say that something of theirs is damaged, and these and those that read them."""
    failed = {name for name, error in errors.items() if re.search("damaged|cannot be read", error)}
    return failed, failed | ({"reads"} if "made" in failed else set())


def _compared(found: Shown, expected: Shown) -> str:
    failed, behind = _failed({name: error for name, (_, state, error) in found["queries"].items() if state == "failed"})
    places = 0
    for key, value in expected.items():
        if key == "queries":
            same = {name: each for name, each in found[key].items() if name not in failed}
            if same != {name: each for name, each in value.items() if name not in failed}:
                raise Wrong(f"queries: {found[key]}, not {value}")
        elif key == "rows":
            for name, rows in value.items():
                places += _same(name, found[key][name], rows, name in behind)
        elif key == "letters":
            places += _same(key, list(enumerate(found[key])), list(enumerate(value)), False)
        elif found[key] != value:
            raise Wrong(f"{key}: {found[key]}, not {value}")
    return "said in its place" if failed or places else "same"


def _same(name: str, found: Sequence[tuple[int, str]], expected: Sequence[tuple[int, str]], behind: bool) -> int:
    """How many lines say that they are damaged; raises Wrong if another one is not as it was; `behind`: some lack."""
    expected = expected[: len(found)] if behind else expected
    if [n for n, _ in found] != [n for n, _ in expected]:
        raise Wrong(f"{name}: lines {[n for n, _ in found]}, not {[n for n, _ in expected]}")
    others = [(one, other) for one, other in zip(found, expected, strict=True) if one != other]
    if wrong := [pair for pair in others if not is_in_a_place(pair[0][1])]:
        raise Wrong(f"{name}: {wrong[0][0]}, not {wrong[0][1]}")
    return len(others)


def _found(folder: Path) -> tuple[bool, int]:
    """Whether a check finds something, and the number of the last record of which there are rows."""
    with held(folder):
        checked = check(folder, Findings())
    return bool(checked.findings.wrong), max((place.number for place in checked.database.places), default=0)


def _check_repaired(folder: Path) -> None:
    """A folder that is refused is repaired, is sound then, and a service starts with it."""
    with held(folder):
        checked = check(folder, Findings())
        if not checked.findings.wrong:
            raise Wrong("it is refused, and check finds nothing")
        repair(checked)
        if wrong := check(folder, Findings()).findings.wrong:
            raise Wrong(f"after a repair: {'; '.join(map(str, wrong))}")
    service = opened(folder)
    try:
        shown(service)
    finally:
        service.close()


# --- draws --------------------------------------------------------------------------------------------


def drawn(seed: int, number: int, some: Sequence[Base], scratch: Path, served: bool = False) -> tuple[str, str]:
    """The kind of damage and the outcome of a draw; ("", "") if it damages nothing. Raises Wrong."""
    dice = Random(f"{seed} {number}")
    base, kind = dice.choice(some), dice.choice(KINDS)
    folder = scratch / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base.folder, folder)
    what = damage(folder, base.others, kind, dice)
    if not what:
        return "", ""
    try:
        return kind, served_outcome(folder, base) if served else outcome(folder, base, number % REPAIRED_EVERY == 0)
    except Exception as error:
        raise Wrong(f"draw {number}, {base.folder.name}, {what}: {type(error).__name__}: {error}") from error


@contextmanager
def prepared(seed: int) -> Iterator[tuple[list[Base], Path]]:
    """Bases, and a folder for what is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        yield bases(Path(folder), Random(seed)), Path(folder)


def draws(seed: int, served: bool, first: int, last: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Outcomes of the draws from one number to before another, and what was wrong."""
    logging.disable(logging.CRITICAL)
    found, wrong = Counter[tuple[str, str]](), list[str]()
    with prepared(seed) as (some, scratch):
        for number in range(first, last):
            try:
                found[drawn(seed, number, some, scratch, served)] += 1
            except Wrong as error:
                wrong.append(str(error))
    return found, wrong


def main() -> int:
    """Draw what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--served", action="store_true")
    parser.add_argument("--processes", type=int, default=cpu_count())
    given = parser.parse_args()
    bounds = [given.draws * each // given.processes for each in range(given.processes + 1)]
    found, wrong = Counter[tuple[str, str]](), list[str]()
    parts = [(given.seed, given.served, first, last) for first, last in pairwise(bounds)]
    with ProcessPoolExecutor(given.processes) as pool:
        for counts, errors in pool.map(draws, *zip(*parts, strict=True)):
            found += counts
            wrong += errors
    del found["", ""]
    outcomes = sorted({each for _, each in found})
    print(f"{'':10} {' '.join(f'{each:>18}' for each in outcomes)}")
    for kind in KINDS:
        print(f"{kind:10} {' '.join(f'{found[kind, each]:18,}' for each in outcomes)}")
    unread = sum(count for (_, each), count in found.items() if each == "not noticed") / max(1, found.total())
    print(f"{found.total():,} draws that damage something; {unread:.1%} where nothing reads; {len(wrong)} wrong")
    print("\n".join(wrong[:20]))
    return 1 if wrong or unread > UNREAD_PART else 0


if __name__ == "__main__":
    sys.exit(main())
