"""Documents around queries and streams: JSON of requests, TOML, templates, answers of endpoints, JSON-LD contexts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.hostile_shapes import Shape, Way
from kb.results import ResultReader
from sparql_gpm.reading.json_contexts import context_of, with_contexts
from spaseq.errors import InputError
from spaseq.inputs.tables.template import parse_template
from spaseq.service.errors import Refused
from spaseq.service.http.requests import document_of, parsed_json
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.settings.toml import CONFIGURATION_BYTES_MAX, read_configuration

_BODY_BYTES = 16_000_000
_TEMPLATE_BYTES = 1_000_000
_SECONDS = 10.0
_MEMORY = 720_000_000
"""Forty-five times the largest body, which JSON of empty objects needs."""
_URL = "http://e/c"


def _query_document(data: bytes) -> str:
    return _document(data, QueryChanges)


def _stream_document(data: bytes) -> str:
    return _document(data, StreamSettings)


def _document(data: bytes, kind: type) -> str:
    try:
        document_of(parsed_json(data.decode()), kind)
    except Refused as error:
        return error.detail[:100]
    return "read"


def _configuration(data: bytes) -> str:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "spaseq.toml"
        file.write_bytes(data)
        try:
            read_configuration(file)
        except InputError as error:
            return error.message.removeprefix(folder)[:100]
    return "read"


def _template(data: bytes) -> str:
    try:
        parse_template(data.decode(), "t.trig", ("http://www.w3.org/ns/prov#generatedAtTime",))
    except InputError as error:
        return error.message[:100]
    return "read"


def _results(data: bytes) -> str:
    try:
        return f"{len(ResultReader(['a', 'b']).decode(data, 's'))} rows"
    except ValueError as error:
        return str(error)[:100]


def _contexts(data: bytes) -> str:
    """A document whose first line is the context, in JSON; the others are the document."""
    supplied, _, document = data.partition(b"\n")
    try:
        contexts = {_URL: context_of(supplied.decode())}
        return f"{sum(map(len, with_contexts(document, contexts)))} bytes"
    except (ValueError, RecursionError) as error:
        return str(error)[:100]


WAYS = {
    "query as JSON": Way(_query_document, CONFIGURATION_BYTES_MAX, _SECONDS, _MEMORY),
    "stream as JSON": Way(_stream_document, CONFIGURATION_BYTES_MAX, _SECONDS, _MEMORY),
    "configuration": Way(_configuration, CONFIGURATION_BYTES_MAX, _SECONDS, _MEMORY),
    "template": Way(_template, _TEMPLATE_BYTES, _SECONDS, _MEMORY),
    "answer": Way(_results, _BODY_BYTES, _SECONDS, _MEMORY),
    "context": Way(_contexts, _BODY_BYTES, _SECONDS, _MEMORY),
}


def _shapes(way: str, **makes: Callable[[int], str]) -> tuple[Shape, ...]:
    """Shapes of one way, by their names."""
    return tuple(Shape(name.replace("_", " "), way, _encoded(make)) for name, make in makes.items())


def _encoded(make: Callable[[int], str]) -> Callable[[int], bytes]:
    return lambda size: make(size).encode()


def _numbered(piece: str, before: str = "", after: str = "", between: str = ",") -> Callable[[int], str]:
    """A piece again and again, each with its own number in place of `#`."""

    def make(size: int) -> str:
        length = len(piece) + len(between) + 4 * piece.count("#")
        return before + between.join(piece.replace("#", str(n)) for n in range(size // length + 1)) + after

    return make


def _repeated(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A piece again and again."""
    return lambda size: before + piece * (size // len(piece) + 1) + after


def _both(one: Callable[[int], str], other: Callable[[int], str]) -> Callable[[int], str]:
    """Two lines, each of half the size."""
    return lambda size: f"{one(size // 2)}\n{other(size // 2)}"


_ROWS = '{"head": {"vars": ["a", "b"]}, "results": {"bindings": ['
_ROW = '{"a": {"type": "uri", "value": "http://e/#"}, "b": {"type": "literal", "value": "1", "datatype": "urn:d"}}'
_STREAM = '{"iri": "urn:s", '
_GRAPH = "<urn:g> { ?a <urn:p> "

SHAPES = (
    *_shapes(
        "query as JSON",
        open_arrays=_repeated("["),
        open_objects=_repeated('{"a":'),
        arrays_in_each_other=lambda size: "[" * (size // 2) + "]" * (size // 2),
        unknown_members=_numbered('"a#": 1', "{", "}"),
        one_member_many_times=_repeated('"text": "",', "{", '"text": ""}'),
        a_long_name=_repeated("a", '{"', '": 1}'),
        names_like_places=_repeated(" - at `$", '{"', '": 1}'),
        escapes=_repeated("\\u0061", '{"max_runs": "', '"}'),
        a_long_number=_repeated("1", '{"max_runs": ', "}"),
        blanks=_repeated(" "),
        zeros=_repeated("0,", "[", "0]"),
        sinks=_numbered('{"file": "/srv/#"}', '{"sinks": [', "]}"),
        one_sink_many_times=_repeated('{"file": "/srv/a"},', '{"sinks": [', '{"file": "/srv/b"}]}'),
        a_string_never_closed=_repeated("a", '{"text": "'),
    ),
    *_shapes(
        "stream as JSON",
        time_predicates=_numbered('"urn:p#"', _STREAM + '"time": [', "]}"),
        contexts=_numbered('"urn:#": "/f#"', _STREAM + '"contexts": {', "}}"),
        a_long_IRI=_repeated("a", '{"iri": "urn:', '"}'),
        a_long_duration=_repeated("1", _STREAM + '"max_delay": "', 's"}'),
        a_duration_of_parts=_repeated("1H", _STREAM + '"max_delay": "PT', '"}'),
    ),
    *_shapes(
        "configuration",
        newlines=_repeated("\n"),
        comments=_repeated("# a\n"),
        open_arrays=_repeated("[", "a = "),
        open_tables=_repeated("{a=", "a = "),
        a_long_dotted_key=_repeated("a.", after="a = 1"),
        a_long_dotted_table=_repeated("a.", "[", "a]"),
        many_keys=_numbered("a# = 1", between="\n"),
        many_tables=_numbered("[streams.a#]\niri = 'urn:#'", between="\n"),
        tables_in_one=_numbered("[a.b.c#]", between="\n"),
        an_array_of_tables=_repeated("[[a]]\n"),
        a_long_string=_repeated("a", "a = '", "'"),
        a_long_text=_repeated("a\n", "a = '''", "'''"),
        a_text_never_closed=_repeated("a\n", "a = '''"),
        a_long_number=_repeated("1", "a = "),
        a_number_with_underscores=_repeated("1_", "a = ", "1"),
        many_queries=_numbered("[queries.a#]\ntext = 'SELECT'", between="\n"),
    ),
    *_shapes(
        "template",
        open_blank_nodes=_repeated("[ <urn:p> ", _GRAPH),
        open_collections=_repeated("(", _GRAPH),
        open_triple_terms=_repeated("<<( <urn:a> <urn:b> ", _GRAPH),
        open_graphs=_repeated("{"),
        less_than=_repeated("<"),
        open_cells=_repeated("<{a"),
        cells_in_an_IRI=_repeated("{a}", "<urn:g> { <urn:", "> <urn:p> 1 }"),
        cells_in_a_string=_repeated("{a}", "<urn:g> { <urn:a> <urn:p> '", "' }"),
        values=_numbered("?a# <urn:p> ?b#", "<urn:g> { ", " }", " . "),
        quotes=_repeated('"'),
        long_strings=_repeated('"""a '),
        graphs=_numbered("<urn:g#> { ?a <urn:p> 1 }", between="\n"),
        prefixes=_numbered("@prefix p#: <urn:#> .", between="\n"),
        question_marks=_repeated("?"),
        newlines=_repeated("\n"),
    ),
    *_shapes(
        "answer",
        rows=_numbered(_ROW, _ROWS, "]}}"),
        empty_rows=_repeated("{},", _ROWS, "{}]}}"),
        variables=_numbered('"v#"', '{"head": {"vars": [', ']}, "results": {"bindings": []}}'),
        unknown_members=_numbered('"m#": []', "{", "}"),
        open_arrays=_repeated("[", '{"head": '),
        a_long_IRI=_repeated("a", _ROWS + '{"a": {"type": "uri", "value": "urn:', '"}}]}}'),
        escapes=_repeated("\\u0061", _ROWS + '{"a": {"type": "literal", "value": "', '"}}]}}'),
    ),
    *_shapes(
        "context",
        one_context_many_times=_both(
            _numbered('"t#": "urn:#"', '{"@context": {', "}}"), _numbered(f'"{_URL}"', '{"@context": [', "]}")
        ),
        one_context_in_many_objects=_both(
            _numbered('"t#": "urn:#"', '{"@context": {', "}}"), _numbered(f'{{"@context": "{_URL}"}}', "[", "]")
        ),
        a_context_of_itself=_both(
            _numbered(f'"{_URL}"', '{"@context": [', "]}"), lambda _: f'{{"@context": "{_URL}"}}'
        ),
        terms=_both(_numbered('"t#": "urn:#"', '{"@context": {', "}}"), lambda _: f'{{"@context": "{_URL}"}}'),
    ),
)
