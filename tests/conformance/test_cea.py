"""Complex event automata against the reference, on random queries to which they apply.

NUMBA_DISABLE_JIT=1 runs the same tests with the kernels as Python, which then assert the invariants of tECS.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from automata.cea import core, creation_times, ordered
from automata.cea.applicability import why_not_cea
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.outputs import row_table
from spaseq.physical.program import compile_program
from tests.drawn import drawn
from tests.driving import comparable, run_engine
from tests.reference.api import evaluate
from tests.strategies.keyed import keyed_queries
from tests.strategies.stream import batches, cuts, interleaved, streams, to_trig

PAIRS = drawn(120)
SMALL = {"_NODES_FIRST": 8, "_LABELS": 4, "_EVENTS": 2, "_DEPTH_FIRST": 1, "_VECTORS_MAX": 5}
"""Buffers of the core that fill up with a few events."""
ROOT = Path(__file__).parent.parent.parent


@given(st.data())
@settings(max_examples=PAIRS)
def test_complex_event_automata_equal_the_reference_whatever_the_batches(data: st.DataObject) -> None:
    text = data.draw(keyed_queries())
    query = parse(text, "q")
    assume(why_not_cea(compile_program(build(query)).plan) is None)
    arrivals = {"S1": data.draw(streams(6, 12))["S1"]}
    note(f"{text}\n{to_trig(arrivals['S1'])}")
    arrived = interleaved(arrivals)
    expected = [comparable(row) for row in evaluate(query, arrivals)]
    assert [comparable(row) for row in run_engine(query, [arrived], evaluator="cea")] == expected
    pieces = batches(arrived, data.draw(cuts(len(arrived))))
    assert Counter(map(comparable, run_engine(query, pieces, evaluator="cea"))) == Counter(expected)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in SMALL.items():
            patch.setattr(core, name, size)
        patch.setattr(creation_times, "_STRIDE", 2)
        size = data.draw(st.sampled_from([1, 2, 7]))
        patch.setattr(ordered, "ROWS_MAX", size)
        patch.setattr(row_table, "ROWS_MAX", size)
        assert [comparable(row) for row in run_engine(query, [arrived], evaluator="cea")] == expected


def test_kernels_give_the_same_as_python_with_the_invariants_checked() -> None:
    """Compiled, they are tested by the same file beside all others."""
    long = "more_matches_than_there_is_room_for or however_long"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/automata/test_cea.py"]
    command += ["-k", f"not ({long})"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout
