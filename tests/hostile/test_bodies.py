"""Bodies of events made to cost much: refused before they take the memory or the time, whatever their format."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparql_gpm.reading import json_depth, trig_context
from sparql_gpm.reading.blocks import Blocks
from sparql_gpm.reading.context_cost import CONTEXT_CHAIN_MAX
from sparql_gpm.reading.event_times import TimeRule
from sparql_gpm.reading.json_depth import is_deep, marks_in_objects
from sparql_gpm.reading.nesting import NESTED_MAX, check_nesting
from sparql_gpm.reading.options import PROV_TIME
from sparql_gpm.reading.strict import parse, parser_of
from sparql_gpm.reading.trig_context import NAMESPACE_BYTES_MAX
from spaseq.inputs import cutting
from spaseq.inputs.event_times import TimeReading
from spaseq.inputs.tables.template import parse_template
from spaseq.service.core import body_bounds
from spaseq.service.core.bodies import Body, BodyReading, read_body
from spaseq.service.core.body_bounds import BodyBounds, OverBound
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.http.bodies import BodyBudget, received
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.streams import StreamSettings

READING = BodyReading(TimeReading((PROV_TIME,), TimeRule()))
STAMP = b'<%b> "2026-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>' % PROV_TIME.encode()
SMALL = BodyBounds(5_000_000, 60)


def read(data: bytes, body_format: str, bounds: BodyBounds = SMALL) -> Body:
    with bounds.held():
        return read_body(data, body_format, READING, 0)


# --- depth ----------------------------------------------------------------------------------------

OPENINGS = {"collections": b"(", "property lists": b"[<u:p>", "reified": b"<<", "annotations": b"{|<u:p> 1"}


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS.keys())
@pytest.mark.parametrize(("body_format", "begin"), [("turtle", b""), ("trig", b"<u:g> {")])
def test_what_nests_too_deeply_never_reaches_the_parser(
    opening: bytes, body_format: str, begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    parser = ox.parse
    monkeypatch.setattr(ox, "parse", lambda text, *rest: taken.append(len(text)) or parser(text, *rest))
    data = b"%b <u:s> <u:p> 1 ;\n <u:q> %b" % (begin, opening * 50_000)
    body = read(data, body_format)
    assert [(fault.line, fault.kind) for fault in body.malformed] == [(2, "syntax")]
    assert f"more than {NESTED_MAX:,} deep" in body.malformed[0].reason
    assert max(taken, default=0) < 1_000, "only the probe for the name of the graph"


@pytest.mark.parametrize("deeper", [0, 1])
@pytest.mark.parametrize(("opening", "closing"), [(b"(", b")"), (b"[<u:p> ", b"]")])
def test_the_deepest_nesting_is_read_and_a_deeper_one_is_said_at_its_place(
    opening: bytes, closing: bytes, deeper: int
) -> None:
    depth = NESTED_MAX + deeper
    text = b"<u:s> <u:p>\n'((((' , %b1%b ." % (opening * depth, closing * depth)
    if not deeper:
        assert len(list(parse(text, ox.RdfFormat.TURTLE))) > depth
        return
    with pytest.raises(SyntaxError) as error:
        list(parse(text, ox.RdfFormat.TURTLE))
    assert (error.value.lineno, error.value.offset) == (2, len("'((((' , ") + len(opening) * NESTED_MAX + 1)


@given(st.text("([{<)]}>\"' #\n\\a", max_size=60), st.integers(0, 4))
def test_brackets_are_counted_as_a_lexer_meets_them(text: str, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparql_gpm.reading.nesting.NESTED_MAX", most)
        patch.setattr("sparql_gpm.reading.nesting._PIECE_BYTES", 3)
        found: SyntaxError | None = None
        try:
            check_nesting(text.encode())
        except SyntaxError as error:
            found = error
    openings = sum(map(text.count, ("(", "[", "<<", "{|")))
    assert found is None or openings > most
    if not set(text) & set("\"'#\\<>") and openings > most:
        depth = deepest = 0
        for character in text:
            depth = max(0, depth + (character in "([{") - (character in ")]}"))
            deepest = max(deepest, depth)
        assert (found is not None) == (deepest > most)


@given(
    st.recursive(
        st.none() | st.text('"\\{[,:', max_size=5),
        lambda some: st.lists(some) | st.dictionaries(st.text('"\\}', max_size=3), some),
    ),
    st.integers(1, 7),
)
def test_the_depth_and_the_cost_of_json_do_not_depend_on_where_it_is_cut(value: Any, size: int) -> None:
    text = json.dumps(value).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_depth, "_FEW", -1)
        whole = marks_in_objects(text, 0)
        assert whole == _marks(value, 0)[0]
        patch.setattr(json_depth, "_PIECE_BYTES", size)
        assert marks_in_objects(text, 0) == whole
        for most in (0, 1, 2, 5):
            patch.setattr(json_depth, "JSON_DEPTH_MAX", most)
            assert is_deep(io.BytesIO(text)) == (_depth(value) > most)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (1 if isinstance(value, dict | list) else 0) + max(map(_depth, inner), default=0)


def _marks(value: Any, around: int) -> tuple[int, int]:
    """The marks of the outermost object with most, and those of all if there is an object around."""
    if not isinstance(value, dict | list):
        return 0, 0
    own = around + isinstance(value, dict)
    inner = [_marks(each, own) for each in (value.values() if isinstance(value, dict) else value)]
    commas = max(0, len(value) - 1) * own
    marks = own + around + commas + (own * len(value) if isinstance(value, dict) else own - around)
    total = marks + sum(each for _, each in inner)
    return (total if not around and isinstance(value, dict) else max((most for most, _ in inner), default=0)), total


# --- contexts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["forward", "backward", "objects", "scoped", "array"])
def test_a_long_chain_of_terms_is_malformed_and_does_not_end_the_process(form: str) -> None:
    length = 20_000
    order = range(length) if form != "backward" else range(length, 0, -1)
    terms: dict[str, Any] = {f"t{n}": f"t{n + 1}:x" for n in order}
    if form == "objects":
        terms = {name: {"@id": value} for name, value in terms.items()}
    context: Any = (
        {"s": {"@id": "urn:s", "@context": terms}} if form == "scoped" else [{}, terms] if form == "array" else terms
    )
    body = read(json.dumps({"@context": context, "t0": 1}).encode(), "jsonld", BodyBounds(10**9, 60))
    assert "terms each defined by another" in body.malformed[0].reason


def test_a_context_with_a_chain_that_is_long_enough_is_read() -> None:
    chain = {f"t{n}": f"t{n + 1}:x" for n in range(CONTEXT_CHAIN_MAX - 1)} | {f"t{CONTEXT_CHAIN_MAX - 1}": "urn:x"}
    body = read(json.dumps({"@context": chain, PROV_TIME: "x", "t0": 1}).encode(), "jsonld")
    assert "timestamp" in body.malformed[0].reason


@pytest.mark.parametrize("scoped", [True, False])
def test_many_objects_with_contexts_in_a_large_one_are_malformed(scoped: bool) -> None:
    large: dict[str, Any] = {f"t{n}": f"urn:t{n}" for n in range(3_000)}
    node: dict[str, Any] = {"s": {}} if scoped else {"@context": {}}
    if scoped:
        large["s"] = {"@id": "urn:s", "@context": {}}
    document = {"@context": large, "@graph": [node] * 3_000}
    body = read(json.dumps(document).encode(), "jsonld", BodyBounds(10**9, 60))
    assert "in force" in body.malformed[0].reason


# --- what a body becomes --------------------------------------------------------------------------


def _jelly() -> bytes:
    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    options = b"\x10\x02\x48\x80\x01\x50\x80\x01\x58\x80\x01\x70\x04\x78\x01"
    terms = field(2, b"x") + field(10, b"x") + field(14, b"g") + field(5, b"")
    rows = field(1, field(1, options)) + field(1, field(9, field(2, b"urn:p"))) + field(1, field(3, terms))
    rows += field(1, field(3, b"")) * 20_000
    length, made = len(rows), bytearray()
    while length >= 0x80:
        made.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes((*made, length)) + rows


GROWING = {
    "objects": ("turtle", b"<u:s> <u:p> 1" + b",1" * 30_000 + b" ."),
    "list": ("turtle", b"<u:s> <u:p> (" + b"1 " * 30_000 + b") ."),
    "prefix": ("turtle", b"@prefix p: <u:" + b"a" * 50_000 + b"> . p:a p:b p:c" + b",p:c" * 500 + b" ."),
    "subject": ("turtle", b"<u:" + b"a" * 50_000 + b"> <u:p> 1" + b",1" * 500 + b" ."),
    "reified": ("turtle", b'<u:s> <u:p> "' + b"a " * 25_000 + b'"' + b"~" * 500 + b" ."),
    "graphs": ("trig", b"".join(b"<u:%d>{}" % n for n in range(5_000))),
    "block": ("trig", b"<u:g> { <u:s> <u:p> 1" + b",1" * 30_000 + b"}"),
    "malformed": ("nquads", b"x\n" * 5_000),
    "malformed of graphs": ("nquads", b"".join(b"x <u:%d> .\n" % n for n in range(5_000))),
    "events": ("nquads", b"".join(b"<u:%d> %b .\n" % (n, STAMP) for n in range(8_000))),
    "terms": ("nquads", b"".join(b"<u:s%d> <u:p> <u:o%d> <u:g> .\n" % (n, n) for n in range(10_000))),
    "lines": ("ntriples", b"x\n" * 5_000),
    "json objects": ("jsonld", b'{"@context":{},"@graph":[' + b"{}," * 30_000 + b"{}]}"),
    "json lists": ("jsonld", b'{"@context":{},"@graph":[' + b"[]," * 60_000 + b"[]]}"),
    "deep objects": ("jsonld", b'{"u:p":' * 200 + b"[" + b"1," * 2_000 + b"1]" + b"}" * 200),
    "vocabulary": ("jsonld", b'{"@context":{"@vocab":"u:' + b"a" * 50_000 + b'"},"b":[' + b"1," * 500 + b"1]}"),
    "keys in a vocabulary": ("jsonld", b'{"@context":{"@vocab":"u:' + b"a" * 50_000 + b'"}' + b',"b":1' * 500 + b"}"),
    "a long id": ("jsonld", b'{"@id":"u:' + b"a" * 50_000 + b'"' + b',"u:b":1' * 500 + b"}"),
    "json lines": ("ndjsonld", b"x\n" * 5_000),
    "statements": ("jelly", _jelly()),
}  # fmt: skip


@pytest.mark.parametrize(("body_format", "data"), GROWING.values(), ids=GROWING.keys())
def test_a_body_that_becomes_too_much_is_over_the_bound(body_format: str, data: bytes) -> None:
    with pytest.raises(OverBound, match="decoded: the body becomes more than 5 MB"):
        read(data, body_format)


@pytest.mark.parametrize(("body_format", "data"), GROWING.values(), ids=GROWING.keys())
def test_the_same_body_is_read_where_it_may_become_more(body_format: str, data: bytes) -> None:
    body = read(data, body_format, BodyBounds(10**9, 60))
    assert len(body.events) or body.malformed


DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
TEMPLATE = f'<urn:row/{{n}}> {{ <urn:r> <urn:v> "{{a}}" ; <{PROV_TIME}> "{{b}}"^^<{DATE_TIME}> }}'


@pytest.mark.parametrize(
    ("body_format", "begin", "row"),
    [
        ("csv", b"n,a,b\n", b"%d,1,2026-01-01T00:00:00Z\n"),
        ("ndjson", b"", b'{"n":%d,"a":1,"b":"2026-01-01T00:00:00Z"}\n'),
    ],
)
def test_rows_of_tables_count_too(body_format: str, begin: bytes, row: bytes) -> None:
    template = parse_template(TEMPLATE, "template.trig", READING.time.predicates)
    reading = BodyReading(READING.time, template=template)
    data = begin + b"".join(row % n for n in range(5_000))
    with SMALL.held(), pytest.raises(OverBound, match="decoded"):
        read_body(data, body_format, reading, 0)
    with BodyBounds(10**9, 60).held():
        assert len(read_body(data, body_format, reading, 0).events) == 5_000


@pytest.mark.parametrize("row", [b"1\n", b'"1"\n', b"1," * 10_000 + b"1\n"])
def test_a_table_of_too_many_columns_is_malformed(row: bytes) -> None:
    template = parse_template(TEMPLATE, "template.trig", READING.time.predicates)
    data = b"n,a,b" + b"".join(b",c%d" % n for n in range(9_998)) + b"\n" + row * 3
    body = read_body(data, "csv", BodyReading(READING.time, template=template), 0)
    assert (len(body.events), body.malformed[0].reason) == (0, "a header of more than 10,000 columns")


def test_short_rows_of_a_table_are_counted_while_they_are_left_out() -> None:
    template = parse_template(TEMPLATE, "template.trig", READING.time.predicates)
    with SMALL.held(), pytest.raises(OverBound, match="decoded"):
        read_body(b"n,a,b\n" + b"x\n" * 100_000, "csv", BodyReading(READING.time, template=template), 0)


LONG = {
    "nquads": b"<u:s> <u:p> 'a' <u:g> .\n",
    "ntriples": b"<u:s> <u:p> 'a' .\n",
    "trig": b"<u:s> <u:p> <u:o> .\n",
    "turtle": b"<u:s> <u:p> <u:o> .\n",
    "ndjsonld": b'{"u:p":1}\n',
    "jsonld": b"",
}


@pytest.mark.parametrize("body_format", LONG)
def test_the_processor_time_of_one_body_is_bounded(body_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = LONG[body_format] * 20_000 or b"[" + b'{"u:p":1},' * 50_000 + b"{}]"
    ticks = count()
    monkeypatch.setattr(body_bounds, "thread_time", lambda: next(ticks))
    with pytest.raises(OverBound, match="body_seconds: reading the body takes more than 5 s"):
        read(data, body_format, BodyBounds(10**12, 5))


# --- acceptance -----------------------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service.open(tmp_path / "data", Limits(decoded="1MB"))
    made.put_stream("s", StreamSettings("urn:s"))
    yield made
    made.close()


def test_a_pushed_body_over_a_bound_is_413_and_changes_nothing(service: Service) -> None:
    with pytest.raises(Refused, match="decoded") as refused:
        service.accept("s", b"x\n" * 5_000, "nquads")
    assert refused.value.status == 413
    assert (service.stream("s")["malformed"], service.dead_letters(0, 10)) == (0, [])


def test_a_body_of_a_source_over_a_bound_is_a_dead_letter_and_the_source_goes_on(service: Service) -> None:
    service._outside.accept_from("s", b"x\n" * 5_000, "nquads", b"position 1")
    service._outside.accept_from("s", b"<urn:e> %b .\n" % STAMP, "nquads", b"position 2")
    service.settled()
    (letter,) = map(json.loads, service.dead_letters(0, 10))
    assert (letter["sort"], letter["raw"][:4]) == ("bound", "x\nx\n") and "decoded" in letter["reason"]
    assert (service.stream("s")["events"], service._outside.source_position("s")) == (1, b"position 2")


# --- cost by size ---------------------------------------------------------------------------------


class _Sent:
    """A request whose body is packed."""

    def __init__(self, data: bytes, size: int) -> None:
        self.headers = {"content-encoding": "gzip"}
        self._parts = [data[at : at + size] for at in range(0, len(data), size)] or [b""]

    async def receive(self) -> dict[str, Any]:
        part = self._parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts)}


def unpacked(data: bytes, most: int, size: int = 1 << 16) -> bytes:
    async def body() -> bytes:
        async with received(_Sent(data, size), BodyBudget(most)) as found:  # type: ignore[arg-type]
            return found

    return asyncio.run(body())


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 20)), min_size=1, max_size=6), st.integers(1, 50))
def test_members_and_zeros_between_them_are_unpacked_however_they_are_cut(
    members: list[tuple[bytes, int]], size: int
) -> None:
    packed = b"".join(gzip.compress(text) + b"\0" * zeros for text, zeros in members)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spaseq.service.http.bodies._PACKED_BYTES", 7)
        assert unpacked(packed, 10_000, size) == b"".join(text for text, _ in members)


def test_gzip_of_nothing_is_bounded_by_its_own_bytes() -> None:
    with pytest.raises(Refused) as refused:
        unpacked(gzip.compress(b"") * 600, 10_000)
    assert refused.value.status == 413


SLOW = {
    "empty members of gzip": lambda: unpacked(gzip.compress(b"") * 100_000, 10**7, 10**7),
    "open braces": lambda: read(b"{" * 300_000, "trig", BodyBounds(10**9, 60)),
    "prefixes": lambda: read(
        b"".join(b"@prefix p%d: <u:%d> .\n" % (n, n) for n in range(10_000)), "trig", BodyBounds(10**9, 60)
    ),
    "a graph again": lambda: read(
        b"<u:g> %b .\n" % STAMP
        + b"".join(b"<u:s%d> <u:p> <u:o> <u:g> .\n" % n for n in range(20_000))
        + b"<u:h> %b .\n<u:g> %b .\n" % (STAMP, STAMP) * 1_000,
        "nquads",
        BodyBounds(10**9, 60),
    ),
    "an open string": lambda: is_deep(io.BytesIO(b'"' + b"a" * (48 << 20))),
}


@pytest.mark.parametrize("work", SLOW.values(), ids=SLOW.keys())
def test_what_was_quadratic_is_not(work: Callable[[], Any]) -> None:
    begin = time.process_time()
    work()
    assert time.process_time() - begin < 10, "a wide net: it took a minute or more, and takes about a second"


# --- prefixes -------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["a", "b.c", "e", "e5", "x-y", "", "é", "p1"])
_TOKENS = st.sampled_from(["1", "1.5", "-2e3", '"t"@en', "true", "<u:x>", "_:n", "'a:b'"]) | _NAMES.map(
    lambda name: f"{name}:o"
)


@given(
    st.lists(_NAMES, unique=True),
    st.lists(st.lists(_TOKENS, min_size=1, max_size=4), max_size=4),
    st.sampled_from(["", " "]),
)
def test_many_prefixes_are_found_in_a_text_as_few_are(names: list[str], lists: list[list[str]], gap: str) -> None:
    declared = "".join(f"@prefix {name}: <u:{name}/> .\n" for name in names)
    statements = "".join(f"<u:g> {{ <u:s> <u:p> ({' '.join(each)}){gap}.{gap}}}\n" for each in lists)
    text = f"{declared}<u:g> <{PROV_TIME}> '2026-01-01T00:00:00Z'^^<{DATE_TIME}> .\n{statements}"
    found = []
    for few in (100, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trig_context, "FEW_PREFIXES", few)
            body = read(text.encode(), "trig")
            found.append(
                (list(body.events.offsets), [(fault.line, fault.column, fault.reason) for fault in body.malformed])
            )
    assert found[0] == found[1]


@pytest.mark.parametrize("longer", [0, 1])
def test_a_long_namespace_is_malformed_in_trig(longer: int) -> None:
    iri = b"u:" + b"a" * (NAMESPACE_BYTES_MAX - 2 + longer)
    body = read(b"@prefix p: <%b> .\np:g { p:s %b }" % (iri, STAMP), "trig", BodyBounds(10**9, 60))
    assert (len(body.events), len(body.malformed)) == ((0, 2) if longer else (1, 0))
    if longer:
        assert "a prefix or base of more than 16,384 bytes" in body.malformed[0].reason


def test_prefixes_cost_no_more_than_their_bytes_where_trig_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    def counted(text: bytes, rdf_format: ox.RdfFormat) -> ox.QuadParser:
        parsed.append(len(text))
        return parser_of(text, rdf_format)

    monkeypatch.setattr(cutting, "parser_of", counted)
    prefixes = "".join(f"@prefix p{n}: <urn:{n}/> .\n" for n in range(500))
    text = f"@base <urn:base/> .\n{prefixes}p0:g {{ p1:s p499:p <o> }}\n".encode()
    (found,) = cutting.cut_trig(Blocks(io.BytesIO(text), live=False), 1 << 20)
    assert sum(parsed) < 3 * len(text)
    (quad,) = ox.parse(found.text, ox.RdfFormat.TRIG)
    assert (quad.graph_name, quad.object) == (ox.NamedNode("urn:0/g"), ox.NamedNode("urn:base/o"))
