"""Random changes to bytes: what a broken disk, a careless program or an attacker would send."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

EDITS_MAX = 6
REPEATED_MAX = 600
"""How often a slice is repeated at most: deep and long inputs."""
LENGTH_MAX = 20_000
DEEP_SHARE = 0.001
DEEP_BYTES = 300_000
"""A slice of an input or a piece is repeated so far in DEEP_SHARE of the inputs: parsers may need a stack for it."""
PIECES = (
    *(bytes([byte]) for byte in b"{}()[]<>\"'#,;:|&?!+*@\\^.0_ \t\r\n\x00\x1b\xff\xc3\x80"),
    *(b"{2,1}", b";+", b"^^", b"?x", b"_:b", b"/", b"*", b"\\u0041", b"\\ud800", b"\\U0010FFFF", "\u202e".encode()),
    *("é😀".encode(), b"9" * 30, b"-1", b"1e999", b"NaN", b'"""', b"<urn:x>", b"@prefix x: <y> .", b"GRAPH <urn:g> {"),
    *(b"SEQ(", b"ALL(", b"COUNT(*)", b"PREV(", b"EXISTS {", b"FILTER (", b" AS ?x", b"OPTIONAL {", b"UNION {"),
    *(b"DEFINE GPM A ON S1 {", b"WITHIN ", b"LIMIT 1", b"2262-04-12T00:00:00Z", b"REGEX(?x, '(a+)+$')"),
    *(b"<<( ", b" )>>", b"<< ", b" >>", b"{| ", b" |}", b" ~ ", b"--rtl", b'VERSION "1.2"', b"<<( <urn:a> <urn:b> "),
    *(b"null", b"[]", b'{"value":', b"true", b'"type": "uri"', b"xml:lang", b"# @message\n", b"\xef\xbb\xbf"),
)  # fmt: skip
NUMBERS = (0, 1, 2, 7, 8, 127, 128, 255, 256, 2**14, 2**15, 2**16 - 1, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**35)
"""Numbers about the bounds of widths, and their negatives."""
_WIDTHS = (1, 2, 4, 8)


def mutated(random: Random, data: bytes, others: Sequence[bytes] = (), binary: bool = False) -> bytes:
    """The data after up to EDITS_MAX edits, of at most LENGTH_MAX bytes; `others` lend slices.

    binary      numbers of fixed and variable width are overwritten too
    """
    for _ in range(random.randint(1, EDITS_MAX)):
        if binary and random.randrange(2):
            data = _renumbered(random, data)
            continue
        start = random.randint(0, len(data))
        end = min(len(data), start + random.choice((0, 1, 1, 3, 12, 60)))
        data = data[:start] + _replacement(random, data[start:end], others or (data,)) + data[end:]
    return data[:LENGTH_MAX] if random.random() >= DEEP_SHARE else _deep(random, data[:LENGTH_MAX])


def _deep(random: Random, data: bytes) -> bytes:
    start = random.randint(0, len(data))
    slice_ = random.choice((data[start : start + random.randint(1, 16)], random.choice(PIECES))) or b"["
    return data[:start] + slice_ * (DEEP_BYTES // len(slice_)) + data[start:]


def _replacement(random: Random, cut: bytes, others: Sequence[bytes]) -> bytes:
    match random.randrange(8):
        case 0:
            return b""
        case 1 | 2:
            return random.choice(PIECES)
        case 3:
            return cut + random.choice(PIECES)
        case 4:
            return cut * random.choice((2, 2, 2, 3, 3, 9, 40, REPEATED_MAX))
        case 5:
            return bytes(byte ^ (1 << random.randrange(8)) for byte in cut)
        case 6:
            other = random.choice(others)
            start = random.randint(0, len(other))
            return other[start : start + random.randint(0, 80)]
        case _:
            return random.randbytes(random.randint(0, 4))


def _renumbered(random: Random, data: bytes) -> bytes:
    """The data with another number at a place, most often near its beginning or end, where headers stand."""
    span = random.choice((8, 32, len(data), len(data)))
    place = random.randint(0, max(0, min(span, len(data)) - 1))
    if random.randrange(3) == 0:
        place = max(0, len(data) - 1 - place)
    number = random.choice(NUMBERS) * random.choice((1, 1, 1, -1))
    match random.randrange(3):
        case 0:
            width = random.choice(_WIDTHS)
            found = (number % (1 << 8 * width)).to_bytes(width, random.choice(("little", "big")))
            return data[:place] + found + data[place + width :]
        case 1:
            return data[:place] + varint(number % (1 << 64)) + data[_end_of_varint(data, place) :]
        case _:
            changed = (data[place] + random.choice((-1, 1))) % 256 if data else 0
            return data[:place] + bytes([changed]) + data[place + 1 :]


def varint(number: int) -> bytes:
    """A number of at most 64 bits in groups of seven bits, the least significant first."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _end_of_varint(data: bytes, place: int) -> int:
    while place < len(data) and data[place] >= 0x80:
        place += 1
    return place + 1
