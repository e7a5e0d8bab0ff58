"""Random queries report a row behind the same event, however many come at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from unittest.mock import patch

from automata import protocol
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from tests import random_pairs
from tests.drawn import drawn
from tests.driving import as_batch
from tests.random_pairs import Pair

PAIRS = drawn(240)
KINDS = (*random_pairs.TEXTS, *[random_pairs.counted_over] * 20)
"""Windows of OVER MATCHES are due when they have passed, and not before what they wait for is decided."""


def test_a_row_comes_behind_the_same_event_whether_events_come_alone_or_together() -> None:
    rows = 0
    for number in range(PAIRS):
        pair = random_pairs.drawn(33, number, KINDS)
        if pair is None or len(pair.query.streams) > 1 or len(pair.arrived) < 3:
            continue
        dice = Random(number)
        ends = [*sorted(dice.sample(range(1, len(pair.arrived)), 2)), len(pair.arrived)]
        alone = _rows_after(pair, range(1, len(pair.arrived) + 1), protocol.FEW_EVENTS_MAX if number % 2 else 0)
        together = _rows_after(pair, ends, 0)
        assert together == [alone[end - 1] for end in ends], random_pairs.shown(pair)
        rows += alone[-1]
    assert rows > PAIRS // 4


def _rows_after(pair: Pair, ends: Sequence[int], few: int) -> list[int]:
    """The number of rows after so many events each; the piece up to each comes at once.

    few     so many events that come together go one by one
    """
    dictionary = Dictionary()
    network, setup = Network(dictionary, 0), Setup({}, RunOptions(), dictionary)
    found: list[Row] = []
    counts: list[int] = []
    with patch.object(protocol, "FEW_EVENTS_MAX", few):
        network.add(setup.operator(build(pair.query)), found.extend)
        for begin, end in pairwise([0, *ends]):
            network.push(pair.query.streams[0].iri, as_batch(pair.arrived[begin:end], dictionary))
            counts.append(len(found))
    setup.bases.close()
    return counts
