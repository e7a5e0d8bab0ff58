"""The query files named on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spaseq.cli.reporting import report, say
from spaseq.errors import InputError, Problem, QueryError, render_problems, warnings_as_errors
from spaseq.lang.ast import Query
from spaseq.lang.query_files import check_text, read_query, read_text


def read_queries(paths: Sequence[Path], warnings: str | None = None) -> list[Query]:
    """The queries; prints warnings, and the problems of all queries before the last error is raised.

    warnings    of `-W`: "error" makes errors of them
    """
    queries: list[Query] = []
    failures: list[QueryError | InputError] = []
    for path in paths:
        try:
            query = read_query(path)
        except (QueryError, InputError) as error:
            failures.append(error)
        else:
            if warnings == "error" and query.warnings:
                failures.append(QueryError(warnings_as_errors(query.warnings), query.text, str(path)))
            else:
                _say_all(query.warnings, query.text, path)
            queries.append(query)
    for failure in failures[:-1]:
        report(failure)
    if failures:
        raise failures[-1]
    return queries


def report_problems(paths: Sequence[Path], warnings: str | None = None) -> bool:
    """Print the problems of all queries; True if all queries can be run; `warnings` as for `read_queries`."""
    usable = True
    for path in paths:
        try:
            text = read_text(path)
        except InputError as error:
            report(error)
            usable = False
            continue
        query, problems = check_text(text, path.stem)
        strict = warnings == "error"
        _say_all(warnings_as_errors(problems) if strict else problems, text, path)
        usable = usable and query is not None and not (strict and problems)
    return usable


def _say_all(problems: Sequence[Problem], text: str, path: Path) -> None:
    if problems:
        say(render_problems(problems, text, str(path)))
