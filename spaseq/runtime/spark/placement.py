"""The key under which Spark groups a shard, chosen so that shards are spread evenly over tasks.

Spark puts a group into the partition `hash(key) modulo partitions`, and the hashes of 0, 1, 2 … fall as they like: of
two shards in two partitions, 0 and 1, both are in the same one, and half of the processors have nothing to do. So the
key of shard n is the number whose hash is n: it goes to partition n modulo partitions, however many there are.

The hash is Murmur3 with 32 bits and the seed 42 (org.apache.spark.unsafe.hash.Murmur3_x86_32, `hashLong`), of which
every step can be undone where the upper half of the number is 0.
"""

from __future__ import annotations

_WORD = 1 << 32
_SEED = 42
_LONG_BYTES = 8


def key_of(shard: int) -> int:
    """The bigint, from 0 to 2³² - 1, whose hash in Spark is this number."""
    mixed = _unfinished(shard % _WORD) ^ _LONG_BYTES
    of_lower = _unmixed(mixed)  # the upper half is 0, which adds nothing
    lower = _unmixed(of_lower) ^ _SEED
    return _divided(_rotated_right(_divided(lower, 0x1B873593), 15), 0xCC9E2D51)


def _unfinished(word: int) -> int:
    """Before Murmur3's last step, `fmix`."""
    word = _divided(word ^ word >> 16, 0xC2B2AE35)
    word ^= word >> 13 ^ word >> 26
    word = _divided(word, 0x85EBCA6B)
    return word ^ word >> 16


def _unmixed(word: int) -> int:
    """Before Murmur3's step `mixH1`: the exclusive or of what was mixed."""
    return _rotated_right(_divided((word - 0xE6546B64) % _WORD, 5), 13)


def _rotated_right(word: int, bits: int) -> int:
    return (word >> bits | word << 32 - bits) % _WORD


def _divided(word: int, odd: int) -> int:
    """By an odd number, modulo 2³²."""
    return word * pow(odd, -1, _WORD) % _WORD
