"""Solutions as complex event automata keep them: in order, each in columns for its own variables."""

from __future__ import annotations

from random import Random

import numpy as np

from automata.cea.bit_vectors import solve
from automata.cea.layout import layout_of
from automata.plan.expression import Contiguity, Sequence, Step
from automata.plan.plan import Plan, compile_plan
from automata.plan.program import Program, Selector, Skip, Symbol, Window
from automata.slices.events import SymbolSolutions
from automata.values import UNBOUND
from tests.drawn import drawn

VARIABLES, EVENTS = 5, 9


def drawn_plan(dice: Random) -> Plan:
    """One to four symbols with variables of their own, which share none, one or two."""
    joined = frozenset(range(dice.randrange(3)))
    free = [frozenset(dice.sample(range(2, VARIABLES), dice.randrange(3))) for _ in range(dice.randrange(1, 5))]
    symbols = tuple(Symbol("ABCD"[n], joined, joined | some, joined) for n, some in enumerate(free))
    operators = (Contiguity.ANY,) * (len(symbols) - 1)
    sequence = Sequence(tuple(map(Step, range(len(symbols)))), operators)
    window = Window(10, False, True)
    return compile_plan(
        Program(sequence, symbols, VARIABLES, (), window, (), Selector.ALL, Skip.NO_SKIP, (), len(symbols))
    )


def drawn_solutions(dice: Random, plan: Plan) -> dict[int, SymbolSolutions]:
    """Of each symbol none, one or several in an event, some without a value for a variable of the key."""
    found = {}
    for number, symbol in enumerate(plan.program.symbols):
        often = dice.choice((1, 1, 3))
        events = sorted(event for event in range(EVENTS) for _ in range(dice.randrange(often + 1)))
        unbound = dice.choice((0, 0, 1))
        values = {
            variable: np.array([dice.randrange(1 - unbound, 4) for _ in events], dtype=np.int64)
            for variable in symbol.scope
        }
        found[number] = SymbolSolutions(np.array(events, dtype=np.int64), values)
    return found


def test_solutions_are_sorted_by_event_key_and_symbol_and_keep_their_values_and_numbers() -> None:
    several = keyed = left_out = 0
    for number in range(drawn(60)):
        dice = Random(f"layout {number}")
        plan = drawn_plan(dice)
        layout, solutions = layout_of(plan), drawn_solutions(dice, plan)
        solved, keys = solve(solutions, layout)
        rows = []
        for symbol, table in solutions.items():
            before: dict[int, int] = {}
            for place, event in enumerate(table.events.tolist()):
                values = [int(table.values[v][place]) if v in table.values else UNBOUND for v in range(VARIABLES)]
                key = tuple(values[variable] for variable in layout.key)
                rows.append((event, key, symbol, before.setdefault(event, 0), values))
                before[event] += 1
        taken = sorted(row for row in rows if UNBOUND not in row[1])
        spread = layout.spread(solved.symbols, solved.values).tolist()
        of_each = zip(solved.events.tolist(), solved.keys.tolist(), solved.symbols.tolist(), strict=True)
        found = [
            (event, keys[key], symbol, int(solved.values[place, -1]), spread[place])
            for place, (event, key, symbol) in enumerate(of_each)
        ]
        assert found == taken, number
        packed = layout.packed(solved.symbols, np.array(spread).reshape(-1, VARIABLES), solved.values[:, -1])
        assert packed.tolist() == solved.values.tolist()
        borders = [n for n in range(len(taken)) if not n or taken[n][:3] != taken[n - 1][:3]]
        assert solved.entries.tolist() == borders
        vectors = [n for n, at in enumerate(borders) if not n or taken[at][:2] != taken[borders[n - 1]][:2]]
        assert solved.vectors.tolist() == vectors
        symbols = [{taken[at][2] for at in borders if taken[at][:2] == taken[borders[n]][:2]} for n in vectors]
        assert solved.bits.tolist() == [sum(1 << symbol for symbol in some) for some in symbols]
        several += len(borders) < len(taken)
        keyed += len(keys) > 1
        left_out += len(taken) < len(rows)
    assert min(several, keyed, left_out) > drawn(60) // 10
