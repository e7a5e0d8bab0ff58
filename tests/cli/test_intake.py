"""`spaseq run` over events whose times stand elsewhere, or of which none can be used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main

EX = "http://ex.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
AT = "http://www.w3.org/ns/sosa/resultTime"
PROV = "http://www.w3.org/ns/prov#generatedAtTime"
QUERY = """PREFIX : <http://ex.org/> PREFIX sosa: <http://www.w3.org/ns/sosa/>
SELECT ?x ?y WITHIN 1000 SECONDS FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ(A ; B) DEFINE GPM A ON S1 { ?a a :A ; :v ?x } DEFINE GPM B ON S1 { ?b a :B ; :v ?y } }
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Result]:
    """A run of the query over a text, with options."""
    query = tmp_path / "pairs.rq"
    query.write_text(QUERY)

    def run_over(text: str, *options: str, name: str = "in.nq") -> Result:
        path = tmp_path / name
        path.write_text(text)
        return CliRunner().invoke(main, ["run", str(query), "--stream", f"S1={path}", "--format", "csv", *options])

    return run_over


def inside(name: str, kind: str, value: int, *times: str, predicate: str = AT) -> str:
    """An event whose times are inside its graph."""
    stated = "".join(f'<urn:o> <{predicate}> "{time}"^^<{XSD}dateTime> <{name}> .\n' for time in times)
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    return f'{stated}_:b <{rdf_type}> <{EX}{kind}> <{name}> .\n_:b <{EX}v> "{value}" <{name}> .\n'


FIRST, SECOND, THIRD = (f"2026-01-01T00:00:0{n}Z" for n in (1, 2, 3))
PAIR = inside("urn:e1", "A", 1, FIRST) + inside("urn:e2", "B", 2, SECOND)


@pytest.mark.parametrize("predicate", [AT, f"<{AT}>", "sosa:resultTime"])
def test_a_property_inside_the_graph_gives_the_time(run: Callable[..., Result], predicate: str) -> None:
    result = run(PAIR, "--time-predicate", predicate)
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2


def test_a_path_of_prefixed_names_gives_the_time(run: Callable[..., Result]) -> None:
    hop = "".join(f"<urn:x> <http://ex.org/at> <urn:o> <urn:e{n}> .\n" for n in (1, 2)).splitlines(keepends=True)
    text = hop[0] + inside("urn:e1", "A", 1, FIRST) + hop[1] + inside("urn:e2", "B", 2, SECOND)
    result = run(text, "--time-predicate", ":at/sosa:resultTime")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2), result.stderr


def test_a_choice_is_made_among_several_times(run: Callable[..., Result]) -> None:
    text = inside("urn:e1", "A", 1, FIRST, THIRD) + inside("urn:e2", "B", 2, SECOND)
    options = ["--time-predicate", AT]
    assert len(run(text, *options, "--time-choice", "earliest").stdout.splitlines()) == 2
    assert len(run(text, *options, "--time-choice", "latest").stdout.splitlines()) == 1
    assert "1 two timestamps" in run(text, *options).stderr


def test_a_stream_whose_events_have_no_time_fails_and_names_what_they_have(run: Callable[..., Result]) -> None:
    result = run(PAIR)
    assert result.exit_code == 1
    assert f"graph <urn:e1> has no timestamp, but dateTime values of <{AT}>" in result.stderr
    assert "hint: --time-predicate names the property" in result.stderr


def test_a_stream_whose_graphs_are_all_reopened_fails_and_says_how_to_sort_it(run: Callable[..., Result]) -> None:
    lines = [
        inside(f"urn:e{n}", kind, n, time, predicate=PROV) for n, kind, time in ((1, "A", FIRST), (2, "B", SECOND))
    ]
    times = "".join(f'<urn:e{n}> <{PROV}> "{time}"^^<{XSD}dateTime> .\n' for n, time in ((1, FIRST), (2, SECOND)))
    result = run(times + "".join(lines))
    assert result.exit_code == 1
    assert "reopened" in result.stderr and "--unordered does so on the way" in result.stderr


def test_a_stream_of_one_malformed_event_is_no_failure(run: Callable[..., Result]) -> None:
    assert run(inside("urn:e1", "A", 1)).exit_code == 0


def test_one_lost_event_among_others_is_no_failure(run: Callable[..., Result]) -> None:
    result = run(PAIR + inside("urn:e3", "B", 3), "--time-predicate", AT)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2)
