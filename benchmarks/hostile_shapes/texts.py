"""Texts of queries."""

from __future__ import annotations

import time
from collections.abc import Callable

from arrays.wanted import NotWanted, while_wanted
from benchmarks.hostile_shapes import Shape, Way
from spaseq.algebra.build import build
from spaseq.editors.formatting import formatted, hindrances
from spaseq.engine.described import describe
from spaseq.explain.text import to_text
from spaseq.lang.parse import check

_TEXT_BYTES = 256_000
_LONG_BYTES = 4_000_000
_MEMORY = 320_000_000
_LONG_MEMORY = 640_000_000
REQUEST_SECONDS = 30.0
_SECONDS = 1.2 * REQUEST_SECONDS
"""Of a request that ends at its limit, as it asks for it now and then."""
_BODY = "?s :p ?v"


class _BeyondRequest(NotWanted):
    """The limit `request` of the service."""


def _as_request(read: Callable[[bytes], str]) -> Callable[[bytes], str]:
    """A reader that ends as the service ends a request: at the limit `request`."""

    def limited(data: bytes) -> str:
        end = time.process_time() + REQUEST_SECONDS

        def ask() -> None:
            if time.process_time() > end:
                raise _BeyondRequest

        try:
            with while_wanted(ask):
                return read(data)
        except _BeyondRequest:
            return "beyond the limit request"

    return limited


def _validate(data: bytes) -> str:
    query, problems = check(data.decode())
    if query is not None:
        build(query)
    return f"{len(problems)} problems: {problems[0].message}" if problems else "valid"


def _describe(data: bytes) -> str:
    query, problems = check(data.decode())
    if query is None:
        return f"{len(problems)} problems: {problems[0].message}"
    return f"{len(to_text(describe(query)))} characters"


def _format(data: bytes) -> str:
    text = data.decode()
    problems = hindrances(text)
    return f"{len(problems)} problems: {problems[0].message}" if problems else f"{len(formatted(text))} characters"


WAYS = {
    "validate": Way(_as_request(_validate), _TEXT_BYTES, _SECONDS, _MEMORY),
    "validate long": Way(_as_request(_validate), _LONG_BYTES, _SECONDS, _LONG_MEMORY),
    "describe": Way(_as_request(_describe), _TEXT_BYTES, _SECONDS, _MEMORY),
    "format": Way(_as_request(_format), _TEXT_BYTES, _SECONDS, _MEMORY),
}


def _text(
    *, sequence: str = "A", body: str = _BODY, head: str = "", select: str = "?v", more: str = "", tail: str = "",
    stream: str = "",
) -> bytes:  # fmt: skip
    return (
        f"PREFIX : <http://e/> {head} SELECT {select} WITHIN 9 SECONDS FROM STREAM S :s {stream} WHERE {{ "
        f"SEQ({sequence}) DEFINE GPM A ON S {{ {body} }} {more} }} {tail}"
    ).encode()


