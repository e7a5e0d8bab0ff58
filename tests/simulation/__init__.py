"""Histories drawn at random, of a service and of an engine, each compared with an undisturbed twin after every step.

    history ──► steps ──► what is under test ──┐
                  └─────► its twin ────────────┴──► the first difference ──► fewer steps that still show it

`python -m tests.simulation --help`; `make thorough-simulation` runs 2,200 simulated hours.
"""
