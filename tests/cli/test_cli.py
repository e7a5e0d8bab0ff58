"""The command line: help, usage errors, exit codes, `validate` and `explain`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from spaseq.cli.reporting import ReportingGroup
from spaseq.errors import InputError, RunError

ROOT = Path(__file__).parents[2]
GOOD = """PREFIX : <http://ex.org/>
SELECT ?x ?y
WITHIN 10 SECONDS
FROM STREAM S1 <http://ex.org/s1>
WHERE {
  SEQ(A ; B)
  DEFINE GPM A ON S1 { ?a a :A ; :v ?x }
  DEFINE GPM B ON S1 { ?b a :B ; :v ?y FILTER (BOUND(?x)) }
}
"""
BAD = GOOD.replace("A ; B", "A ; Zed").replace("?a a :A", "?a a nope:A")


def spaseq(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return file(tmp_path, "good.rq", GOOD)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["run", "-h"], ["explain", "--help"], ["validate", "-h"]])
def test_help_is_on_standard_output_with_exit_code_0(arguments: list[str]) -> None:
    result = spaseq(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Usage: ")


def test_help_of_run_names_every_option_of_the_interface() -> None:
    text = spaseq("run", "--help").stdout
    options = (
        "--stream NAME=PATH", "--kb IRI=PATH_OR_URL", "[table|ndjson|csv|trig|", "--output PATH",
        "[auto|nfa|cea|lazy|tree]", "--max-delay DURATION", "--dead-letter PATH", "--strict", "[embedded|spark]",
        "--time-predicate IRI", "--arrival-time", "--batch-size N", "--threads N",
    )  # fmt: skip
    for option in options:
        assert option in text


def test_version_is_printed_with_exit_code_0() -> None:
    result = spaseq("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("spaseq ")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["validate", "-h"], ["run"]])
def test_help_and_usage_errors_do_not_import_the_engine(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom spaseq.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'rdflib', 'numpy', 'pyoxigraph', 'lark', 'rich', 'numba', 'pyarrow', 'pyspark'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spaseq.cli", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: spaseq ")


def test_no_command_shows_the_help_on_stderr_with_exit_code_2() -> None:
    result = spaseq()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Commands:" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "no such option"),
        (["dance"], "no such command 'dance'"),
        (["run"], "missing argument 'QUERY…'"),
        (["validate"], "missing argument 'QUERY…'"),
        (["explain"], "missing argument 'QUERY'"),
        (["explain", "a.rq", "b.rq"], "got unexpected extra argument (b.rq)"),
        (["run", "q.rq", "--nonsense"], "no such option"),
        (["run", "q.rq", "--stream"], "option '--stream' requires an argument"),
        (["run", "q.rq", "--format", "xml"], "'xml' is not one of"),
        (["run", "q.rq", "--evaluator", "magic"], "'magic' is not one of"),
        (["run", "q.rq", "--runtime", "flink"], "'flink' is not one of"),
        (["run", "q.rq", "--max-delay", "soon"], "'soon' is not a duration"),
        (["run", "q.rq", "--max-delay=-5s"], "'-5s' is not a duration"),
        (["run", "q.rq", "--batch-size", "0"], "0 is not in the range x>=1"),
        (["run", "q.rq", "--threads", "0"], "0 is not in the range x>=1"),
        (["run", "q.rq", "--batch-size", "many"], "'many' is not a valid integer"),
        (["explain", "q.rq", "--format", "png"], "'png' is not one of"),
        (["explain", "q.rq", "--evaluator", "magic"], "'magic' is not one of"),
    ],
)
def test_bad_usage_is_one_error_line_and_a_hint_with_exit_code_2(arguments: list[str], message: str) -> None:
    result = spaseq(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    first, hint = result.stderr.splitlines()
    command = f"spaseq {arguments[0]}" if arguments[0] in main.commands else "spaseq"
    assert first.startswith("error: ")
    assert message in first.lower() or message in first
    assert hint == f"  hint: see '{command} --help'"


def test_validate_is_silent_about_a_good_query(good: Path) -> None:
    result = spaseq("validate", good)
    assert (result.exit_code, result.output) == (0, "")


def test_validate_reports_every_problem_of_every_query(tmp_path: Path, good: Path) -> None:
    bad, worse = file(tmp_path, "bad.rq", BAD), file(tmp_path, "worse.rq", GOOD.replace("10 SECONDS", "0 SECONDS"))
    result = spaseq("validate", bad, good, worse)
    assert (result.exit_code, result.stdout) == (2, "")
    heads = [line for line in result.stderr.splitlines() if ": error[" in line]
    assert [head.split(": error[")[0] for head in heads] == [f"{bad}:6:11", f"{bad}:7:29", f"{worse}:3:8"]
    assert "Zed" in heads[0] and "nope" in heads[1]
    lines = result.stderr.splitlines()
    assert lines[lines.index(heads[0]) + 1] == "    SEQ(A ; Zed)"
    assert lines[lines.index(heads[0]) + 2] == "            ^^^"


def test_validate_warns_with_exit_code_0(tmp_path: Path) -> None:
    unused = file(tmp_path, "unused.rq", GOOD.replace("A ; B", "A"))
    result = spaseq("validate", unused)
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"{unused}:8:" in result.stderr
    assert ": warning[" in result.stderr


@pytest.mark.parametrize("command", ["validate", "run", "explain", "submit"])
def test_warnings_are_errors_on_request(tmp_path: Path, command: str) -> None:
    unused = file(tmp_path, "unused.rq", GOOD.replace("A ; B", "A"))
    more = ["--output", tmp_path / "rows"] if command == "submit" else []
    result = spaseq(command, unused, "-W", "error", *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{unused}:8:14: error[SQ101]: " in result.stderr
    assert "warning[" not in result.stderr


def test_a_query_without_warnings_is_no_error_on_request(good: Path) -> None:
    assert spaseq("validate", good, "-W", "error").exit_code == 0


def test_validate_goes_on_after_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    bad = file(tmp_path, "bad.rq", BAD)
    result = spaseq("validate", tmp_path / "missing.rq", tmp_path, bad)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0].startswith("error: ")
    assert str(tmp_path / "missing.rq") in result.stderr.splitlines()[0]
    assert f"{bad}:6:11: error[" in result.stderr


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_bad_query_is_exit_code_2_with_its_report(tmp_path: Path, command: str) -> None:
    bad = file(tmp_path, "bad.rq", BAD)
    result = spaseq(command, bad)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{bad}:6:11: error[" in result.stderr
    assert f"{bad}:7:29: error[" in result.stderr


def test_run_reports_the_problems_of_all_queries(tmp_path: Path, good: Path) -> None:
    first, second = file(tmp_path, "first.rq", BAD), file(tmp_path, "second.rq", BAD)
    result = spaseq("run", first, good, second, "--stream", "S1=x.nq")
    assert result.exit_code == 2
    assert f"{first}:6:11: error[" in result.stderr
    assert f"{second}:6:11: error[" in result.stderr


@pytest.mark.parametrize(
    ("raised", "code", "stderr"),
    [
        (InputError("no such stream", hint="add it"), 2, "error: no such stream\n  hint: add it\n"),
        (RunError("the disk is full"), 1, "error: the disk is full\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (
            ZeroDivisionError("division\nby zero"),
            1,
            "error: internal error: ZeroDivisionError: division by zero\n"
            "  hint: this is a bug in SPAseq, please report it with the query; --debug shows where\n",
        ),
    ],
)
def test_what_a_command_raises_is_a_report_and_an_exit_code(raised: BaseException, code: int, stderr: str) -> None:
    result = CliRunner().invoke(raising(raised), ["fail"])
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", stderr)


def test_debug_shows_the_traceback_of_an_internal_error() -> None:
    result = CliRunner().invoke(raising(ZeroDivisionError("here")), ["--debug", "fail"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.splitlines()[-2] == "error: internal error: ZeroDivisionError: here"


def raising(error: BaseException) -> click.Group:
    """The command line, with one command that fails."""
    from spaseq.cli.options import debug_option

    @click.group(cls=ReportingGroup)
    @debug_option
    def group() -> None:
        pass

    @group.command()
    def fail() -> None:
        raise error

    return group


def test_validate_run_and_explain_warn_of_the_same(tmp_path: Path) -> None:
    golden = ROOT / "tests" / "golden" / "errors"
    (tmp_path / "S1.nq").write_text("", encoding="utf-8")
    for path in (golden / "warned_every_subset.rq", golden / "warned_prev_without_guard.rq"):
        expected = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        for arguments in (["validate"], ["explain"], ["run", "--stream", f"S1={tmp_path / 'S1.nq'}"]):
            result = CliRunner().invoke(main, [arguments[0], str(path), *arguments[1:]])
            shown = [line.removeprefix(str(golden) + "/") for line in result.stderr.splitlines()]
            assert (result.exit_code, shown[: len(expected)]) == (0, expected), arguments
