"""The layouts of the states of evaluators: one declaration of each, by the name under which a state has it."""

from __future__ import annotations

from typing import Final

from automata.state import Layout

RUNS: Final = Layout("runs", "core negations intake reporter next_expiry held taken blind")
CHAINS: Final = Layout("lazy", "core negations intake reporter buffers negated horizon chains")
CEA: Final = Layout("cea", "core after")
REGISTERS: Final = Layout("registers", "machine after position taken")
PROPAGATION: Final = Layout("propagation", "position ids windows")
ADAPTIVE: Final = Layout("adaptive", "running beside position time retired taken switches policy")

RUN_TABLE: Final = Layout("table of runs", "rows registers made active finished")
NEGATIONS: Final = Layout("solutions of negated steps", "tables substreams")
REPORTER: Final = Layout("matches that wait", "pending held ready seen after")
AFTER_MATCH: Final = Layout("AFTER MATCH", "firsts lasts triggers")
SYMBOL_TABLES: Final = Layout("places of events", "position carries keys numbers seen")
CHAIN: Final = Layout("lazy chain", "waiting plan operations held")
CEA_CORE: Final = Layout("entries of complex event automata", "position entries solutions keys parts")
MACHINE: Final = Layout("register automaton", "runs places keys ends")
POOL: Final = Layout("runs of a register automaton", "rows registers ends")
RATES: Final = Layout("measured rates", "samples counts period rates")

LANES: Final = Layout("lanes of hopping windows", "lanes")
RATES_DECIDE: Final = Layout("choice by rates", "shifting wish meter")
KERNELS_LATER: Final = Layout("choice of kernels", "slices other")
"""Of what `spaseq.physical` makes of evaluators."""
