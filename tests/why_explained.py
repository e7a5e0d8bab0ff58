"""Rows that are explained: each is found again, with all its events, as often as there are rows like it."""

from __future__ import annotations

from collections import Counter

from automata.plan.program import Selector, Skip
from sparql_gpm.pattern import Variable
from spaseq.algebra.nodes import TemporalQuery
from spaseq.lang.ast import Query
from spaseq.outputs.rows import Row
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.reasons import Found, absences, matches_of, steps_taken
from tests.driving import run_engine
from tests.reference.stream import Events
from tests.why_evidence import evidence_of

ROWS = 12
"""Rows of a pair that are found again."""


def check_explained(number: int, query: Query, events: Events) -> Counter[str]:
    """Every row has a match that explains it, and no other row has the same one."""
    if query.over_matches:
        return Counter()
    evidence, seen = evidence_of(query, events), Counter[str]()
    rows = run_engine(query, [[(event.stream, event.time, event.name, event.triples) for event in events]])
    for row in rows[:ROWS]:
        found, alike = list(matches_of(evidence, row)), rows.count(row)
        assert len(found) >= alike, (number, row)
        assert len(found) == alike or not tells_matches(evidence.compiled.query), (number, row)
        assert all(explains(evidence, match, row) for match in found), (number, row)
        twice = any(len({*names}) < len(names) for _, names in row.events)
        seen += Counter(rows=1, alike=alike > 1, twice=twice)
    return seen


def explains(evidence: Evidence, match: Found, row: Row) -> bool:
    """True if a match has the events of a row, one that a step took twice (`A & A`) twice, and its conditions hold."""
    steps = steps_taken(evidence, match)
    taken = tuple((name, tuple(step.event for step in steps if step.step == name)) for name, _ in row.events)
    hold = all(condition.holds for step in steps for condition in step.conditions)
    return taken == row.events and hold and all(each.start <= each.end for each in absences(evidence, match))


def tells_matches(query: TemporalQuery) -> bool:
    """True if each match gives a row, and its row has all that tells it from those with other values."""
    removes = query.selector is not Selector.ALL or query.skip is not Skip.NO_SKIP or query.distinct
    computed = {bind.name for bind in query.binds}
    plain = (isinstance(each.expression, Variable) and each.expression.name not in computed for each in query.columns)
    return query.template is not None or (not (removes or query.limit is not None) and all(plain))
