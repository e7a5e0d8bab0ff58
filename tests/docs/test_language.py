"""The tables of the page about the language are what the engine gives, by every evaluator that applies.

An event is written `A1=5@p`: at second 1 there is `[] a :A ; :v 5 ; :at :p`; value and place may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spaseq
from spaseq.errors import SPAseqError

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
EVALUATORS = ("auto", "nfa", "cea", "lazy", "tree")
EVENT = re.compile(r"([A-Z])(\d+)(?:=(\d+))?(?:@(\w+))?$")
CLAUSES = "PREFIX : <http://x/> SELECT {selector}* WITHIN {window} {partition}FROM STREAM S <http://x/s> "
STEP = "DEFINE GPM {name} ON S {{ ?{small} a :{name}{place}}} "


def runs() -> Iterator[tuple[str, str, str, str]]:
    """Stream, clauses above the table, sequence and matches, for each row of a table of sequences."""
    stream = clauses = ""
    for line in PAGE.splitlines():
        over = re.match(r"Over `([^`]+)`(?:, `([^`]+)`)?", line)
        if over:
            stream, clauses = over[1], over[2] or ""
        row = re.match(r"\| `(.*SEQ\(.*)` \| (.*?) \|", line)
        if row:
            yield stream, clauses, row[1].replace("\\|", "|"), row[2]


def queries() -> Iterator[tuple[str, str, list[list[str]]]]:
    """Stream, query and rows of the table below, for each query that is printed in full."""
    pattern = r"```sparql\n((?:(?!```).*\n)+)```\n\nover `([^`]+)` gives\n\n((?:\|.*\n)+)"
    for query, stream, table in re.findall(pattern, PAGE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        yield stream, query, [rows[0], *rows[2:]]


def events_of(notation: str, path: Path) -> Path:
    """The stream as a file of TriG."""
    graphs = ["@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> ."]
    for word in notation.split():
        event = EVENT.match(word)
        assert event is not None, word
        kind, second, value, place = event.groups()
        more = (f" ; :v {value}" if value else "") + (f" ; :at :{place}" if place else "")
        graphs.append(
            f"<urn:{kind}{second}> prov:generatedAtTime {second} . <urn:{kind}{second}> {{ [] a :{kind}{more} }}"
        )
    path.write_text("\n".join(graphs), encoding="utf-8")
    return path


def query_of(clauses: str, sequence: str) -> str:
    """A query in which each step is an event of the kind of its name; it binds the place where there are partitions."""
    window = re.search(r"WITHIN (.*?)(?= PARTITION| SELECT| AFTER|$)", clauses)
    partition = "PARTITION BY ?place " if "PARTITION" in clauses else ""
    partition += using[0] if (using := re.search(r"USING \{.*?\} ?", clauses)) else ""
    selector, sequence, rest = re.match(r"(?:SELECT (\w+ ))?.*?(SEQ\(.*\))(.*)$", sequence).groups()  # type: ignore[union-attr]
    names = sorted(set(re.findall(r"\b[A-Z]\b", sequence)))
    place = "; :at ?place " if partition and not using else ""
    steps = "".join(STEP.format(name=name, small=name.lower(), place=place) for name in names)
    head = CLAUSES.format(selector=selector or "", window=window[1] if window else "1 HOUR", partition=partition)
    return f"{head}{{ {sequence} {steps}}}{rest}"


def answers(query: str, stream: Path) -> Iterator[list[spaseq.Row]]:
    """The rows by each evaluator that can run the query."""
    for evaluator in EVALUATORS:
        try:
            yield list(spaseq.run(spaseq.parse(query), streams={"S": str(stream)}, evaluator=evaluator))
        except SPAseqError as refused:
            if evaluator in ("auto", "nfa"):
                raise AssertionError(query) from refused


@pytest.mark.parametrize(("stream", "clauses", "sequence", "matches"), list(runs()))
def test_a_sequence_has_the_matches_that_its_row_says(
    stream: str, clauses: str, sequence: str, matches: str, tmp_path: Path
) -> None:
    path = events_of(stream, tmp_path / "S.trig")
    for rows in answers(query_of(clauses, sequence), path):
        found = [" ".join(name.removeprefix("urn:") for name in _in_order(row)) for row in rows]
        assert (" · ".join(found) or "none") == matches


@pytest.mark.parametrize(("stream", "query", "table"), list(queries()))
def test_a_query_gives_the_rows_below_it(stream: str, query: str, table: list[list[str]], tmp_path: Path) -> None:
    path = events_of(stream, tmp_path / "S.trig")
    for rows in answers(query, path):
        found = [
            [{f"?{name}": getattr(term, "lexical", "") for name, term in row.bindings}.get(v, "") for v in table[0]]
            for row in rows
        ]
        assert found == table[1:]


def test_every_table_of_the_page_is_run() -> None:
    heads = re.findall(r"(?m)^(\|.*)\n\|[-|]+\n", PAGE)
    sequences = [head for head in heads if head.startswith("| sequence | matches |")]
    answered = [head for head in heads if head.startswith("| ?")]
    assert len(sequences) + len(answered) == len(heads)
    assert len(list(runs())) == sum("SEQ(" in line for line in PAGE.splitlines() if line.startswith("|")) > 40
    assert len(list(queries())) == len(answered) == PAGE.count("```sparql") >= 7


def _in_order(row: spaseq.Row) -> list[str]:
    """The names of a match's events in the order of time; an event that serves two steps stands twice."""
    names = [name for _, events in row.events for name in events]
    return sorted(names, key=lambda name: int(re.sub(r"\D", "", name)))
