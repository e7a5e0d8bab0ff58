"""The name of the graph that CONSTRUCT makes of a match which was found again."""

from __future__ import annotations

from automata.values import UNBOUND
from sparql_gpm.columns import RowEvent
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.stages.naming import MatchNames
from spaseq.runtime.state.graph_names import GraphNames
from spaseq.runtime.state.kept_solutions import KeptSolutions, SolutionRow
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.runs import Run


def graph_name(evidence: Evidence, run: Run) -> str:
    """The name by which a row of CONSTRUCT says which match it is of."""
    compiled, dictionary = evidence.compiled, evidence.dictionary
    query = compiled.query
    scopes = {entry.symbol: sorted(compiled.program.symbols[entry.symbol].scope) for entry in run.entries}
    solutions, names = KeptSolutions(scopes, query.variables, dictionary), GraphNames()
    enricher = Enricher(query.enrichments, query.variables, evidence.background, dictionary, evidence.evaluator)
    taken: dict[int, dict[int, list[SolutionRow]]] = {}
    entries = []
    for entry in run.entries:
        rows = taken.setdefault(entry.event, {}).setdefault(entry.symbol, [])
        entries.append((entry.symbol, entry.event, len(rows)))
        rows.append(tuple([entry.values.get(variable, UNBOUND) for variable in scopes[entry.symbol]]))
    for event, found in taken.items():
        solutions.add_one(event, found, RowEvent.each_of(evidence.single(event))[0])
        names.add_one(event, evidence.name(event))
    return MatchNames(compiled, dictionary, enricher, solutions, names).of_entries(entries)
