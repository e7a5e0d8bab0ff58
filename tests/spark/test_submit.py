"""`spaseq run --runtime spark` and `spaseq submit`: what is refused, what is written, and that it runs."""

from __future__ import annotations

import ast
import gzip
import json
import os
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from sparql_gpm.terms import XSD
from spaseq.cli import main
from spaseq.cli.spark import source_options
from spaseq.errors import InputError
from spaseq.outputs.event_files import EventFile
from spaseq.runtime.spark.sources.files import FilesReader
from spaseq.runtime.spark.sources.options import read_options

ROOT = Path(__file__).resolve().parents[2]
QUERY = """SELECT ?s ?a ?b WITHIN 1 HOUR SLIDING PARTITION BY ?s FROM STREAM S1 <urn:stream> WHERE {
  SEQ(A; B)
  DEFINE GPM A ON S1 { ?s <urn:a> ?a }
  DEFINE GPM B ON S1 { ?s <urn:b> ?b }
}
"""
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}


def stream(count: int, first: int = 0) -> str:
    lines = []
    for number in range(first, first + count):
        time = f'"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        lines.append(f"<urn:e{number}> <http://www.w3.org/ns/prov#generatedAtTime> {time} .")
        lines.append(f'<urn:s{number % 3}> <urn:{"ab"[number // 3 % 2]}> "{number}" <urn:e{number}> .')
    return "\n".join(lines) + "\nthis is no quad\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pairs.rq").write_text(QUERY, encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.nq").write_text(stream(60), encoding="utf-8")
    return tmp_path


def spaseq(*arguments: object, environment: dict[str, str] = ENVIRONMENT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spaseq.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False)


def test_help_and_submit_without_run_do_not_import_pyspark(folder: Path) -> None:
    code = (
        "import sys; from spaseq.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'pyspark']"
    )
    submit = ["submit", folder / "pairs.rq", f"--stream=S1={folder / 'in'}", f"--output={folder / 'out'}"]
    for arguments in (["--help"], ["run", "--help"], ["submit", "--help"], [*submit, f"--job={folder / 'job.py'}"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode == 0, done.stderr


def test_without_java_the_error_says_what_to_install(folder: Path) -> None:
    bare = {key: value for key, value in ENVIRONMENT.items() if key != "JAVA_HOME"} | {"PATH": str(folder)}
    done = spaseq("run", folder / "pairs.rq", f"--stream=S1={folder / 'in'}", "--runtime=spark", environment=bare)
    assert done.returncode == 2
    assert "needs Java 17" in done.stderr and "hint: install it" in done.stderr


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("kafka://b1:9092,b2:9092/events", {"kafka.bootstrap.servers": "b1:9092,b2:9092", "subscribe": "events"}),
        ("tcp://localhost:9999", {"host": "localhost", "port": "9999"}),
    ],
)
def test_streams_may_be_topics_and_sockets(path: str, options: dict[str, str]) -> None:
    assert source_options(path) == options


def test_the_longest_line_of_the_command_line_is_that_of_the_source(folder: Path) -> None:
    submit = ["submit", folder / "pairs.rq", f"--stream=S1={folder / 'in'}", f"--output={folder / 'out'}"]
    done = spaseq(*submit, f"--job={folder / 'job.py'}", "--max-line=200")
    assert done.returncode == 0, done.stderr
    assert "'maxLine': '200'" in (folder / "job.py").read_text()


@pytest.mark.parametrize("text", ["true", "false"])
def test_a_source_of_files_cuts_lines_that_are_longer_than_its_option_says(folder: Path, text: str) -> None:
    (folder / "in" / "a.nq").write_text(stream(9) + f'<urn:s> <urn:b> "{"x" * 500}" <urn:e8> .\n', encoding="utf-8")
    reader = FilesReader(read_options({**source_options(str(folder / "in"), 200), "text": text}))
    cells = [row for part in reader.partitions() for table in reader.read(part) for row in table.to_pylist()]
    assert cells and all(len(line) <= 200 for row in cells for line in row["value"].splitlines())
    assert any(b"longer than --max-line allows" in row["value"] for row in cells)


@pytest.mark.parametrize(("path", "reason"), [("-", "input: after a failure"), ("kafka://b1:9092", "names no topic")])
def test_streams_that_spark_cannot_read_are_refused(path: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        source_options(path)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["run", "--arrival-time"], "--arrival-time does not go with --runtime spark: a micro-batch that is read"),
        (["submit"], "a job needs a folder"),
        (["submit", "--output=out", "--follow", "--end-of-stream"], "never comes to the end of its streams"),
    ],
)
def test_what_spark_cannot_do_is_said_before_anything_starts(folder: Path, arguments: list[str], reason: str) -> None:
    command, *rest = arguments
    runtime = ["--runtime=spark"] if command == "run" else []
    done = spaseq(command, folder / "pairs.rq", f"--stream=S1={folder / 'in'}", *runtime, *rest)
    assert done.returncode == 2
    assert reason in done.stderr


