"""Templates: TriG in which cells of a row stand for terms and for parts of them.

    <http://example.org/trade/{id}> prov:generatedAtTime ?time .
    <http://example.org/trade/{id}> { <http://example.org/stock/{name}> :price ?price ; :note "sold by {who}" }

`<{c}>` is a cell as an IRI; inside a longer IRI it is percent-encoded. `"{c}"` puts a cell into a string, which may
have a type or language; `?c` is the typed value of a cell. `{a.b}` is a nested field, `{{` and `}}` are braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from sparql_gpm.reading.blocks import parse_fault
from sparql_gpm.reading.document_terms import to_term
from sparql_gpm.reading.strict import parse
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, TripleTerm
from spaseq.errors import InputError

Path = tuple[str, ...]
"""The names of a column and of the fields inside it."""
Part = str | Path
"""A constant text, or a cell."""

_TOKEN = re.compile(
    r'''
      (?P<long>(?P<quotes>"""|\'\'\') (?P<longtext>(?: [^\\] | \\. )*?) (?P=quotes))
    | (?P<short>" [^"\\\r\n]*+ (?: \\. [^"\\\r\n]*+ )*+ " | ' [^'\\\r\n]*+ (?: \\. [^'\\\r\n]*+ )*+ ')
    | (?P<iri>< (?: [^<>"{}|^`\\\s] | \{\{ | \}\} | \{[^{}<>\r\n]*\} )* >)
    | \#[^\r\n]*+
    | \?(?P<value>\w+(?:\.\w+)*)
    ''',
    re.VERBOSE | re.DOTALL,
)
_MARK = re.compile(r"urn:spaseq:template:x*")
_CELL = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class Value:
    """`?c`: the typed value of a cell."""

    path: Path


@dataclass(frozen=True, slots=True)
class IriOf:
    """An IRI with cells in it; a single cell stands as it is."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class TextOf:
    """A literal with cells in its lexical form."""

    parts: tuple[Part, ...]
    datatype: str
    language: str
    direction: str = ""


Slot = Term | Value | IriOf | TextOf
"""A place of a triple."""


@dataclass(frozen=True, slots=True)
class Template:
    """The event that a row makes.

    graph       the name of its graph; None: it has none
    times       objects of statements about the name in the default graph, each with its predicate
    triples     of its graph
    """

    graph: Slot | None
    times: tuple[tuple[str, Slot], ...]
    triples: tuple[tuple[Slot, Slot, Slot], ...]

    def paths(self) -> Iterator[Path]:
        """The cells that it uses, each once."""
        slots = [slot for triple in self.triples for slot in triple] + [slot for _, slot in self.times]
        found = dict.fromkeys(path for slot in (*slots, self.graph) for path in paths_of(slot))
        return iter(found)


def paths_of(slot: Slot | None) -> tuple[Path, ...]:
    """The cells in a slot."""
    match slot:
        case Value(path):
            return (path,)
        case IriOf(parts) | TextOf(parts):
            return tuple(part for part in parts if isinstance(part, tuple))
    return ()


def parse_template(text: str, name: str, time_predicates: Collection[str]) -> Template:
    """The template of a text; raises InputError with line and column, `name` is that of its file."""
    masked = _Masked(text, name)
    try:
        quads = list(parse(masked.text.encode(), ox.RdfFormat.TRIG))
        return _template(masked, quads, time_predicates)
    except SyntaxError as error:
        found = parse_fault(error)
        raise masked.error(found.line, found.column, found.reason) from error


class _Masked:
    """The text of a template in which terms with cells are replaced by terms that stand for them.

    labels  of its blank nodes → their labels in the template, by their order
    slots   the value of the term that stands for it → the slot, or the parts of a string
    """

    def __init__(self, text: str, name: str) -> None:
        self._name, self._source = name, text
        self.slots: dict[str, Value | IriOf | tuple[Part, ...]] = {}
        self.labels: dict[str, str] = {}
        self._marks: dict[Value | IriOf | tuple[Part, ...], str] = {}
        self._replaced: list[tuple[int, int, int]] = []
        taken = max(map(len, _MARK.findall(text)), default=0)
        self._mark = f"urn:spaseq:template:{'x' * taken}:"
        pieces, end = [], 0
        line, begin, seen = 1, 0, 0
        for found in _TOKEN.finditer(text):
            slot = self._slot(found)
            if slot is not None:
                mark = self._marks.setdefault(slot, f"{self._mark}{len(self._marks)}")
                self.slots[mark] = slot
                written = f'"{mark}"' if isinstance(slot, tuple) else f"<{mark}>"
                pieces += [text[end : found.start()], written + "\n" * found[0].count("\n")]
                end = found.end()
                line += text.count("\n", seen, found.start())
                begin = max(begin, text.rfind("\n", seen, found.start()) + 1)
                seen = found.start()
                self._replaced.append((line, seen - begin + 1, len(pieces[-1]) - len(found[0])))
        self.text = "".join([*pieces, text[end:]])

    def error(self, line: int, column: int, reason: str) -> InputError:
        """The error at a place of the replaced text."""
        for _, begin, longer in (each for each in self._replaced if each[0] == line):
            if column > begin:
                column = max(begin, column - longer)
        return _error(self._name, line, column, re.sub(rf"{self._mark}\d+", "…", reason))

    def _slot(self, found: re.Match[str]) -> Value | IriOf | tuple[Part, ...] | None:
        """The slot of a token; None for a constant."""
        if found["value"]:
            return Value(tuple(found["value"].split(".")))
        at = found.start()
        if found["iri"]:
            parts = self._parts(found["iri"][1:-1], at + 1, lambda text, _: text)
            if all(isinstance(part, str) for part in parts) and "{{" not in found["iri"]:
                return None
            if isinstance(parts[0], str) and ":" not in parts[0]:
                raise _error(self._name, *_place(self._source, at), "an IRI with cells in it begins with its scheme")
            return IriOf(parts)
        written = found["long"] or found["short"]
        if not written or ("{" not in written and "}" not in written):
            return None
        size = 3 if found["long"] else 1
        quote = written[:size]
        return self._parts(written[size:-size], at + size, lambda text, place: self._unescaped(quote, text, place))

    def _parts(self, text: str, at: int, constant: Callable[[str, int], str]) -> tuple[Part, ...]:
        """The constants and cells of a text that begins at a place of the source."""
        parts: list[Part] = []
        plain, end = "", 0
        for found in _CELL.finditer(text):
            plain += constant(text[end : found.start()], at + end)
            end = found.end()
            if found[0] in ("{{", "}}"):
                plain += found[0][0]
            elif not found[1]:
                reason = "a brace that belongs to no cell: write {{ or }} for a brace, {column} for a cell"
                raise _error(self._name, *_place(self._source, at + found.start()), reason)
            else:
                parts += [plain, tuple(found[1].split("."))] if plain else [tuple(found[1].split("."))]
                plain = ""
        plain += constant(text[end:], at + end)
        return (*parts, plain) if plain or not parts else tuple(parts)

    def _unescaped(self, quote: str, text: str, at: int) -> str:
        if "\\" not in text:
            return text
        try:
            (quad,) = ox.parse(f"<urn:x> <urn:x> {quote}{text}{quote} .".encode(), ox.RdfFormat.TURTLE)
        except SyntaxError as error:
            raise _error(self._name, *_place(self._source, at), parse_fault(error).reason) from error
        value = quad.object.value
        assert isinstance(value, str), value
        return value


def _template(masked: _Masked, quads: list[ox.Quad], time_predicates: Collection[str]) -> Template:
    graphs = list(dict.fromkeys(quad.graph_name for quad in quads if not isinstance(quad.graph_name, ox.DefaultGraph)))
    if len(graphs) > 1:
        raise masked.error(1, 1, f"a row is one event, and the template has {len(graphs)} graphs")
    times: list[tuple[str, Slot]] = []
    triples: list[tuple[Slot, Slot, Slot]] = []
    for quad in quads:
        subject, predicate, target = (_slot_of(masked, term) for term in (quad.subject, quad.predicate, quad.object))
        if isinstance(subject, Value | TextOf) or isinstance(predicate, Value | TextOf):
            raise masked.error(1, 1, "?c is the value of a cell, and only an object can be one: write <{c}>")
        if not graphs or quad.graph_name == graphs[0]:
            triples.append((subject, predicate, target))
        elif quad.subject == graphs[0] and isinstance(predicate, IRI) and predicate.value in time_predicates:
            times.append((predicate.value, target))
        else:
            reason = f"outside the graph stands only the time of its name, not a triple with {quad.predicate}"
            raise masked.error(1, 1, reason)
    graph = _slot_of(masked, graphs[0]) if graphs else None
    if isinstance(graph, Value | TextOf):
        raise masked.error(1, 1, "?c is the value of a cell, and no name of a graph: write <{c}>")
    if not times and not triples:
        raise masked.error(1, 1, "the template has no triple")
    return Template(graph, tuple(times), tuple(triples))


def _slot_of(masked: _Masked, term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Slot:
    own = to_term(term)
    if isinstance(own, IRI):
        found = masked.slots.get(own.value)
        assert not isinstance(found, tuple), own
        return own if found is None else found
    if isinstance(own, Literal):
        parts = masked.slots.get(own.lexical)
        if own.datatype in masked.slots:
            raise masked.error(1, 1, "the datatype of a literal is a constant")
        if isinstance(parts, tuple):
            return TextOf(parts, own.datatype, own.language, own.direction)
    if isinstance(own, TripleTerm):
        raise masked.error(1, 1, "a template has no triple terms")
    if isinstance(own, BlankNode):
        return BlankNode(masked.labels.setdefault(own.label, f"b{len(masked.labels)}"))
    return own


def _place(text: str, at: int) -> tuple[int, int]:
    """Line and column of a place, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _error(name: str, line: int, column: int, reason: str) -> InputError:
    hint = "it is TriG with <{column}>, <http://x/{column}>, \"{column}\" and ?column; 'spaseq template FILE' makes one"
    return InputError(f"{name}:{line}:{column}: {reason}", hint=hint, line=line, column=column)
