"""Bodies of events: each format read by the service's own reader, with the limits of one body."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from benchmarks.hostile_shapes import Shape, Way
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.options import PROV_TIME
from spaseq.inputs.event_times import TimeReading
from spaseq.inputs.tables.template import parse_template
from spaseq.service.core.bodies import BodyReading, read_body
from spaseq.service.core.body_bounds import BodyBounds, OverBound
from spaseq.service.errors import Refused
from spaseq.service.http.bodies import BodyBudget, received
from spaseq.service.settings.configuration import Limits

LIMITS = Limits()
MORE_BYTES = 64_000_000
"""Memory that a body may take beside `decoded`."""
_LOOK_SECONDS = 1.0
"""Processor time between two looks at the clock, at most: what a native parser does in one call."""
CHUNK_BYTES = 1 << 16
_TIME = b'"2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
_STAMP = b"<%b> %b" % (PROV_TIME.encode(), _TIME)
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
_TEMPLATE = f'<urn:row/{{n}}> {{ <urn:r> <urn:v> "{{a}}" ; <{PROV_TIME}> "{{b}}"^^<{_DATE_TIME}> . }}'
_DEEP = 250
"""Objects of JSON one in the other, half as many as are read."""


def _reads(body_format: str, template: str = "") -> Callable[[bytes], str]:
    """The reading of a body of this format."""
    time = TimeReading((PROV_TIME,), TimeRule())
    made = parse_template(template, "template.trig", time.predicates) if template else None
    reading, bounds = BodyReading(time, template=made), BodyBounds.of(LIMITS)

    def read(data: bytes) -> str:
        try:
            with bounds.held():
                body = read_body(data, body_format, reading, 0)
        except OverBound as over:
            return f"413: {over}"
        said = f"{len(body.events)} events, {body.duplicates} duplicates, {len(body.malformed)} left out"
        return f"{said}: {body.malformed[0].reason}" if body.malformed else said

    return read


def _receive(data: bytes) -> str:
    """The length of a packed body, unpacked as the HTTP server does."""

    class Request:
        headers: Mapping[str, str] = {"content-encoding": "gzip"}
        at = 0

        async def receive(self) -> dict[str, Any]:
            part, self.at = data[self.at : self.at + CHUNK_BYTES], self.at + CHUNK_BYTES
            return {"type": "http.request", "body": part, "more_body": self.at < len(data)}

    async def length() -> int:
        async with received(Request(), BodyBudget(LIMITS.body_bytes)) as body:  # type: ignore[arg-type]
            return len(body)

    try:
        return f"{asyncio.run(length()):,} bytes"
    except Refused as refused:
        return f"{refused.status}: {refused.detail}"


def _way(body_format: str, template: str = "") -> Way:
    memory = LIMITS.decoded_bytes + MORE_BYTES
    return Way(_reads(body_format, template), LIMITS.body_bytes, LIMITS.body_seconds + _LOOK_SECONDS, memory)


WAYS = {name: _way(name) for name in ("nquads", "ntriples", "turtle", "trig", "jsonld", "ndjsonld", "jelly")}
WAYS |= {name: _way(name, _TEMPLATE) for name in ("csv", "ndjson")}
WAYS["gzip"] = Way(_receive, LIMITS.body_bytes, LIMITS.body_seconds, MORE_BYTES)


def _filled(piece: bytes, begin: bytes = b"", end: bytes = b"") -> Callable[[int], bytes]:
    """A piece again and again between a beginning and an end."""
    return lambda size: begin + piece * max(1, (size - len(begin) - len(end)) // len(piece)) + end


def _numbered(form: bytes, begin: bytes = b"", end: bytes = b"") -> Callable[[int], bytes]:
    """Pieces with a number in place of each `%d`, until there are so many bytes."""
    places = form.count(b"%d")

    def make(size: int) -> bytes:
        made = bytearray(begin)
        for n in count():
            made += form % ((n,) * places)
            if len(made) >= size:
                return bytes(made + end)
        raise AssertionError

    return make


def _nested(opening: bytes, closing: bytes, begin: bytes = b"", inner: bytes = b"") -> Callable[[int], bytes]:
    """Brackets one in the other."""

    def make(size: int) -> bytes:
        depth = max(1, (size - len(begin)) // (len(opening) + len(closing)))
        return begin + opening * depth + inner + closing * depth

    return make


def _halves(begin: bytes, piece: bytes, end: bytes = b"", filler: bytes = b"a") -> Callable[[int], bytes]:
    """Half of it one long term, which stands in place of the `%b` of the beginning, the other half pieces."""
    return lambda size: begin % (filler * (size // 2)) + piece * (size // 2 // len(piece)) + end


def _both(first: bytes, second: bytes, begin: bytes = b"", end: bytes = b"") -> Callable[[int], bytes]:
    """Half of it one numbered piece, then as many bytes of another."""
    return lambda size: _numbered(first, begin)(size // 2) + _numbered(second)(size // 2) + end


def _in_deep_objects(size: int) -> bytes:
    """A long list inside many objects, each of which is held until its end."""
    return b'{"urn:p":' * _DEEP + b"[" + b"1," * (size // 2) + b"1]" + b"}" * _DEEP


def _many_deep_objects(size: int) -> bytes:
    """Many lists as long as may be, each inside many objects."""
    one = _in_deep_objects(8_000) + b","
    return b"[" + one * max(1, size // len(one)) + b"1]"


def _chained_context(size: int) -> bytes:
    """A context each of whose terms is defined by the next one."""
    return _numbered(b'"t%d":"t%d0:x",', b'{"@context":{')(16) + b"".join(_chain(size)) + b'"z":"urn:z"},"t0":1}'


def _chain(size: int) -> Iterator[bytes]:
    length = 0
    for n in count():
        yield (link := b'"c%d":"c%d:x",' % (n, n + 1))
        length += len(link)
        if length >= size:
            return


def _many_contexts(size: int) -> bytes:
    """One large context, and many objects with a context of their own."""
    terms = _numbered(b'"t%d":"urn:t%d",', b'{"@context":{')(size // 2) + b'"z":"urn:z"},"@graph":['
    return terms + b'{"@context":{}},' * (size // 2 // 16) + b"{}]}"


def _vocabulary(size: int) -> bytes:
    """A long vocabulary, and many short names in it."""
    begin = b'{"@context":{"@vocab":"urn:' + b"a" * (size // 2) + b'"},"@id":"urn:s"'
    return begin + b',"b":1' * (size // 2 // 6) + b"}"


def _ordinary_json_ld(size: int) -> bytes:
    """An ordinary document: a context and a graph of nodes."""
    begin = json.dumps({"@context": {"@vocab": "urn:v/", "time": PROV_TIME}, "@id": "urn:g"}).encode()[:-1]
    return _numbered(b'{"@id":"urn:node/%d","name":"some text","value":%d},', begin + b',"@graph":[', b"{}]}")(size)


def _again_apart(size: int) -> bytes:
    """One large event, and its graph again and again, each time apart."""
    large = _numbered(b"<urn:s/%d> <urn:p> <urn:o> <urn:g> .\n", b"<urn:g> %b .\n" % _STAMP)(size // 2)
    return large + b"<urn:h> %b .\n<urn:g> %b .\n" % (_STAMP, _STAMP) * (size // 2 // 300)


def _delimited(frame: bytes) -> bytes:
    return _varint(len(frame)) + frame


def _varint(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _jelly_begin(logical: int) -> bytes:
    """The options, and a statement whose terms all later ones repeat."""
    options = b"\x10\x02\x48\x80\x01\x50\x80\x01\x58\x80\x01" + b"\x70" + bytes([logical]) + b"\x78\x01"
    terms = b"".join(_field(2 + 4 * slot, b"x") for slot in (0, 2)) + _field(14, b"g")
    name = _field(1, _field(9, _field(2, b"urn:p")))
    return _field(1, _field(1, options)) + name + _field(1, _field(3, terms + _field(5, b"")))


def _jelly_repeated(logical: int) -> Callable[[int], bytes]:
    """Statements of two bytes that repeat all terms."""
    row = _field(1, _field(3, b""))
    return lambda size: _delimited(_jelly_begin(logical) + row * (size // len(row)))


def _jelly_long_prefix(size: int) -> bytes:
    """A long prefix, and many names with it."""
    prefix = _field(1, _field(10, _field(2, b"urn:" + b"a" * (size // 2))))
    return _delimited(_jelly_begin(4) + prefix + _jelly_names(size // 2))


def _jelly_names(size: int) -> bytes:
    made = bytearray()
    for n in count():
        made += _field(1, _field(9, _field(2, b"%d" % n))) + _field(1, _field(3, _field(9, b"\x08\x01")))
        if len(made) >= size:
            return bytes(made)
    raise AssertionError


def _packed(form: Callable[[int], bytes]) -> Callable[[int], bytes]:
    return lambda size: gzip.compress(form(size), 1)


_LINE = b"<http://example.org/sensor/%d> <http://example.org/value> <http://example.org/reading/%d> <urn:g> .\n"
_PREFIXES = b"@prefix p%d: <urn:n%d/> .\n"
_JSON_ROW = b'{"n":%d,"a":2,"b":"2026-01-01T00:00:00Z"}\n'
SHAPES = (
    Shape("ordinary lines", "nquads", _numbered(_LINE, b"<urn:g> %b .\n" % _STAMP)),
    Shape("line ends", "nquads", _filled(b"\n")),
    Shape("spaces", "nquads", _filled(b" ")),
    Shape("comments", "nquads", _filled(b"#\n")),
    Shape("malformed lines", "nquads", _filled(b"x\n")),
    Shape("malformed lines of graphs", "nquads", _numbered(b"x <urn:%d> .\n")),
    Shape("graphs of one triple", "nquads", _numbered(b"<u:%d> " + _STAMP + b" .\n_:a <u:p> _:b <u:%d> .\n")),
    Shape("times only", "nquads", _numbered(b"<u:%d> " + _STAMP + b" .\n")),
    Shape("one literal", "nquads", _filled(b"a", b'<urn:s> <urn:p> "', b'" <urn:g> .')),
    Shape("one open string", "nquads", _filled(b"a", b'<urn:s> <urn:p> "')),
    Shape("backslashes", "nquads", _filled(b"\\", b'<urn:s> <urn:p> "')),
    Shape("one triple again", "nquads", _filled(b"<urn:s> <urn:p> <urn:o> <urn:g> .\n", b"<urn:g> %b .\n" % _STAMP)),
    Shape("a graph again apart", "nquads", _again_apart),
    Shape("triple terms in line", "nquads", _nested(b"<<( <u:s> <u:p> ", b" )>>", b"<u:s> <u:p> ", b"1")),
    Shape("malformed lines", "ntriples", _filled(b"x\n")),
    Shape("carriage returns", "ntriples", _filled(b"\r")),
    Shape("ordinary lines", "turtle", _numbered(_LINE.replace(b" <urn:g>", b""), b"<urn:g> %b .\n" % _STAMP)),
    Shape("open collections", "turtle", _filled(b"(", b"[] <urn:p> ")),
    Shape("closed collections", "turtle", _nested(b"(", b")", b"[] <urn:p> ", b"1")),
    Shape("open property lists", "turtle", _filled(b"[<u:p>", b"[] <urn:p> ")),
    Shape("open reified triples", "turtle", _filled(b"<<", b"[] <urn:p> ")),
    Shape("open annotations", "turtle", _filled(b"{|<u:p> 1", b"<u:s> <u:p> 1 ")),
    Shape("one list of numbers", "turtle", _filled(b"1 ", b"<urn:s> <urn:p> (", b") .")),
    Shape("objects of one subject", "turtle", _filled(b"1,", b"<urn:s> <urn:p> ", b"1 .")),
    Shape("empty property lists", "turtle", _filled(b"[],", b"<urn:s> <urn:p> ", b"1 .")),
    Shape("a long prefix", "turtle", _halves(b"@prefix p: <urn:%b> . p:a p:b p:c", b",p:c", b" .")),
    Shape("a long subject", "turtle", _halves(b"<urn:%b> <urn:p> 1", b",1", b" .")),
    Shape("a long reified literal", "turtle", _halves(b'<urn:s> <urn:p> "%b"', b"~", b" .")),
    Shape("a long base", "turtle", _halves(b"@base <urn:/%b/> . <a> <b> <c>", b",<c>", b" .")),
    Shape("prefixes", "turtle", _numbered(_PREFIXES)),
    Shape("line ends", "trig", _filled(b"\n")),
    Shape("comments", "trig", _filled(b"#\n")),
    Shape("empty graphs", "trig", _numbered(b"<u:%d>{}\n")),
    Shape("graphs of one triple", "trig", _numbered(b"<u:%d>{<u:s> " + _STAMP + b"}")),
    Shape("open braces", "trig", _filled(b"{")),
    Shape("open braces on lines", "trig", _filled(b"{\n")),
    Shape("dots", "trig", _filled(b". ")),
    Shape("prefixes", "trig", _numbered(_PREFIXES)),
    Shape("prefixes, then their use", "trig", _both(_PREFIXES, b"p%d:a { p%d:s p%d:p 1 }\n")),
    Shape("a long prefix", "trig", _halves(b"@prefix p: <urn:%b> .\n", b"p:a { p:a p:b p:c }\n")),
    Shape("open collections in a graph", "trig", _filled(b"(", b"<u:g> { [] <urn:p> ")),
    Shape("open long string", "trig", _filled(b"a\n", b'<u:g> { <u:s> <u:p> """')),
    Shape("ordinary", "jsonld", _ordinary_json_ld),
    Shape("open arrays", "jsonld", _filled(b"[")),
    Shape("empty arrays", "jsonld", _filled(b"[],", b'{"@context":{},"@graph":[', b"[]]}")),
    Shape("empty objects", "jsonld", _filled(b"{},", b'{"@context":{},"@graph":[', b"{}]}")),
    Shape("a list in deep objects", "jsonld", _in_deep_objects),
    Shape("many lists in deep objects", "jsonld", _many_deep_objects),
    Shape("a chain of terms", "jsonld", _chained_context),
    Shape("many contexts", "jsonld", _many_contexts),
    Shape("a long vocabulary", "jsonld", _vocabulary),
    Shape("one open string", "jsonld", _filled(b"a", b'{"')),
    Shape("empty lines", "ndjsonld", _filled(b"\n")),
    Shape("empty objects", "ndjsonld", _filled(b"{}\n")),
    Shape("malformed lines", "ndjsonld", _filled(b"x\n")),
    Shape("lines with a context", "ndjsonld", _numbered(b'{"@context":{"a":"u:%d"},"a":1}\n')),
    Shape("repeated statements", "jelly", _jelly_repeated(4)),
    Shape("repeated statements, flat", "jelly", _jelly_repeated(2)),
    Shape("a long prefix", "jelly", _jelly_long_prefix),
    Shape("empty frames", "jelly", _filled(b"\0")),
    Shape("ordinary rows", "csv", _numbered(b"%d,1,2026-01-01T00:00:00Z\n", b"n,a,b\n")),
    Shape("line ends", "csv", _filled(b"\n", b"n,a,b\n")),
    Shape("columns", "csv", _numbered(b"c%d,", b"n,a,b,", b"z\n")),
    Shape("columns and rows", "csv", _both(b"c%d,", b"1\n", b"n,a,b,", b"\n")),
    Shape("rows of one cell", "csv", _filled(b"x\n", b"n,a,b\n")),
    Shape("an open quote", "csv", _filled(b"a\n", b'n,a,b\n"')),
    Shape("one long cell", "csv", _filled(b"a", b"n,a,b\n1,", b",2026-01-01T00:00:00Z\n")),
    Shape("ordinary rows", "ndjson", _numbered(_JSON_ROW)),
    Shape("empty lines", "ndjson", _filled(b"\n")),
    Shape("malformed lines", "ndjson", _filled(b"x\n")),
    Shape("an open array", "ndjson", _filled(b"[")),
    Shape("keys", "ndjson", _numbered(b'"k%d":1,', b"{", b'"n":1}\n')),
    Shape("nested objects", "ndjson", _nested(b'{"a":', b"}", b"", b"1")),
    Shape("zeros", "gzip", _packed(_filled(b"\0"))),
    Shape("line ends", "gzip", _packed(_filled(b"\n"))),
    Shape("empty members", "gzip", _filled(gzip.compress(b""))),
    Shape("members of one byte", "gzip", _filled(gzip.compress(b"a"))),
    Shape("empty blocks", "gzip", _filled(b"\0\0\0\xff\xff", gzip.compress(b"")[:10])),
)  # fmt: skip