def test_a_job_has_sixteen_shards_whatever_the_machine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [f"--stream=S1={folder / 'in'}", f"--output={folder / 'out'}", f"--job={folder / 'job.py'}"]
    main(["submit", str(folder / "pairs.rq"), *options], standalone_mode=False)
    assert "\nSHARDS = 16 " in (folder / "job.py").read_text(encoding="utf-8")
    assert "job.py: 16 shards; run it with spark-submit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("PARTITION BY ?s ", ""), None),
        (("A; B", "A, B"), None),
        (("PARTITION BY ?s FROM", "FROM", "A; B", "A, B"), "`,` needs the very next event, of any key"),
        (("PARTITION BY ?s ", "", "?s <urn:b>", "?t <urn:b>"), "no variable is joined by every step, and there is no"),
    ],
)
def test_submit_says_which_query_has_one_shard_and_why(
    folder: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, ...], reason: str | None
) -> None:
    text = QUERY
    for old, new in zip(change[::2], change[1::2], strict=True):
        text = text.replace(old, new)
    (folder / "pairs.rq").write_text(text, encoding="utf-8")
    options = [f"--stream=S1={folder / 'in'}", f"--output={folder / 'out'}", f"--job={folder / 'job.py'}"]
    main(["submit", str(folder / "pairs.rq"), *options], standalone_mode=False)
    said = capsys.readouterr().err
    assert ("query 'pairs' has one shard" in said) == (reason is not None) and (reason or "") in said


@pytest.mark.parametrize("place", ["s3a://bucket/matches", "hdfs:///matches", "viewfs://c/a b/"])
def test_a_folder_of_another_file_system_is_left_as_it_is_written(folder: Path, place: str) -> None:
    options = [f"--stream=S1={folder / 'in'}", f"--output={place}", f"--dead-letter={place}-late"]
    main(["submit", str(folder / "pairs.rq"), *options, f"--job={folder / 'job.py'}"], standalone_mode=False)
    job = (folder / "job.py").read_text(encoding="utf-8")
    assert f"OUTPUT = {place!r}" in job and f"DEAD_LETTERS = '{place}-late'" in job
    assert f"CHECKPOINT = '{place.rstrip('/')}.checkpoint'" in job
    assert not (Path.cwd() / place.partition(":")[0]).exists()