def _repeated(piece: str) -> Callable[[int], bytes]:
    """A piece again and again, up to a size."""
    return lambda size: (piece * (size // len(piece.encode()) + 1)).encode()


def _many(make: Callable[[int], str], size: int, between: str = " ") -> str:
    """So many numbered pieces that they have about a size."""
    return between.join(map(make, range(max(size // (len(make(10_000)) + len(between)), 1))))


def _nested(opening: str, inner: str, closing: str) -> Callable[[int], str]:
    """Pairs of brackets in each other, up to a size."""

    def make(size: int) -> str:
        depth = size // len(opening + closing) + 1
        return opening * depth + inner + closing * depth

    return make


def _sequence(make: Callable[[int], str]) -> Callable[[int], bytes]:
    return lambda size: _text(sequence=make(size))


def _in_body(make: Callable[[int], str]) -> Callable[[int], bytes]:
    return lambda size: _text(body=make(size))


def _raw(name: str, piece: str) -> Shape:
    return Shape(name, "validate long", _repeated(piece))


def _of(name: str, make: Callable[[int], bytes]) -> Shape:
    return Shape(name, "validate", make)


SHAPES = (
    _raw("newlines", "\n"),
    _raw("comments", "# a\n"),
    _raw("carriage returns", "\r"),
    _raw("{", "{"),
    _raw("}", "}"),
    _raw("(", "("),
    _raw("<", "<"),
    _raw('"', '"'),
    _raw("'", "'"),
    _raw('"""', '"""a '),
    _raw("\\", "\\"),
    _raw("one word", "a"),
    _raw("many words", "SELECTT "),
    _raw("SEQ(", "SEQ("),
    _raw("DEFINE GPM", "DEFINE GPM "),
    _raw("DEFINE GPM A ON S {", "DEFINE GPM A ON S { "),
    _raw("DEFINE and blanks", "DEFINE          "),
    _raw("prefixes without IRIs", "PREFIX a: "),
    _raw("a.a.a", "a."),
    _raw(".", "."),
    _raw("<a\\n", "<a\n"),
    _raw("@", "@a"),
    _raw("FILTER(", "FILTER("),
    _raw("SELECT (", "SELECT (1 "),
    _raw("CONSTRUCT {", "CONSTRUCT { "),
    _raw("snowmen", "☃"),
    _raw("STREAM windows", "FROM STREAM S <urn:s> ["),
    _of("groups repeated in each other", _sequence(_nested("(", "A", ")+"))),
    _of("groups in each other", _sequence(_nested("(", "A", ")"))),
    _of("absences in each other", _sequence(_nested("(", "A", ")!"))),
    _of("optional in each other", _sequence(_nested("(", "A", ")?"))),
    _of("a group of two, repeated in itself", _sequence(_nested("(A ; ", "A", ")+"))),
    _of("limits in each other", _sequence(_nested("(A ; ", "A", ") WITHIN 1 HOUR"))),
    _of("open groups", _sequence(lambda size: "(" * size)),
    _of("a long sequence", _sequence(lambda size: " ; ".join(["A"] * (size // 4)))),
    _of("a long sequence without blanks", _sequence(lambda size: ";".join(["A"] * (size // 2)))),
    _of("a sequence of optional steps", _sequence(lambda size: " ; ".join(["A", *["A?"] * (size // 5)]))),
    _of("alternations", _sequence(lambda size: "|".join(["A"] * (size // 2)))),
    _of("conjunctions", _sequence(lambda size: "&".join(["A"] * (size // 2)))),
    _of("ALL of many", _sequence(lambda size: f"ALL({', '.join(['A'] * (size // 3))})")),
    _of("repetitions with bounds", _sequence(lambda size: " ; ".join(["A{2,3}"] * (size // 9)))),
    _of("large repetitions", _sequence(lambda size: "A" + "{1000000}" * 1 + " ; A" * (size // 4))),
    _of("quantifiers in a row", _sequence(lambda size: "A" + "+" * size)),
    _of("a sequence of undefined names", _sequence(lambda size: _many(lambda n: f"B{n}", size, " ; "))),
    _of(
        "definitions",
        lambda size: _text(more=_many(lambda n: f"DEFINE GPM B{n} ON S {{ ?s :p ?b{n} }}", size)),
    ),
    _of(
        "definitions that are used",
        lambda size: _text(
            sequence=_many(lambda n: f"B{n}", size // 5, " ; "),
            more=_many(lambda n: f"DEFINE GPM B{n} ON S {{ ?s :p ?b{n} }}", size),
        ),
    ),
    _of("definitions of one name", lambda size: _text(more=_many(lambda n: f"DEFINE GPM A ON S {{ {_BODY} }}", size))),
    _of("streams", lambda size: _text(stream=_many(lambda n: f"FROM STREAM S{n} :s{n}", size))),
    _of(
        "streams of one definition",
        lambda size: _text(
            stream=_many(lambda n: f"FROM STREAM S{n} :s{n}", size),
            more=f"DEFINE GPM B ON {_many(lambda n: f'S{n}', size // 5, ',')} {{ {_BODY} }}",
        ),
    ),
    _of("variables", _in_body(lambda size: _many(lambda n: f"?a{n} :p ?b{n} .", size))),
    _of("selected variables", lambda size: _text(select=_many(lambda n: f"?a{n}", size))),
    _of(
        "selected variables that are bound",
        lambda size: _text(
            select=_many(lambda n: f"?a{n}", size), body=_many(lambda n: f"?s :p ?a{n} .", size)
        ),
    ),
    _of("selected expressions", lambda size: _text(select=_many(lambda n: f"(?v + {n} AS ?a{n})", size))),
    _of("prefixes", lambda size: _text(head=_many(lambda n: f"PREFIX p{n}: <urn:{n}>", size))),
    _of(
        "prefixes that are used",
        lambda size: _text(
            head=_many(lambda n: f"PREFIX p{n}: <urn:{n}>", size), body=_many(lambda n: f"?s p{n}:a ?v .", size)
        ),
    ),
    _of("one prefix used often", _in_body(lambda size: _many(lambda n: f"?s :p{n} ?v .", size))),
    _of("a long IRI of a prefix, used often", lambda size: _text(
        head=f"PREFIX p: <urn:{'a' * (size // 2)}>", body="?s p:a ?v . " * (size // 24)
    )),
    _of("undeclared prefixes", _in_body(lambda size: _many(lambda n: f"?s q{n}:p ?v .", size))),
    _of("triples", _in_body(lambda size: "?s :p ?v . " * (size // 11))),
    _of("filters in a body", _in_body(lambda size: _BODY + _many(lambda n: f" FILTER(?v > {n})", size))),
    _of("filters", lambda size: _text(more=_many(lambda n: f"FILTER(?v > {n})", size))),
    _of("bindings", lambda size: _text(more=_many(lambda n: f"BIND(?v + {n} AS ?a{n})", size))),
    _of("bindings of each other", lambda size: _text(
        more="BIND(?v AS ?a0) " + _many(lambda n: f"BIND(?a{n} AS ?a{n + 1})", size)
    )),
    _of("bindings of each other in a body", _in_body(
        lambda size: _BODY + " BIND(?v AS ?a0) " + _many(lambda n: f"BIND(?a{n} AS ?a{n + 1})", size)
    )),
    _of("optional parts", _in_body(lambda size: _BODY + _many(lambda n: f" OPTIONAL {{ ?s :p ?o{n} }}", size))),
    _of("unions", _in_body(lambda size: _many(lambda n: f"{{ ?s :p{n} ?v }}", size, " UNION "))),
    _of("unions in each other", _in_body(_nested("{ ?s :p ?v } UNION { ", _BODY, "}"))),
    _of("groups of SPARQL in each other", _in_body(_nested("{", _BODY, "}"))),
    _of("open groups of SPARQL", _in_body(lambda size: "{" * size)),
    _of("nested SELECTs", _in_body(_nested("{ SELECT * { ", _BODY, "} }"))),
    _of("SELECTs beside each other", _in_body(lambda size: "{ SELECT ?v { ?s :p ?v } } " * (size // 27))),
    _of("EXISTS in each other", _in_body(_nested(f"{_BODY} FILTER EXISTS {{ ", _BODY, "}"))),
    _of("OPTIONAL in each other", _in_body(_nested(f"{_BODY} OPTIONAL {{ ", _BODY, "}"))),
    _of("parentheses in an expression", _in_body(lambda size: f"{_BODY} FILTER({_nested('(', '1', ')')(size)} = 1)")),
    _of("open parentheses in an expression", _in_body(lambda size: f"{_BODY} FILTER({'(' * size}")),
    _of("!!!!", _in_body(lambda size: f"{_BODY} FILTER({'!' * size}?v)")),
    _of("- - - -", _in_body(lambda size: f"{_BODY} FILTER({'- ' * (size // 2)}?v > 1)")),
    _of("a long sum", _in_body(lambda size: f"{_BODY} FILTER({'1+' * (size // 2)}?v > 1)")),
    _of("a long sum of variables", _in_body(lambda size: f"{_BODY} FILTER({'?v + ' * (size // 5)}?v > 1)")),
    _of("a long alternative of conditions", _in_body(lambda size: f"{_BODY} FILTER({'?v=1||' * (size // 6)}?v > 1)")),
    _of("a long IN", _in_body(lambda size: f"{_BODY} FILTER(?v IN ({_many(str, size, ',')}))")),
    _of("functions in each other", _in_body(lambda size: f"{_BODY} FILTER({_nested('STR(', '?v', ')')(size)} = '')")),
    _of("a long path", _in_body(lambda size: f"?s {'/'.join([':p'] * (size // 3))} ?v")),
    _of("a path of alternatives", _in_body(lambda size: f"?s {'|'.join([':p'] * (size // 3))} ?v")),
    _of("groups of a path in each other", _in_body(lambda size: f"?s {_nested('(', ':p', ')+')(size)} ?v")),
    _of("inverses in each other", _in_body(lambda size: f"?s {_nested('^(', ':p', ')')(size)} ?v")),
    _of("negated property set", _in_body(lambda size: f"?s !({'|'.join([':p'] * (size // 3))}) ?v")),
    _of("rows of VALUES", _in_body(lambda size: f"{_BODY} VALUES ?v {{ {_many(str, size)} }}")),
    _of("columns of VALUES", _in_body(lambda size: f"{_BODY} VALUES ({_many(lambda n: f'?c{n}', size)}) {{ }}")),
    _of("triple terms in each other", _in_body(lambda size: f"?s :p {_nested('<<( :a :b ', ':c', ' )>>')(size)}")),
    _of("open triple terms", _in_body(lambda size: f"?s :p {'<<( :a :b ' * (size // 11)}")),
    _of("reified triples", _in_body(lambda size: f"{_nested('<< :a :b ', ':c', ' >>')(size)} :p ?v")),
    _of("collections in each other", _in_body(lambda size: f"?s :p {_nested('(', '1', ')')(size)}")),
    _of("a long collection", _in_body(lambda size: f"?s :p ({'1 ' * (size // 2)})")),
    _of("blank nodes in each other", _in_body(lambda size: f"?s :p {_nested('[:p ', '1', ']')(size)}")),
    _of("open blank nodes", _in_body(lambda size: f"?s :p {'[:p ' * (size // 4)}")),
    _of("objects", _in_body(lambda size: f"?s :p {_many(str, size, ',')}")),
    _of("a long string", _in_body(lambda size: f"?s :p '{'a' * size}'")),
    _of("a string of escapes", _in_body(lambda size: "?s :p '" + "\\n" * (size // 2) + "'")),
    _of("a long IRI", _in_body(lambda size: f"?s <urn:{'a' * size}> ?v")),
    _of("a long number", _in_body(lambda size: f"?s :p {'1' * size}")),
    _of("a string never closed", _in_body(lambda size: f"?s :p '{'a' * size}")),
    _of("strings never closed", _in_body(lambda size: "?s :p 'a \n" * (size // 10))),
    _of("unknown characters in a body", _in_body(lambda size: "☃" * (size // 3))),
    _of("; in a body", _in_body(lambda size: "?s :p ?v" + ";" * size)),
    _of("comments in a body", _in_body(lambda size: "# a\n" * (size // 4) + _BODY)),
    _of("newlines in a body", _in_body(lambda size: "\n" * size + _BODY)),
    _of("newlines behind an error", lambda size: _text(sequence="Z") + b"\n" * size),
    _of("GRAPHs", _in_body(lambda size: _BODY + _many(lambda n: f" GRAPH <urn:g{n}> {{ ?s :p ?o{n} }}", size))),
    _of("group keys", lambda size: _text(
        select="OVER MATCHES (COUNT(*) AS ?n)", tail=f"GROUP BY {_many(lambda n: f'?a{n}', size)}"
    )),
    _of("aggregates", lambda size: _text(select=_many(lambda n: f"(SUM(?v + {n}) AS ?a{n})", size))),
    _of("template of triples", lambda size: _text().replace(
        b"SELECT ?v", f"CONSTRUCT {{ {_many(lambda n: f'?v :p {n} .', size)} }}".encode()
    )),
    _of("problems in a body", _in_body(lambda size: "?s ?s . " * (size // 8))),
    Shape("a long sequence", "describe", _sequence(lambda size: " ; ".join(["A"] * (size // 4)))),
    Shape("alternations", "describe", _sequence(lambda size: "|".join(["A"] * (size // 2)))),
    Shape("definitions", "describe", lambda size: _text(
        more=_many(lambda n: f"DEFINE GPM B{n} ON S {{ ?s :p ?b{n} }}", size)
    )),
    Shape("triples", "describe", _in_body(lambda size: _many(lambda n: f"?s :p{n} ?v .", size))),
    Shape("filters", "describe", lambda size: _text(more=_many(lambda n: f"FILTER(?v > {n})", size))),
    Shape("a long alternative of conditions", "describe", _in_body(
        lambda size: f"{_BODY} FILTER({'?v=1||' * (size // 6)}?v > 1)"
    )),
    Shape("newlines", "format", _repeated("\n")),
    Shape("comments", "format", _repeated("# a\n")),
    Shape("a long sequence", "format", _sequence(lambda size: " ; ".join(["A"] * (size // 4)))),
    Shape("definitions", "format", lambda size: _text(
        more=_many(lambda n: f"DEFINE GPM B{n} ON S {{ ?s :p ?b{n} }}", size)
    )),
    Shape("triples", "format", _in_body(lambda size: "?s :p ?v . " * (size // 11))),
    Shape("comments in a body", "format", _in_body(lambda size: "# a\n" * (size // 4) + _BODY)),
    Shape("objects", "format", _in_body(lambda size: f"?s :p {_many(str, size, ',')}")),
)  # fmt: skip
