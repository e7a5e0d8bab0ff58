"""The W3C's tests of queries, run on the parts of SPAseq that read and match graph patterns.

A query's prologue becomes prefixes and base; what is left of a SELECT is a subquery, which is a group graph pattern; an
ASK, and the WHERE of a CONSTRUCT, is SELECT * of its group. The default graph is one event, the named graphs are
knowledge bases.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from automata.values import UNBOUND
from kb.base import KnowledgeBases
from kb.local import append, graph_of
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.iris import resolve_iri
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.parse import parse_group, parse_template
from sparql_gpm.pattern import Filter, Pattern
from spaseq.lang.ast import TemplateTriple
from spaseq.runtime.stages.construct import GraphTemplate
from tests.w3c.manifests import PUBLISHED, Case
from tests.w3c.results import expected, quads_in, same_quads, same_rows

_PROLOGUE = re.compile(
    r"""(?:\s|\#[^\n]*\n)*(?:
        (?i:PREFIX)\s+((?:[^\W\d_](?:[\w.-]*[\w-])?)?)\s*:\s*<([^>]*)> | (?i:BASE)\s*<([^>]*)>
      | (?i:VERSION)\s*(?:"[^"\\\r\n]*"(?!") | '[^'\\\r\n]*'(?!'))
    )""",
    re.VERBOSE,
)
_OPAQUE = re.compile(
    r'''"""(?:[^"\\]|\\.|"{1,2}(?!"))*""" | \'\'\'(?:[^'\\]|\\.|'{1,2}(?!'))*\'\'\'
      | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*' | <[^<>"{}|^`\\\x00-\x20]*> | \#[^\r\n]*''',
    re.VERBOSE | re.DOTALL,
)
"""The parts of a query in which words and braces do not count."""
_FORM = re.compile(r"\s*([A-Za-z]+)")
_OTHER_FORMS = re.compile(r"(?i)\bDESCRIBE\b|\bFROM\b")


@dataclass(frozen=True, slots=True)
class Query:
    """A query as a pattern; the template is that of a CONSTRUCT."""

    pattern: Pattern
    template: tuple[TemplateTriple, ...] | None
    asks: bool


def other_form(text: str) -> str | None:
    """The word by which a query is no SELECT, ASK or CONSTRUCT over the given data."""
    found = _OTHER_FORMS.search(_outline(text))
    return found and found[0].upper()


def read(case: Case) -> Query:
    """The query of a test; raises PatternSyntaxError."""
    assert case.action is not None
    text, prefixes, base = split_prologue(case.action.read_text("utf-8"), case.published(case.action))
    outline = _outline(text)
    found = _FORM.match(outline)
    form, template = found[1].upper() if found else "", None
    if found and form == "CONSTRUCT":
        begin, end = _braces(outline)
        template = parse_template(text[begin + 1 : end], prefixes, base)
        is_short = not outline[found.end() : begin].isspace() and begin > found.end()
        text = "SELECT * " + text[found.end() if is_short else end + 1 :]
    elif found and form == "ASK":
        text = "SELECT * " + text[found.end() :]
    group = parse_group(text, prefixes, base)
    pattern: Pattern = group.pattern
    for condition in group.filters:
        pattern = Filter(condition.expression, pattern)
    triples = None if template is None else tuple(TemplateTriple(*each) for each in template)
    return Query(pattern, triples, form == "ASK")


def passes(case: Case) -> bool:
    """True if the matcher's answer is the expected one, up to the names of blank nodes."""
    assert case.result is not None
    query, base = read(case), case.published(case.result)
    dictionary = Dictionary()
    found = _solutions(query.pattern, case, dictionary)
    if query.template is not None:
        return same_quads(_constructed(query.template, found, dictionary), quads_in(case.result, base))
    wanted = expected(case.result, base)
    if query.asks or isinstance(wanted, bool):
        return query.asks and wanted is (len(found) > 0)
    return same_rows([{n: dictionary.term(i) for n, i in row.items()} for row in found], wanted, case.lax)


def split_prologue(text: str, base: str) -> tuple[str, dict[str, str], str]:
    """The query without its prologue, the prefixes, and the base."""
    prefixes: dict[str, str] = {}
    while found := _PROLOGUE.match(text):
        prefix, iri, declared = found.groups()
        if declared is not None:
            base = resolve_iri(declared, base)
        elif iri is not None:
            prefixes[prefix] = resolve_iri(iri, base)
        text = text[found.end() :]
    return text, prefixes, base


def _outline(text: str) -> str:
    """A text of the same length in which only words and brackets outside of strings, IRIs and comments are left."""
    return _OPAQUE.sub(lambda found: " " * len(found[0]), text)


def _braces(outline: str) -> tuple[int, int]:
    """The places of the first `{` and of the `}` that closes it."""
    depth, begin = 0, outline.find("{")
    for found in re.finditer("[{}]", outline):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return begin, found.start()
    raise PatternSyntaxError("a brace is not closed", max(0, begin))


def _solutions(pattern: Pattern, case: Case, dictionary: Dictionary) -> list[dict[str, int]]:
    """The bound variables of each solution, as ids."""
    evaluator = ExpressionEvaluator(dictionary)
    kbs = KnowledgeBases.load({case.published(path): path for path in case.graphs}, dictionary, evaluator)
    event = EventBatch.of_graph(PUBLISHED, *np.zeros((3, 0), dtype=np.int64))
    for path in case.data:
        for name, quads in _graphs(path, case.published(path)).items():
            columns = (array("q"), array("q"), array("q"))
            append(iter(quads), str, dictionary, columns)
            graph = graph_of(name or PUBLISHED, *(np.array(column, dtype=np.int64) for column in columns))
            if name:
                kbs.supply_graph(name, graph)
            else:
                event = graph
    solutions = compile_pattern(pattern, dictionary, evaluator, kbs).solve(event)
    columns_of = {variable: column.tolist() for variable, column in solutions.columns.items()}
    return [{n: ids[row] for n, ids in columns_of.items() if ids[row]} for row in range(len(solutions))]


def _graphs(path: Path, base: str) -> dict[str, list[ox.Quad]]:
    """The quads of a file by the IRI of their graph, "" for the default graph."""
    found: dict[str, list[ox.Quad]] = {}
    for quad in quads_in(path, base):
        found.setdefault(getattr(quad.graph_name, "value", ""), []).append(quad)
    return found


def _constructed(
    template: Sequence[TemplateTriple], rows: Sequence[Mapping[str, int]], dictionary: Dictionary
) -> Iterator[ox.Quad]:
    """The triples of a template for each row."""
    graph = GraphTemplate(template, dictionary)
    unbound = dict.fromkeys(graph.expressions(), UNBOUND)
    for number, row in enumerate(rows):
        for triple in graph.triples(unbound | row, f"row{number}"):
            yield ox.Quad(*(term.to_pyoxigraph() for term in triple))
