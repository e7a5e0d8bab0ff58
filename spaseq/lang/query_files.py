"""Query files → queries; those of texts that were seen before come without the parser, from the query cache."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from spaseq.errors import InputError, Problem, QueryError
from spaseq.lang import query_cache
from spaseq.lang.ast import Query


def read_query(path: str | PathLike[str]) -> Query:
    """The query in a UTF-8 file, named after the file's stem; InputError when the file cannot be read."""
    text = read_text(path)
    query, problems = check_text(text, Path(path).stem)
    if query is None:
        raise QueryError([problem for problem in problems if problem.severity == "error"], text, fspath(path))
    return query


def read_text(path: str | PathLike[str]) -> str:
    """The text of a query file; InputError names the path and the reason."""
    if not isinstance(path, str | PathLike):
        raise InputError(f"the path of a query file is str or Path, not {type(path).__name__}")
    shown = fspath(path)
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start} is not UTF-8"
        raise InputError(f"cannot read query {shown}: {where}", hint="save the file as UTF-8") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot read query {shown}: {reason}", hint="give the path of a query file") from None


def check_text(text: str, name: str) -> tuple[Query | None, tuple[Problem, ...]]:
    """The query and the problems of the text of a file, as `spaseq.lang.parse.check` gives them."""
    if (query := query_cache.known(text, name)) is not None:
        return query, query.warnings
    from spaseq.lang.parse import check

    query, problems = check(text, name)
    if query is not None:
        query_cache.keep(query)
    return query, problems
