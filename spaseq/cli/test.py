"""`spaseq test`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from spaseq.cli.reporting import BAD_USAGE, DONE, FAILED, report
from spaseq.errors import InputError, SPAseqError, visible
from spaseq.outputs.trig import VOCABULARY
from spaseq.testing.running import Outcome, run_test
from spaseq.testing.texts import report as report_of
from spaseq.testing.texts import rows_text, summary


def run_tests(paths: Sequence[Path], evaluator: str, print_rows: bool) -> int:
    """Run the tests of these files and folders, print what comes of each; the exit code: 0, 1 failed, 2 not run."""
    outcomes: list[Outcome] = []
    broken = 0
    for path in test_files(paths):
        try:
            outcome = run_test(path, evaluator)
        except SPAseqError as error:
            click.echo(visible(f"NOT RUN {path}"))
            report(error)
            broken += 1
            continue
        outcomes.append(outcome)
        click.echo(visible(rows_text(outcome) if print_rows else report_of(outcome)), nl=not print_rows)
    if not print_rows:
        click.echo(summary(outcomes, broken))
    if broken:
        return BAD_USAGE
    return DONE if print_rows or all(outcome.passed for outcome in outcomes) else FAILED


def test_files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files, and of folders the TriG files that speak of tests; InputError for a folder without one."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = [file for file in sorted(path.rglob("*.trig")) if _speaks_of_tests(file)]
        if not found:
            raise InputError(f"no test is in {path}", hint=f"a test is a .trig file with a <{VOCABULARY}Test>")
        yield from found


def _speaks_of_tests(path: Path) -> bool:
    return VOCABULARY.encode() in path.read_bytes()