def test_a_file_url_is_a_path_of_this_machine(folder: Path) -> None:
    options = [f"--stream=S1={folder / 'in'}", f"--output=file://{folder}/out", f"--job={folder / 'job.py'}"]
    main(["submit", str(folder / "pairs.rq"), *options], standalone_mode=False)
    assert f"OUTPUT = '{folder}/out'" in (folder / "job.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("option", ["--output", "--dead-letter"])
def test_run_refuses_files_of_another_file_system(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    arguments = [str(folder / "pairs.rq"), f"--stream=S1={folder / 'in'}", f"{option}=s3a://bucket/rows"]
    assert main(["run", *arguments], standalone_mode=False) == 2
    assert "writes to files of this machine, and s3a://bucket/rows is none" in capsys.readouterr().err


def _event(number: int) -> tuple[str, str, str]:
    """Subject, predicate and time of an event."""
    return f"urn:s{number % 3}", f"urn:{'ab'[number // 3 % 2]}", f"2026-01-01T00:00:{number:02}Z"


def _quads(number: int, graph: str, padding: str = "") -> str:
    subject, verb, time = _event(number)
    about = f"<urn:e{number}>" if graph else "_:e"
    return (
        f'{about} <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<{XSD}dateTime> .\n'
        f'<{subject}> <{verb}> "{number}{padding}"{graph and " " + graph} .\n'
    )


def write_every_format(folder: Path) -> None:
    """Events in files of all formats, some longer than a signal may be; one in each of some formats is malformed."""
    folder.mkdir()
    table = [dict(zip(("id", "s", "verb", "time"), (n, *_event(n)), strict=True)) for n in range(30)]
    (folder / "00.nq").write_text(_quads(0, "<urn:e0>"), encoding="utf-8")
    messages = [f"# @message\n{_quads(n, '')}" for n in range(1, 4)]
    (folder / "01.nq").write_text("".join(messages) + "# no event\n" * 500, encoding="utf-8")
    (folder / "04.trig").write_text(f'VERSION "1.2-messages"\nMESSAGE\n{_quads(4, "")}', encoding="utf-8")
    document = {"@context": "http://ex.org/context", "at": _event(5)[2], "@id": "urn:s2", "urn:a": "5"}
    (folder / "05.jsonld").write_text(json.dumps(document), encoding="utf-8")
    lines = [json.dumps(document | {"@id": f"urn:s{n % 3}", "at": _event(n)[2]}) for n in range(6, 9)]
    (folder / "06.ndjsonld").write_text("\n".join([lines[0], "{no JSON", *lines[1:]]), encoding="utf-8")
    for number, padding in ((9, ""), (10, "x" * 5000), (11, "")):
        file = EventFile(folder / f"{number:02}.jelly")
        file.write([_quads(number, f"<urn:e{number}>", padding).encode()])
        file.close()
    with (folder / "11.jelly").open("ab") as last:
        last.write(b"\x03\xff\xff\xff")
    rows = [
        f"{row['id']},{row['s']},{row['verb']},{row['time'] if row['id'] != 14 else ''},{'x' * 2000}" for row in table
    ]
    (folder / "12.csv").write_text("\n".join(["id,s,verb,time,more", *rows[12:16]]), encoding="utf-8")
    plain = "\n".join(["id\ts\tverb\ttime", *("\t".join(map(str, row.values())) for row in table[16:19])])
    (folder / "16.tsv.gz").write_bytes(gzip.compress(plain.encode()))
    (folder / "19.ndjson").write_text("\n".join(map(json.dumps, table[19:22])) + "\n[]\n", encoding="utf-8")
    parquet.write_table(pa.Table.from_pylist(table[22:25]), folder / "22.parquet")
    long = "".join(_quads(n, f"<urn:e{n}>", "x" * 2000) for n in range(25, 28))
    (folder / "25.nq").write_text(long, encoding="utf-8")
    (folder / "28.nt").write_text(_quads(28, ""), encoding="utf-8")
    (folder / "29.ttl").write_text("@base <urn:x> .\n" + _quads(29, ""), encoding="utf-8")
    (folder / "30.ttl").write_text("<urn:s1> no Turtle", encoding="utf-8")


TEMPLATE = f"""<urn:e{{id}}> <http://www.w3.org/ns/prov#generatedAtTime> "{{time}}"^^<{XSD}dateTime> .
<urn:e{{id}}> {{ <{{s}}> <{{verb}}> "{{id}}" }}
"""


def test_every_format_gives_the_rows_and_dead_letters_of_the_embedded_runtime(spark: Any, folder: Path) -> None:
    write_every_format(folder / "all")
    (folder / "t.trig").write_text(TEMPLATE, encoding="utf-8")
    at = {"@id": "http://www.w3.org/ns/prov#generatedAtTime", "@type": XSD + "dateTime"}
    (folder / "context.json").write_text(json.dumps({"@context": {"at": at}}), encoding="utf-8")
    for runtime in ("embedded", "spark"):
        outputs = [f"--output={folder / runtime}.ndjson", f"--dead-letter={folder / runtime}.letters"]
        options = [f"--stream=S1={folder / 'all'}", "--format=ndjson", f"--runtime={runtime}", *outputs]
        options += [f"--template={folder / 't.trig'}", f"--context=http://ex.org/context={folder / 'context.json'}"]
        assert main(["run", str(folder / "pairs.rq"), *options], standalone_mode=False) in (None, 0)
    found, letters = (
        [(folder / f"{runtime}.{suffix}").read_text(encoding="utf-8").splitlines() for runtime in ("embedded", "spark")]
        for suffix in ("ndjson", "letters")
    )
    times = [Counter((row["time"], str(row["bindings"])) for row in map(json.loads, lines)) for lines in found]
    assert times[1] == times[0] and times[0].total() > 10
    assert letters[1] == letters[0]
    assert {Path(json.loads(line)["source"]).name for line in letters[0]} == {
        "06.ndjsonld", "11.jelly", "12.csv", "19.ndjson", "30.ttl",
    }  # fmt: skip


def rows(text: str) -> Counter[str]:
    found = Counter(text.splitlines())
    assert all(json.loads(line)["query"] == "pairs" for line in found)
    return found


def test_spark_gives_the_rows_and_dead_letters_of_the_embedded_runtime(spark: Any, folder: Path) -> None:
    for runtime in ("embedded", "spark"):
        options = [f"--stream=S1={folder / 'in'}", "--format=ndjson", f"--runtime={runtime}"]
        outputs = [f"--output={folder / runtime}.ndjson", f"--dead-letter={folder / runtime}.letters"]
        main(["run", str(folder / "pairs.rq"), *options, *outputs], standalone_mode=False)
    found, letters = (
        [(folder / f"{runtime}.{suffix}").read_text(encoding="utf-8") for runtime in ("embedded", "spark")]
        for suffix in ("ndjson", "letters")
    )
    assert len(rows(found[0])) == 30
    assert rows(found[1]) == rows(found[0])
    assert letters[1] == letters[0]


def test_the_first_malformed_line_ends_a_strict_run(
    spark: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--stream=S1={folder / 'in'}", f"--output={folder / 'out.ndjson'}", "--strict", "--runtime=spark"]
    assert main(["run", str(folder / "pairs.rq"), *options], standalone_mode=False) == 1
    assert f"error: {folder / 'in' / 'a.nq'}:121:1: The subject of a triple" in capsys.readouterr().err


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Run a job in the session of the tests, which does not end with it: starting another one takes half a minute."""
    listeners: list[Any] = []
    streams = type(spark.streams)
    add = streams.addListener
    monkeypatch.setattr(streams, "addListener", lambda self, each: (listeners.append(each), add(self, each)))
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    yield lambda job: runpy.run_path(str(job), run_name="__main__") and None
    for listener in listeners:
        spark.streams.removeListener(listener)


def _submitted(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    places = [f"--stream=S1={folder / 'in'}", f"--output={folder / 'out'}", f"--dead-letter={folder / 'late'}"]
    more = ["--shards=2", "--master=local[2]", f"--job={folder / 'job.py'}", *options]
    done = spaseq("submit", folder / "pairs.rq", *places, *more)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.thorough
def test_submit_runs_the_job_with_spark_submit(java: None, folder: Path) -> None:
    (folder / "in" / "a.nq").write_text(stream(3), encoding="utf-8")
    done = _submitted(folder, "--run")
    assert _written(folder) == ""
    said = "no row of 'pairs': no event that was read has the property <urn:b>, which B asks for; seen: <urn:a>"
    assert said in done.stdout.splitlines(), "spark-submit joins both outputs of a driver"


@pytest.mark.parametrize(("code", "home"), [(0, True), (3, False)])
def test_submit_runs_the_spark_submit_of_spark_home_or_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], code: int, home: bool
) -> None:
    job, submit = tmp_path / "job.py", tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f'#!/bin/sh\necho "$PYSPARK_PYTHON" "$@"\nexit {code}\n', encoding="utf-8")
    submit.chmod(0o755)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if home:
        monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    else:
        monkeypatch.delenv("SPARK_HOME", raising=False)
        monkeypatch.setenv("PATH", f"{submit.parent}:{os.environ['PATH']}")
    stream, query = tmp_path / "in.nq", tmp_path / "q.rq"
    stream.touch()
    query.write_text(QUERY, encoding="utf-8")
    given = ["submit", str(query), f"--stream=S1={stream}", f"--output={tmp_path / 'out'}", f"--job={job}", "--run"]
    done = CliRunner().invoke(main, [*given, "--master=local[2]"])
    assert capfd.readouterr().out.splitlines()[-1] == f"{sys.executable} --master local[2] {job}"
    assert done.exit_code == (1 if code else 0), done.output
    assert ("spark-submit ended with exit code 3" in done.output) is bool(code)


def test_a_submitted_job_is_a_readable_file_that_runs_and_goes_on(here: Callable[[Path], None], folder: Path) -> None:
    job = folder / "job.py"
    (folder / "in" / "a.nq").write_text(stream(3), encoding="utf-8")
    _submitted(folder)
    assert ast.get_docstring(ast.parse(job.read_text(encoding="utf-8")))
    here(job)
    assert _written(folder) == ""
    (folder / "in" / "b.nq").write_text(stream(87, 3), encoding="utf-8")
    _submitted(folder, "--end-of-stream")
    here(job)
    embedded = spaseq("run", folder / "pairs.rq", f"--stream=S1={folder / 'in'}", "--format=ndjson")
    assert rows(_written(folder)) == rows(embedded.stdout)
    assert len(list((folder / "late").glob("batch-*.ndjson"))) == 2


def _written(folder: Path) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (folder / "out").glob("batch-*.ndjson"))
