"""Query text → `Query`, or every problem of the text.

scan.py splits the text into lexemes, layout.py into clauses, syntax.py parses each with grammar.lark, resolve.py
combines them with the help of embedded.py (SPARQL), structure.py (the sequence) and scopes.py (variables). Each reports
the problems that it finds and continues.
"""

from __future__ import annotations

from automata.plan.expression import Span
from spaseq.errors import InputError, Problem, QueryError
from spaseq.lang.ast import Query
from spaseq.lang.codes import Code
from spaseq.lang.foreign import foreign, report_foreign
from spaseq.lang.layout import read_clauses
from spaseq.lang.report import Report
from spaseq.lang.resolve import Resolver
from spaseq.lang.scan import scan
from spaseq.lang.templates import Templates

_TEMPLATES = Templates()


def parse(text: str, name: str = "query") -> Query:
    """The query of the text; raises QueryError with all errors, InputError for no text. Warnings are in the query."""
    for value in (text, name):
        if not isinstance(value, str):
            raise InputError(f"the text and the name of a query are str, not {type(value).__name__}")
    query, problems = check(text, name)
    if query is None:
        raise QueryError([problem for problem in problems if problem.severity == "error"], text, name)
    return query


def check(text: str, name: str = "query") -> tuple[Query | None, tuple[Problem, ...]]:
    """The query, if the text has no error, and all problems, warnings included, in order of position."""
    if (known := _TEMPLATES.query(text, name)) is not None:
        return known, known.warnings
    report = Report(text)
    query: Query | None = None
    end = len(text.rstrip())
    try:
        lexemes = scan(text, report)
        if not lexemes:
            hint = "a query begins with PREFIX, SELECT or CONSTRUCT"
            report.add(Code.EMPTY_QUERY, Span(0, 1), "the query is empty", hint)
        clauses = tuple(read_clauses(lexemes, end, report))
        query = Resolver(clauses, text, report).query(name)
    except RecursionError:
        hint = "use fewer brackets inside of each other"
        report.add(Code.TOO_DEEP, Span(0, 1), "the query is nested too deeply", hint)
        query = None
    if query is None and (language := foreign(text)):
        report = Report(text)
        report_foreign(language, text, report)
    if query is not None:
        _TEMPLATES.learn(query)
    return query, report.problems()
