"""Semi-joins: the events with a solution for one of some values, as one triple pattern tells (G Section 7.2.1)."""

from __future__ import annotations

import numpy as np

from sparql_gpm.columns import Ids, Mask
from sparql_gpm.matching import operators
from sparql_gpm.matching.bgp import Scan
from sparql_gpm.matching.bgp_view import ALL, BatchView
from sparql_gpm.matching.pattern_expression import Operator


def semi_join_scan(operator: Operator, variable: str) -> Scan | None:
    """A triple pattern from which every solution of a compiled pattern takes its value of the variable."""
    match operator:
        case operators.Join(scans, others):
            plain = (scan for scan in scans if isinstance(scan, Scan) and isinstance(scan.predicate, int))
            own = (scan for scan in plain if variable in (scan.subject, scan.object))
            found = (semi_join_scan(other, variable) for other in others)
            return next(own, None) or next(filter(None, found), None)
        case operators.LeftJoin(inner) | operators.Minus(inner) | operators.Filter(inner) | operators.Distinct(inner):
            return semi_join_scan(inner, variable)
        case operators.Project(inner, variables) if variable in variables:
            return semi_join_scan(inner, variable)
        case _:
            return None


def semi_join_events(scan: Scan, variable: str, view: BatchView, values: Ids) -> Mask:
    """The events with a triple that gives the variable one of the values."""
    assert isinstance(scan.predicate, int), scan
    triples = view.triples(scan.predicate, scan.fixed(scan.subject), scan.fixed(scan.object))
    column = triples.subjects(ALL) if scan.subject == variable else triples.objects(ALL)
    found = np.zeros(len(view), dtype=np.bool_)
    found[triples.events[np.isin(column, values)]] = True
    return found
