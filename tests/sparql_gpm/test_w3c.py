"""The W3C evaluation tests about graph patterns, from the folder that SPASEQ_RDF_TESTS names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparql_gpm.background import BackgroundError
from sparql_gpm.errors import PatternSyntaxError
from tests.sparql_gpm.w3c import cases, passes

FOLDER = os.environ.get("SPASEQ_RDF_TESTS")
CASES = {case.identifier: case for case in cases(Path(FOLDER))} if FOLDER else {}

KNOWN_FAILURES: tuple[str, ...] = (
    # A knowledge base that is named but not supplied is an error before anything runs, not an empty graph.
    "sparql10/graph/graph-empty-not-exist: graph-not-exist",
    # BNODE("a") twice in one solution gives two blank nodes here: each expression is
    # evaluated by itself, for all solutions at once.
    "sparql11/functions/bnode01: BNODE(str)",
)
"""Tests that the matcher answers differently, each with its reason."""


@pytest.mark.parametrize("identifier", CASES or ["SPASEQ_RDF_TESTS is not set"])
def test_the_answer_is_the_one_of_the_w3c(identifier: str) -> None:
    case = CASES.get(identifier)
    if case is None:
        assert not FOLDER
        return
    try:
        right = passes(case)
    except (BackgroundError, PatternSyntaxError):
        right = False
    assert right == (identifier not in KNOWN_FAILURES)


def test_every_known_failure_is_a_test() -> None:
    assert not FOLDER or set(KNOWN_FAILURES) <= set(CASES)
