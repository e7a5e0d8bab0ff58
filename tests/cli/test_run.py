"""`spaseq run` and `spaseq explain` with the real engine."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
EX = "http://ex.org/"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
SELECT = """PREFIX : <http://ex.org/>
SELECT ?x ?y
WITHIN 1000 SECONDS
FROM STREAM S1 <http://ex.org/s1>
WHERE {
  SEQ(A : B)
  DEFINE GPM A ON S1 { ?a a :A ; :v ?x }
  DEFINE GPM B ON S1 { ?b a :B ; :v ?y FILTER (BOUND(?x)) }
}
"""
CONSTRUCT = SELECT.replace("SELECT ?x ?y", "CONSTRUCT { :pair :first ?x ; :second ?y }")
PAIRS = """PREFIX : <http://ex.org/>
SELECT ?y
WITHIN 1000 SECONDS
FROM STREAM Pairs <http://ex.org/pairs>
WHERE { SEQ(P) DEFINE GPM P ON Pairs { :pair :second ?y } }
"""
LINE = (
    '{"query": "pairs", "time": "2026-01-01T00:00:02Z", "start": "2026-01-01T00:00:01Z", "bindings": {'
    f'"x": {{"type": "literal", "value": "1", "datatype": "{INTEGER}"}}, '
    f'"y": {{"type": "literal", "value": "2", "datatype": "{INTEGER}"}}}}, '
    '"events": {"A": ["urn:e1"], "B": ["urn:e2"]}}\n'
)


def event(name: str, second: int, kind: str, value: int, predicate: str = STAMP) -> str:
    """One event in N-Quads."""
    time = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
    return (
        f'<{name}> <{predicate}> "{time}"^^<{DATE_TIME}> .\n'
        f"_:b <{RDF_TYPE}> <{EX}{kind}> <{name}> .\n"
        f'_:b <{EX}v> "{value}"^^<{INTEGER}> <{name}> .\n'
    )


TWO_EVENTS = event("urn:e1", 1, "A", 1) + event("urn:e2", 2, "B", 2)
LATE = TWO_EVENTS + event("urn:late", 1, "B", 3)


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def spaseq(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "spaseq.cli", *map(str, arguments)]


@pytest.fixture
def query(tmp_path: Path) -> Path:
    return file(tmp_path, "pairs.rq", SELECT)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return file(tmp_path, "events.nq", TWO_EVENTS)


def test_ndjson_row_is_the_line_of_the_interface(query: Path, events: Path) -> None:
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson")
    assert (result.exit_code, result.stdout, result.stderr) == (0, LINE, "")


def test_stream_is_given_by_its_iri_too(query: Path, events: Path) -> None:
    assert spaseq("run", query, "--stream", f"{EX}s1={events}", "--format", "ndjson").stdout == LINE


def test_table_is_the_default_format(query: Path, events: Path) -> None:
    result = spaseq("run", query, "--stream", f"S1={events}")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "time                  start                 ?x  ?y  A       B",
        "────────────────────  ────────────────────  ──  ──  ──────  ──────",
        "2026-01-01T00:00:02Z  2026-01-01T00:00:01Z  1   2   urn:e1  urn:e2",
    ]


def test_csv_of_two_queries_has_one_header(tmp_path: Path, query: Path, events: Path) -> None:
    graph = file(tmp_path, "graph.rq", CONSTRUCT)
    result = spaseq("run", query, graph, "--stream", f"S1={events}", "--format", "csv")
    records = list(csv.DictReader(io.StringIO(result.stdout, newline="")))
    assert result.exit_code == 0
    assert list(records[0]) == ["query", "time", "start", "graph", "triples", "x", "y", "events.A", "events.B"]
    by_query = {record["query"]: record for record in records}
    assert (by_query["pairs"]["x"], by_query["pairs"]["graph"]) == ("1", "")
    assert by_query["graph"]["triples"].splitlines() == [
        f'<{EX}pair> <{EX}first> "1"^^<{INTEGER}> .',
        f'<{EX}pair> <{EX}second> "2"^^<{INTEGER}> .',
    ]


def test_constructed_graphs_written_as_trig_are_a_stream_for_the_next_run(tmp_path: Path, events: Path) -> None:
    graph, second = file(tmp_path, "graph.rq", CONSTRUCT), file(tmp_path, "second.rq", PAIRS)
    derived = tmp_path / "derived.trig"
    first_run = spaseq("run", graph, "--stream", f"S1={events}", "--format", "trig", "--output", derived)
    assert (first_run.exit_code, first_run.output) == (0, "")
    result = spaseq("run", second, "--stream", f"Pairs={derived}", "--format", "ndjson")
    row = json.loads(result.stdout)
    assert (row["time"], row["bindings"]["y"]["value"]) == ("2026-01-01T00:00:02Z", "2")
    assert result.stderr == ""


def test_selected_rows_written_as_trig_are_a_stream_for_the_next_run(tmp_path: Path, query: Path, events: Path) -> None:
    second = file(tmp_path, "second.rq", PAIRS.replace(":pair :second", "?m <urn:spaseq:variable:y>"))
    derived = tmp_path / "derived.trig"
    spaseq("run", query, "--stream", f"S1={events}", "--format", "trig", "--output", derived)
    row = json.loads(spaseq("run", second, "--stream", f"Pairs={derived}", "--format", "ndjson").stdout)
    assert (row["bindings"]["y"]["value"], row["events"]) == ("2", {"P": ["urn:spaseq:match:pairs:0"]})


def test_a_registered_stream_feeds_another_query_of_the_same_run(tmp_path: Path, events: Path) -> None:
    upstream = file(tmp_path, "up.rq", CONSTRUCT.replace("CONSTRUCT", f"REGISTER STREAM <{EX}pairs> AS CONSTRUCT"))
    downstream = file(tmp_path, "down.rq", PAIRS)
    result = spaseq("run", downstream, upstream, "--stream", f"S1={events}", "--format", "ndjson")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [row["bindings"]["y"]["value"] for row in rows if row["query"] == "down"] == ["2"]


def test_output_to_a_file_is_what_standard_output_would_get(tmp_path: Path, query: Path, events: Path) -> None:
    output = tmp_path / "rows.ndjson"
    output.write_text("old")
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--output", output)
    assert (result.exit_code, result.output) == (0, "")
    assert output.read_text() == LINE


def test_standard_input_is_a_stream(query: Path) -> None:
    arguments = command("run", query, "--stream", "S1=-", "--format", "ndjson")
    done = subprocess.run(arguments, cwd=ROOT, input=TWO_EVENTS, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, LINE, "")


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_batching_does_not_change_the_output(tmp_path: Path, query: Path, size: int) -> None:
    events = file(tmp_path, "many.nq", many(6))
    whole = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson").stdout
    assert whole.count("\n") == 36
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--batch-size", size)
    assert result.stdout == whole


def many(pairs: int) -> str:
    """`pairs` events of A and then as many of B: pairs² matches."""
    first = [event(f"urn:a{number}", 1, "A", number) for number in range(pairs)]
    return "".join(first + [event(f"urn:b{number}", 2, "B", number) for number in range(pairs)])


def test_another_time_predicate_takes_the_place_of_the_usual_one(tmp_path: Path, query: Path) -> None:
    text = event("urn:e1", 1, "A", 1, f"{EX}seen") + event("urn:e2", 2, "B", 2, f"{EX}observed")
    events = file(tmp_path, "events.nq", text)
    options = ["--time-predicate", f"{EX}seen", "--time-predicate", f"<{EX}observed>"]
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", *options)
    assert (result.exit_code, result.stdout, result.stderr) == (0, LINE, "")


def test_with_arrival_time_events_need_no_timestamp(tmp_path: Path, query: Path) -> None:
    stamps = f"> <{STAMP}> "
    text = "".join(line for line in TWO_EVENTS.splitlines(keepends=True) if stamps not in line)
    events = file(tmp_path, "events.nq", text)
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--arrival-time")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["events"] == {"A": ["urn:e1"], "B": ["urn:e2"]}


# --- what goes wrong ------------------------------------------------------------------------------


def test_late_events_are_counted_on_stderr(tmp_path: Path, query: Path) -> None:
    result = spaseq("run", query, "--stream", f"S1={file(tmp_path, 'e.nq', LATE)}", "--format", "ndjson")
    assert (result.exit_code, result.stdout) == (0, LINE)
    assert result.stderr == "warning: 1 dead letter: 1 late\n  hint: --dead-letter PATH keeps them\n"


def test_late_events_are_kept_in_the_dead_letter_file(tmp_path: Path, query: Path) -> None:
    events, letters = file(tmp_path, "e.nq", LATE), tmp_path / "dead.ndjson"
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--dead-letter", letters)
    assert (result.exit_code, result.stdout) == (0, LINE)
    assert result.stderr.endswith(f"  hint: they are in {letters}\n")
    (letter,) = map(json.loads, letters.read_text().splitlines())
    assert (letter["stream"], letter["line"], letter["reason"]) == ("S1", 7, "late")
    assert "urn:late" in letter["raw"]


def test_max_delay_admits_events_that_come_late(tmp_path: Path, query: Path) -> None:
    events = file(tmp_path, "e.nq", event("urn:e2", 2, "B", 2) + event("urn:e1", 1, "A", 1))
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--max-delay", "1s")
    assert (result.exit_code, result.stdout, result.stderr) == (0, LINE, "")


def test_strict_stops_at_the_first_late_event_with_exit_code_1(tmp_path: Path, query: Path) -> None:
    result = spaseq("run", query, "--stream", f"S1={file(tmp_path, 'e.nq', LATE)}", "--strict")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


def test_malformed_input_is_counted_and_the_stream_goes_on(tmp_path: Path, query: Path) -> None:
    events = file(tmp_path, "e.nq", "nonsense\n" + TWO_EVENTS)
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson")
    assert (result.exit_code, result.stdout) == (0, LINE)
    assert result.stderr.startswith("warning: 1 dead letter: 1 ")


def test_a_line_longer_than_max_line_is_a_dead_letter_of_bounded_size(tmp_path: Path, query: Path) -> None:
    events, letters = file(tmp_path, "e.nq", "x" * 100_000 + "\n" + TWO_EVENTS), tmp_path / "dead.ndjson"
    arguments = ["--format", "ndjson", "--dead-letter", letters, "--max-line", "1K"]
    result = spaseq("run", query, "--stream", f"S1={events}", *arguments)
    assert (result.exit_code, result.stdout) == (0, LINE)
    (letter,) = map(json.loads, letters.read_text().splitlines())
    assert letter["reason"] == "a line of 100,000 bytes: longer than --max-line allows"
    assert (len(letter["raw"]), letter["raw_length"], len(letter["raw_sha256"])) == (1 << 16, 100_000, 64)


@pytest.mark.parametrize("size", ["0", "-1", "1.5M", "many", "99999999999999"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, query: Path, size: str) -> None:
    result = spaseq("run", query, "--stream", f"S1={file(tmp_path, 'e.nq', TWO_EVENTS)}", "--max-line", size)
    assert (result.exit_code, f"'{size}' is no size" in result.stderr) == (2, True)


def with_streams(*assignments: str) -> list[str]:
    return [part for assignment in assignments for part in ("--stream", assignment)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (with_streams(), "stream S1 <http://ex.org/s1> of query 'pairs' has no input"),
        (with_streams("S1"), "--stream 'S1' is malformed"),
        (with_streams("S2=EVENTS"), "no query reads a stream 'S2'"),
        (with_streams("S1=EVENTS", "S1=EVENTS"), "stream <http://ex.org/s1> is given twice"),
        (with_streams("S1=FOLDER/missing.nq"), "FOLDER/missing.nq"),
        ([*with_streams("S1=EVENTS"), "--kb", "urn:kb"], "--kb 'urn:kb' is malformed"),
        ([*with_streams("S1=EVENTS"), "--time-predicate", "seen"], "--time-predicate 'seen' is neither an IRI nor a"),
        (
            [*with_streams("S1=EVENTS"), "--time-predicate", "urn:t", "--arrival-time"],
            "--time-predicate and --arrival-time exclude each other",
        ),
        ([*with_streams("S1=EVENTS"), "--output", "EVENTS"], "--output EVENTS is an input of this run"),
        ([*with_streams("S1=FOLDER"), "--dead-letter", "EVENTS"], "--dead-letter EVENTS is an input of this run"),
        ([*with_streams("S1=EVENTS"), "--output", "FOLDER/no/rows"], "cannot write to FOLDER/no/rows: no such file"),
        (
            [*with_streams("S1=EVENTS"), "--output", "FOLDER/new", "--dead-letter", "FOLDER/new"],
            "--output and --dead-letter are both FOLDER/new",
        ),
    ],
)
def test_unusable_input_is_one_error_line_and_a_hint_with_exit_code_2(
    query: Path, events: Path, options: list[str], message: str
) -> None:
    before = events.read_text()
    places = {"EVENTS": str(events), "FOLDER": str(events.parent)}
    result = spaseq("run", query, *(placed(option, places) for option in options))
    assert (result.exit_code, result.stdout) == (2, "")
    first, hint = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert placed(message, places) in first
    assert hint.startswith("  hint: ")
    assert events.read_text() == before


def placed(text: str, places: dict[str, str]) -> str:
    for name, path in places.items():
        text = text.replace(name, path)
    return text


def test_two_queries_that_mean_different_streams_by_one_name_need_the_iri(
    tmp_path: Path, query: Path, events: Path
) -> None:
    other = file(tmp_path, "other.rq", SELECT.replace(f"{EX}s1", f"{EX}other"))
    result = spaseq("run", query, other, "--stream", f"S1={events}")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: the stream name 'S1' means <http://ex.org/s1> in query 'pairs' "
        "and <http://ex.org/other> in query 'other'",
        "  hint: use the IRI: --stream 'http://ex.org/s1=PATH'",
    ]
    both = [f"{EX}s1={events}", f"{EX}other={events}"]
    done = spaseq("run", query, other, *with_streams(*both), "--format", "ndjson")
    assert {json.loads(line)["query"] for line in done.stdout.splitlines()} == {"pairs", "other"}


def test_a_knowledge_base_joins_and_must_be_supplied(tmp_path: Path, events: Path) -> None:
    text = SELECT.replace(":v ?y", ":v ?n GRAPH <urn:kb> { ?y :number ?n }")
    query = file(tmp_path, "pairs.rq", text)
    missing = spaseq("run", query, "--stream", f"S1={events}")
    assert missing.exit_code == 2
    assert missing.stderr.splitlines()[0] == (
        "error: query 'pairs' names the knowledge base <urn:kb>, which is not supplied"
    )
    kb = file(tmp_path, "kb.ttl", f"<{EX}two> <{EX}number> 2 .")
    done = spaseq("run", query, "--stream", f"S1={events}", "--kb", f"urn:kb={kb}", "--format", "ndjson")
    assert json.loads(done.stdout)["bindings"]["y"] == {"type": "uri", "value": f"{EX}two"}
    assert done.stderr == ""


def test_a_knowledge_base_that_nobody_uses_is_a_warning(tmp_path: Path, query: Path, events: Path) -> None:
    kb = file(tmp_path, "kb.ttl", f"<{EX}two> <{EX}number> 2 .")
    result = spaseq("run", query, "--stream", f"S1={events}", "--kb", f"urn:kb={kb}", "--format", "ndjson")
    assert (result.exit_code, result.stdout) == (0, LINE)
    assert result.stderr.startswith("warning: no query uses the knowledge base <urn:kb>\n  hint: ")


def test_a_full_disk_is_exit_code_1_and_names_the_output(query: Path, events: Path) -> None:
    result = spaseq("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--output", "/dev/full")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: cannot write to /dev/full: no space left on device\n  hint: ")


def test_a_reader_that_goes_ends_the_run_quietly(tmp_path: Path, query: Path) -> None:
    events = file(tmp_path, "many.nq", many(120))
    arguments = command("run", query, "--stream", f"S1={events}", "--format", "ndjson", "--batch-size", 10)
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["query"] == "pairs"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_an_interrupt_ends_the_run_quietly_with_exit_code_130(tmp_path: Path, query: Path) -> None:
    fifo = tmp_path / "events.nq"
    os.mkfifo(fifo)
    arguments = command("run", query, "--stream", f"S1={fifo}")
    heeding = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a background job ignores it, and so would its child
    try:
        process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, heeding)
    with process:
        writing = opened_for_reading(fifo, process)
        process.send_signal(signal.SIGINT)
        try:
            _, stderr = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
            os.close(writing)
    assert (process.returncode, stderr) == (130, b"")


def opened_for_reading(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    """The writing end, once the process has opened the other one."""
    while process.poll() is None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO, error
            time.sleep(0.02)
    raise AssertionError(f"the run ended before it opened its input: {process.communicate()}")


def test_progress_is_shown_when_stderr_is_a_terminal(query: Path, events: Path) -> None:
    arguments = command("run", query, "--stream", f"S1={events}", "--format", "ndjson")
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"}
    main_end, terminal = pty.openpty()
    done = subprocess.run(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=terminal, env=environment, check=False)
    os.close(terminal)
    shown = b"".join(chunks(main_end)).decode()
    os.close(main_end)
    assert (done.returncode, done.stdout.decode()) == (0, LINE)
    last = shown.rstrip().splitlines()[-1].replace("\x1b[2K", "").lstrip("\r")  # a slow run wipes what it has shown
    assert last.startswith("2 events · ")
    assert " · 1 match · lag " in shown


def chunks(descriptor: int) -> Iterable[bytes]:
    """Everything that was written to the other end of a terminal, which reports its closing as an error."""
    while True:
        try:
            chunk = os.read(descriptor, 4096)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


# --- explain --------------------------------------------------------------------------------------


def test_explain_describes_the_query_in_text(query: Path) -> None:
    result = spaseq("explain", query)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("query pairs\n")
    for part in ("S1  <http://ex.org/s1>", "A on S1", "B on S1", "automaton\n", "evaluator\n"):
        assert part in result.stdout


def test_explain_draws_the_automaton(query: Path) -> None:
    assert json.loads(spaseq("explain", query, "--format", "json").stdout)["query"] == "pairs"
    assert spaseq("explain", query, "--format", "dot").stdout.startswith('digraph "pairs" {\n')
    assert spaseq("explain", query, "--format", "mermaid").stdout.startswith("flowchart LR\n")


def test_hidden_files_of_a_folder_are_skipped_and_said_once(tmp_path: Path) -> None:
    query = file(tmp_path, "pairs.rq", SELECT)
    folder = tmp_path / "events"
    folder.mkdir()
    file(folder, "._f1.nq", event("urn:future", 59, "A", 9))
    file(folder, "f10.nq", event("urn:e2", 2, "B", 2))
    file(folder, "f2.nq", event("urn:e1", 1, "A", 1))
    result = spaseq("run", query, "--stream", f"S1={folder}", "--format", "ndjson")
    assert (result.exit_code, result.stdout) == (0, LINE)
    assert result.stderr.count(f"warning: skipped in {folder}: ._f1.nq\n") == 1
