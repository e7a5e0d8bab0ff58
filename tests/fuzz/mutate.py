"""Random changes to bytes: what a broken disk, a careless program or an attacker would send."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

EDITS_MAX = 6
REPEATED_MAX = 600
"""How often a slice is repeated at most: deep and long inputs."""
LENGTH_MAX = 20_000
PIECES = (
    *(bytes([byte]) for byte in b"{}()[]<>\"'#,;:|&?!+*@\\^.0_ \t\r\n\x00\x1b\xff\xc3\x80"),
    *(b"{2,1}", b";+", b"^^", b"?x", b"_:b", b"/", b"*", b"\\u0041", b"\\ud800", b"\\U0010FFFF", "\u202e".encode()),
    *("é😀".encode(), b"9" * 30, b"-1", b"1e999", b"NaN", b'"""', b"<urn:x>", b"@prefix x: <y> .", b"GRAPH <urn:g> {"),
    *(b"SEQ(", b"ALL(", b"COUNT(*)", b"PREV(", b"EXISTS {", b"FILTER (", b" AS ?x", b"OPTIONAL {", b"UNION {"),
    *(b"DEFINE GPM A ON S1 {", b"WITHIN ", b"LIMIT 1", b"2262-04-12T00:00:00Z", b"REGEX(?x, '(a+)+$')"),
    *(b"<<( ", b" )>>", b"<< ", b" >>", b"{| ", b" |}", b" ~ ", b"--rtl", b'VERSION "1.2"', b"<<( <urn:a> <urn:b> "),
    *(b"null", b"[]", b'{"value":', b"true", b'"type": "uri"', b"xml:lang"),
)  # fmt: skip


def mutated(random: Random, data: bytes, others: Sequence[bytes] = ()) -> bytes:
    """The data after up to EDITS_MAX edits, of at most LENGTH_MAX bytes; `others` lend slices."""
    for _ in range(random.randint(1, EDITS_MAX)):
        start = random.randint(0, len(data))
        end = min(len(data), start + random.choice((0, 1, 1, 3, 12, 60)))
        data = data[:start] + _replacement(random, data[start:end], others) + data[end:]
    return data[:LENGTH_MAX]


def _replacement(random: Random, cut: bytes, others: Sequence[bytes]) -> bytes:
    match random.randrange(8):
        case 0:
            return b""
        case 1 | 2:
            return random.choice(PIECES)
        case 3:
            return cut + random.choice(PIECES)
        case 4:
            return cut * random.choice((2, 2, 3, REPEATED_MAX))
        case 5:
            return bytes(byte ^ (1 << random.randrange(8)) for byte in cut)
        case 6 if others:
            other = random.choice(others)
            start = random.randint(0, len(other))
            return other[start : start + random.randint(0, 80)]
        case _:
            return random.randbytes(random.randint(0, 4))
