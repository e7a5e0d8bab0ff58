"""The bounds of a query's size: what the meaning of a query needs in time and memory can be far more than its text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sparql_gpm.algebra.traversal import subexpressions
from sparql_gpm.pattern import Expression, Variable
from spaseq.lang.ast import Projection, TopLevelFilter
from spaseq.lang.codes import Code
from spaseq.lang.report import Report
from spaseq.lang.scopes import Occurrence

STEPS_MAX = 1_000
"""Steps of SEQ( ), each counted as often as it is written."""
STEP_VARIABLES_MAX = 100_000
"""Variables that the steps of SEQ( ) bind, each counted at each of its steps."""
CONDITION_TERMS_MAX = 10_000
"""Operations and terms of a FILTER beside the DEFINEs, with the expressions of its BINDs in their places."""
CONDITION_LEVELS_MAX = 60
"""BINDs that are computed from one another."""
_HINT = "docs/reference/limits.md has the bounds of a query"


def within_steps(found: Sequence[Occurrence], report: Report) -> bool:
    """False after reporting that a sequence has too many steps."""
    if len(found) <= STEPS_MAX:
        return True
    message = f"SEQ( ) has {len(found):,} steps, and at most {STEPS_MAX:,} (steps of a sequence)"
    report.add(Code.BEYOND_BOUND, found[STEPS_MAX].step.span, message, "A{2,9} repeats a step")
    return False


def within_variables(found: Sequence[Occurrence], binds: Mapping[str, Collection[str]], report: Report) -> bool:
    """False after reporting that the steps bind too many variables."""
    count = sum(len(binds.get(occurrence.step.symbol, ())) for occurrence in found)
    if count <= STEP_VARIABLES_MAX:
        return True
    message = f"the steps bind {count:,} variables, and at most {STEP_VARIABLES_MAX:,} (variables of steps)"
    report.add(Code.BEYOND_BOUND, found[0].step.span, message, "write [] for what no other step and no column uses")
    return False


def check_conditions(binds: Sequence[Projection], filters: Iterable[TopLevelFilter], report: Report) -> None:
    """Reports the first BIND and the FILTERs beside the DEFINEs that are too large with BINDs in their places."""
    terms: dict[str, int] = {}
    levels: dict[str, int] = {}
    for bind in binds:
        if bind.expression is not None and bind.variable not in terms:
            level = 1 + max((levels.get(name, 0) for name in _names(bind.expression)), default=0)
            terms[bind.variable], levels[bind.variable] = _terms(bind.expression, terms), level
            if level > CONDITION_LEVELS_MAX:
                message = f"more than {CONDITION_LEVELS_MAX} BINDs are computed from one another (levels of BIND)"
                report.add(Code.BEYOND_BOUND, bind.span, message, _HINT)
                return
    for condition in filters:
        if _terms(condition.expression, terms) > CONDITION_TERMS_MAX:
            message = (
                f"with its BINDs in their places this FILTER has more than {CONDITION_TERMS_MAX:,} operations and "
                "terms (terms of a condition)"
            )
            report.add(Code.BEYOND_BOUND, condition.span, message, _HINT)


def _names(expression: Expression) -> Iterable[str]:
    return (each.name for each in subexpressions(expression) if isinstance(each, Variable))


def _terms(expression: Expression, terms: Mapping[str, int]) -> int:
    """The nodes of an expression with those that stand for its variables, counted up to the bound."""
    count = sum(terms.get(each.name, 1) if isinstance(each, Variable) else 1 for each in subexpressions(expression))
    return min(count, CONDITION_TERMS_MAX + 1)
