"""The funnel of a query that has run, from its counts and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from automata.plan.automaton import START
from automata.plan.plan import Plan
from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.describe import describe, expression_text
from sparql_gpm.algebra.expression_text import path_text
from sparql_gpm.algebra.stages import Kind, Stage
from sparql_gpm.algebra.traversal import walk
from sparql_gpm.algebra.triple_terms import statements, with_terms
from sparql_gpm.parse import parse_group
from sparql_gpm.pattern import BGP, EMPTY, Node, Variable
from sparql_gpm.terms import IRI, RDF, to_ntriples
from spaseq.algebra.nodes import TemporalQuery
from spaseq.explain.funnel import EdgeCount, FilterCount, Funnel, KnowledgeCount, PatternCount, StepCount
from spaseq.explain.zero_rows import Emptied, ZeroRows
from spaseq.lang.ast import Define, Query
from spaseq.runtime.funnel.tally import FunnelTally, StepTally

_PLAIN_LOCAL = re.compile(r"\w[\w-]*")
"""Local names that need no escape."""


def funnel_of(query: TemporalQuery, plan: Plan, tally: FunnelTally) -> Funnel:
    """The funnel of a query with this plan; its parts are named as the query writes them."""
    defines = {define.name: define for define in query.parsed.defines}
    names = [pattern.name for pattern in query.patterns]
    steps = tuple(
        _step(_Written.of(query.parsed, defines[name]), name, counts)
        for name, counts in zip(names, tally.steps, strict=False)
    )
    matching = {name: counts.seconds for name, counts in zip(names, tally.steps, strict=False)}
    rest = None if tally.seconds is None else max(0.0, tally.seconds - sum(matching.values()))
    seconds = {"steps": matching, "sequence": rest}
    removed = None if tally.removed is None else dict(tally.removed)
    return Funnel(query.name, steps, tuple(_edges(names, plan, tally)), tally.rows, tally.matches, removed, seconds)


def with_funnel(known: ZeroRows, query: TemporalQuery, tally: FunnelTally) -> ZeroRows:
    """The facts about a query without a row; of its first step without a solution the part that no event passes."""
    if not known.required:
        return known
    name = known.required[0].name
    counts = next(s for s, pattern in zip(tally.steps, query.patterns, strict=False) if pattern.name == name)
    if counts.skipped or 0 not in counts.left:
        return known
    last = counts.left.index(0) + 1
    until = StepTally(counts.stages[:last], counts.seen, counts.alone[:last], counts.left[:last])
    step = _step(_Written.of(query.parsed, next(d for d in query.parsed.defines if d.name == name)), name, until)
    came = counts.left[last - 2] if last > 1 else counts.seen
    parts: list[tuple[str, int | None, int]] = [(part.text, part.line, part.left) for part in step.patterns]
    parts += [(part.text, part.line, part.left) for part in step.filters]
    parts += [(f"GRAPH {base.iri if base.iri[0] == '?' else f'<{base.iri}>'}", None, base.left) for base in step.kbs]
    for text, line, left in parts:
        if not left:
            return replace(known, emptied=Emptied(text, line, came))
    return known


def _edges(names: Sequence[str], plan: Plan, tally: FunnelTally) -> Iterator[EdgeCount]:
    def label(position: int) -> str:
        if position == START:
            return "start"
        symbols = plan.positions[position].symbols
        return " & ".join(names[symbol] for symbol in symbols) if symbols else "ALL"

    came = [0] * len(plan.positions)
    came[START] = 1
    for edge, took in zip(plan.edges, tally.took or (), strict=False):
        came[edge.target] += took
    for number, edge in sorted(enumerate(plan.edges), key=lambda each: (each[1].target, each[1].source)):
        if tally.took is None:
            yield EdgeCount(label(edge.source), label(edge.target))
        else:
            lost = None if tally.lost is None else tally.lost[number]
            yield EdgeCount(label(edge.source), label(edge.target), came[edge.source], tally.took[number], lost)


@dataclass(frozen=True, slots=True)
class _Written:
    """A GPM as it is written; `places` are those of its triple patterns in its body."""

    query: Query
    define: Define
    places: Mapping[algebra.Member, int]

    @staticmethod
    def of(query: Query, define: Define) -> _Written:
        """The GPM of a query, read once more for the places."""
        body = query.text[define.body.start : define.body.end]
        return _Written(query, define, parse_group(body, dict(query.prefixes), query.base).places)

    def line(self, stage: Stage) -> int:
        """The line of the first triple pattern of a stage, or of the body."""
        blocks = (node.triples for node in walk(stage.node) if isinstance(node, BGP))
        triples = [triple for members in blocks for triple, _ in statements(members)]
        starts = [self.places[triple] for triple in triples if triple in self.places]
        return self._line_at(self.define.body.start + min(starts, default=0))

    def text(self, pattern: algebra.Pattern) -> str:
        """Triple patterns with the prefixes of the query; another pattern as `explain` shows it, on one line."""
        if isinstance(pattern, BGP):
            return " . ".join(self._triple(*each) for each in statements(pattern.triples))
        return "; ".join(map(str.strip, describe(pattern).splitlines()))

    def _triple(self, triple: algebra.Triple | algebra.PathTriple, terms: Sequence[algebra.TermParts]) -> str:
        text = with_terms(self._node, terms)
        match triple:
            case algebra.PathTriple(_, path, _):
                verb = path_text(path)
            case algebra.Triple(_, predicate, _):
                verb = "a" if predicate == IRI(RDF + "type") else text(predicate)
        return f"{text(triple.subject)} {verb} {text(triple.object)}"

    def condition(self, condition: algebra.Expression) -> tuple[str, int]:
        """Text and line of a filter."""
        for written in self.define.filters:
            if written.expression == condition:
                text = " ".join(self.query.text[written.span.start : written.span.end].split())
                return text, self._line_at(written.span.start)
        return f"FILTER {expression_text(condition)}", self._line_at(self.define.body.start)

    def _node(self, node: Node) -> str:
        if isinstance(node, Variable):
            return node.name if node.name.startswith("_:") else f"?{node.name}"
        if isinstance(node, IRI):
            for prefix, namespace in self.query.prefixes:
                local = node.value.removeprefix(namespace)
                if len(local) < len(node.value) and _PLAIN_LOCAL.fullmatch(local):
                    return f"{prefix}:{local}"
        return to_ntriples(node)

    def _line_at(self, offset: int) -> int:
        return self.query.text.count("\n", 0, offset) + 1


def _step(written: _Written, name: str, counts: StepTally) -> StepCount:
    patterns: list[PatternCount] = []
    filters: list[FilterCount] = []
    bases: list[KnowledgeCount] = []
    for stage, alone, left in zip(counts.stages, counts.alone, counts.left, strict=True):
        match stage.node:
            case algebra.Filter(condition, algebra.EMPTY) if stage.kind is Kind.OVER:
                filters.append(FilterCount(*written.condition(condition), left))
            case algebra.Minus(_, right) if stage.kind is Kind.OVER:
                removed = Stage(Kind.JOINED, right)
                filters.append(FilterCount(f"MINUS {{ {written.text(right)} }}", written.line(removed), left))
            case algebra.Graph(given, _) | algebra.Service(given, _):
                bases.append(KnowledgeCount(given.value if isinstance(given, IRI) else f"?{given.name}", left))
            case _ if stage.kind is Kind.OVER or isinstance(stage.node, algebra.EventData) or stage.node == EMPTY:
                pass  # OPTIONAL, BIND, AS and AT leave every event over
            case _:
                patterns.append(PatternCount(written.text(stage.node), written.line(stage), alone, left))
    return StepCount(name, counts.seen, tuple(patterns), tuple(filters), tuple(bases), counts.skipped, counts.solutions)
