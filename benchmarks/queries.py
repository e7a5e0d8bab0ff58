"""Many queries over one stream: what 1, 10 and 100 of them cost, beside one, from a file and from columns of ids.

    windows     the patterns of SPAseq's Query 1, each query with a window and a sequence of its own
    triples     one query a house, the house written in the triples
    filters     one query a house, the house compared in a FILTER
    elsewhere   one query a house of a grid that these streams do not come from

Then what the summary of a batch saves (SPAseq Section 6.4): queries of houses here and elsewhere over batches of 1,000
events, every pattern asked of every batch or only those that the summary shows something for.

And what pushing saves: one query with a rare first step and an expensive second one of the same house, from columns of
ids, matching the second step everywhere or only where a run waits for the house.

Seconds are those of the processor: one thread works, and other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above benchmarks/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.build import build
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.inputs.streams import ReadOptions, open_stream
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.outputs.dead_letters import DeadLetters
from spaseq.runtime.embedded.network import Network

ROOT = Path(__file__).resolve().parents[1]
KB = "http://smartgrid.org/db"
_NAMING = ("triples", "elsewhere")
_PIECE = 1000
STREAMS = {"S1": "power", "S2": "weather", "S3": "storage"}
SEQUENCES = ("A; B+, C", "A; B, C", "A; B{2}, C", "A; B{1,2}, C")

_HOUSE = """PREFIX : <http://smartgrid.org/ns#>
SELECT ?fr1 ?fr2 WITHIN 30 MINUTES
FROM STREAM S1 <http://smartgrid.org/mainSource>
WHERE {{ SEQ(A; B)
  DEFINE GPM A ON S1 {{ {subject} :loc ?l ; :pow :Pw . :Pw :source "fuel" ; :fare ?fr1 . FILTER (?fr1 > 20) {test} }}
  DEFINE GPM B ON S1 {{ {subject} :loc ?l ; :pow :Pw . :Pw :source "solar" ; :fare ?fr2 . FILTER (?fr2 > 25) {test} }}
}}"""

_RARE_FIRST = """PREFIX : <http://smartgrid.org/ns#>
SELECT ?h ?fr1 ?fr2 WITHIN 10 MINUTES SLIDING
FROM STREAM S1 <http://smartgrid.org/mainSource>
WHERE { SEQ(A ; B)
  DEFINE GPM A ON S1 { ?h :loc :L3 ; :pow :Pw . :Pw :source "fuel" ; :fare ?fr1 . FILTER (?fr1 > 26) }
  DEFINE GPM B ON S1 { ?h :pow ?p . { ?p :source "solar" } UNION { ?p :source "wind" } ?h :pow/:fare ?fr2 .
    OPTIONAL { ?h :loc ?l . FILTER (REGEX(STR(?l), "L1")) } FILTER NOT EXISTS { ?p :source "fuel" } }
}"""


def windows(number: int) -> str:
    """Query 1 with the window and the sequence of this number."""
    text = (ROOT / "examples" / "smart_grid" / "query.rq").read_text(encoding="utf-8")
    text = text.replace("30 MINUTES", f"{10 + number} MINUTES")
    return text.replace("A; B+, C", SEQUENCES[number % len(SEQUENCES)])


def triples(number: int) -> str:
    """Two steps of one house."""
    return _HOUSE.format(subject=f":H{number}", test="")


def filters(number: int) -> str:
    """The same, the house in a filter."""
    return _HOUSE.format(subject="?h", test=f"FILTER (?h = :H{number})")


def elsewhere(number: int) -> str:
    """The same of a house that there is not."""
    return triples(100_000 + number)


KINDS: dict[str, Callable[[int], str]] = {
    "windows": windows,
    "triples": triples,
    "filters": filters,
    "elsewhere": elsewhere,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """So many queries of one kind: processor seconds from files to rows, and from columns of ids to rows."""

    kind: str
    queries: int
    matches: int
    whole_seconds: float
    ids_seconds: float


def measure(kind: str, count: int, folder: Path, runs: int) -> Measured:
    """The fastest of some runs."""
    queries = [parse(KINDS[kind](number), f"q{number}") for number in range(count)]
    whole, matches = min(_whole_way(queries, folder) for _ in range(runs))
    ids, found = min(_from_ids(queries, folder) for _ in range(runs))
    assert found == matches, (found, matches)
    return Measured(kind, count, matches, whole, ids)


def _paths(queries: Sequence[Query], folder: Path) -> dict[str, Path]:
    return {stream.iri: folder / f"{STREAMS[stream.name]}.nq" for stream in queries[0].streams}


def _knowledge(queries: Sequence[Query], folder: Path) -> dict[str, Path]:
    return {KB: folder / "kb.ttl"} if len(queries[0].streams) > 1 else {}


def _whole_way(queries: Sequence[Query], folder: Path) -> tuple[float, int]:
    """Files to rows; the queries are compiled before the clock starts."""
    job = Job(queries, _paths(queries, folder), _knowledge(queries, folder), RunOptions(compiled=False))
    started = time.process_time()
    for _ in job.rows():
        pass
    seconds = time.process_time() - started
    job.close()
    return seconds, job.statistics.matches


def _from_ids(
    queries: Sequence[Query], folder: Path, pushing: bool = True, summary: bool = True, piece: int | None = None
) -> tuple[float, int]:
    """Columns of ids to rows: what is left when nothing has to be read.

    piece   events handed over at a time; None: as they are read
    """
    dictionary = Dictionary()
    meanings = [build(query) for query in queries]
    setup = Setup(_knowledge(queries, folder), RunOptions(compiled=False), dictionary, meanings)
    network = Network(dictionary, 0)
    matches = [0]

    def on_rows(rows: Sequence[object]) -> None:
        matches[0] += len(rows)

    for meaning in meanings:
        operator = setup.operator(meaning)
        if not pushing:
            operator.patterns.solver.semi_joins = False
        if not summary:
            setup.pool.give_up_summary()
        network.add(operator, on_rows)
    pushes = _in_time({iri: _read(path, dictionary, piece) for iri, path in _paths(queries, folder).items()})
    started = time.process_time()
    for iri, batch in pushes:
        network.push(iri, batch)
    network.finish()
    seconds = time.process_time() - started
    setup.bases.close()
    return seconds, matches[0]


def _read(path: Path, dictionary: Dictionary, piece: int | None) -> list[EventBatch]:
    report, options = partial(DeadLetters(None, strict=True).malformed, path.stem), ReadOptions()
    if piece is not None:
        options = replace(options, batch_events=piece)
    return [read.events for read in open_stream(str(path), path.stem, dictionary, report, options)]


def summarised(folder: Path, count: int, runs: int) -> list[tuple[str, int, float]]:
    """(way, rows, seconds) of so many queries of houses that there are and that there are not, without and with it."""
    queries = [parse(KINDS[kind](number), f"{kind}{number}") for kind in _NAMING for number in range(count)]
    asked = min(_from_ids(queries, folder, summary=False, piece=_PIECE)[::-1] for _ in range(runs))
    touched = min(_from_ids(queries, folder, piece=_PIECE)[::-1] for _ in range(runs))
    assert asked[0] == touched[0], (asked, touched)
    return [("every batch", *asked), ("what the summary shows", *touched)]


def pushed(folder: Path, runs: int) -> list[tuple[str, int, float]]:
    """(way, rows, seconds) of a query with a rare first step, matched without and with pushing; the fastest runs."""
    queries = [parse(_RARE_FIRST, "rare")]
    everywhere = min(_from_ids(queries, folder, pushing=False) for _ in range(runs))
    joining = min(_from_ids(queries, folder) for _ in range(runs))
    assert everywhere[1] == joining[1], (everywhere, joining)
    return [("every event", everywhere[1], everywhere[0]), ("only what joins a run", joining[1], joining[0])]


def _in_time(streams: dict[str, list[EventBatch]]) -> list[tuple[str, EventBatch]]:
    """The batches of all streams by the time of their last event."""
    batches = [(iri, batch) for iri, some in streams.items() for batch in some]
    return sorted(batches, key=lambda pair: int(pair[1].times[-1]))


def table(measured: Sequence[Measured]) -> Table:
    """The figures as they are shown on a terminal; ratios are to one query of the kind."""
    shown = Table(title="many queries over one stream, one core")
    for heading in ("kind", "queries", "matches", "file to rows, s", "to one", "ids to rows, s", "to one"):
        shown.add_column(heading, justify="left" if heading == "kind" else "right")
    one = {m.kind: m for m in measured if m.queries == 1}
    for m in measured:
        base = one[m.kind]
        whole, ids = m.whole_seconds / base.whole_seconds, m.ids_seconds / base.ids_seconds
        figures = f"{m.whole_seconds:.3f}", f"{whole:.2f}×", f"{m.ids_seconds:.3f}", f"{ids:.2f}×"
        shown.add_row(m.kind, str(m.queries), f"{m.matches:,}", *figures)
    return shown


def saving_table(title: str, measured: Sequence[tuple[str, int, float]]) -> Table:
    """What is saved by matching patterns in fewer places, as it is shown on a terminal."""
    shown = Table(title=title)
    for heading in ("matched in", "matches", "ids to rows, s", "to the first"):
        shown.add_column(heading, justify="left" if heading == "matched in" else "right")
    for way, rows, seconds in measured:
        shown.add_row(way, f"{rows:,}", f"{seconds:.3f}", f"{seconds / measured[0][2]:.2f}×")
    return shown


def main() -> None:
    """Generate, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000, metavar="N", help="of the smart grid [100000]")
    parser.add_argument("--queries", type=int, nargs="+", default=[10, 100], metavar="Q", help="besides one [10 100]")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="of queries [all]")
    parser.add_argument("--summary", type=int, default=20, metavar="Q", help="with and without a summary [20]")
    parser.add_argument("--runs", type=int, default=3, metavar="K", help="runs of each; the fastest counts [3]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the generator [1]")
    options = parser.parse_args()
    measured: list[Measured] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_example(EXAMPLE, options.events, options.seed, folder)
        for kind in options.kinds:
            measured += [measure(kind, count, folder, options.runs) for count in (1, *options.queries)]
        summary = summarised(folder, options.summary, options.runs)
        ways = pushed(folder, options.runs)
    console = Console(width=shutil.get_terminal_size((120, 24)).columns)
    console.print(table(measured))
    console.print(saving_table("queries of houses, half of them elsewhere, in pieces of 1,000 events", summary))
    console.print(saving_table("a rare first step, then an expensive one", ways))


if __name__ == "__main__":
    main()
