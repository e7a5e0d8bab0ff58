"""Identities for a snapshot: those of the events up to a position, and not one more."""

from __future__ import annotations

import random

import pytest

from spaseq.service.core.identities import Block, Identities


@pytest.mark.parametrize("seed", range(50))
def test_blocks_end_at_the_position(seed: int) -> None:
    draw = random.Random(seed)
    identities, position = Identities(age_ns=10**18, events_max=draw.choice((7, 20, 1000))), 0
    for at in range(draw.randrange(1, 12)):
        count = draw.randrange(0, 6)
        keys = [number.to_bytes(16, "big") for number in range(position + 1, position + count + 1)]
        identities.settle(Block(position + 1, at, keys))
        position += count
    kept = range(max(1, position + 1 - len(identities)), position + 1)
    for last in range(position + 2):
        found = [
            (block.first + index, int.from_bytes(key, "big"))
            for block in identities.blocks(last)
            for index, key in enumerate(block.keys)
        ]
        assert found == [(number, number) for number in kept if number <= last]
