"""Identities: those for a snapshot end at a position, and one that is read again is known as before."""

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


@pytest.mark.parametrize("seed", range(30))
def test_what_is_read_again_from_the_log_is_known_as_it_was_before(seed: int) -> None:
    """Keys come again when they are old; the clock goes back; what was asked and came to nothing has no effect."""
    draw = random.Random(seed)
    live, read, now, position = Identities(age_ns=10, events_max=12), Identities(age_ns=10, events_max=12), 100, 0
    for _ in range(60):
        now += draw.randrange(-8, 11)
        asked = [key.to_bytes(16, "big") for key in draw.sample(range(1, 21), 4)]
        known = live.known(asked, now)
        assert known == read.known(asked, now)
        keys = [key for key, is_known in zip(asked, known, strict=True) if not is_known]
        if draw.random() < 0.3:
            continue
        for each in (live, read):
            each.settle(Block(position + 1, now, keys))
        position += len(keys)
        assert all(read.known(keys, now))
    now += 1_000
    for each in (live, read):
        each.settle(Block(position + 1, now, []))
        assert not len(each)
