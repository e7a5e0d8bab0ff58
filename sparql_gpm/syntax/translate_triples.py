"""Triples and property paths of a tree (SPARQL 1.2, Sections 4.2, 9, 18.3.2.1, 18.3.2.3 and 18.3.2.4).

Reified triples and annotations stand for `rdf:reifies` of a triple term, as in Turtle (RDF 1.2 Turtle, Section 2.11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sparql_gpm import pattern as algebra
from sparql_gpm.algebra.rewrite import balanced
from sparql_gpm.algebra.traversal import subpaths
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Expression, Member, Node, Path, PathTriple, Repeat, TermParts, Triple, Variable
from sparql_gpm.syntax.names import Blanks, Names, first_token
from sparql_gpm.syntax.tokens import Token, Tree
from sparql_gpm.terms import IRI, RDF, BlankNode, TripleTerm

_VALUES = ("aggregate", "iteration")
_FIRST, _REST, _NIL, _REIFIES = (IRI(RDF + name) for name in ("first", "rest", "nil", "reifies"))


@dataclass(slots=True)
class TripleReader:
    """Reads the triples of one text, into `members`.

    value       reads an aggregate, PREV, FIRST or LAST, or refuses it
    template    no paths; such values stand beside the triples that have them, in `values`
    places      of the triples: the object, or else the verb or subject
    """

    names: Names
    blanks: Blanks
    value: Callable[[Tree], Expression]
    template: bool = False
    members: list[Member] = field(default_factory=list)
    values: dict[Variable, Expression] = field(default_factory=dict)
    places: dict[Member, int] = field(default_factory=dict)

    def read(self, triples: Tree) -> list[Member]:
        """The members of a basic graph pattern or template."""
        self.members = []
        for same_subject in triples.children:
            subject, *properties = same_subject.children
            node = self._node(subject)
            for each in properties:
                self._properties(node, each, subject)
        return self.members

    def _properties(self, subject: Node, properties: Tree, written: Tree | None) -> None:
        for verb_objects in properties.children:
            verb, *objects = verb_objects.children
            for each in objects:
                self._object(subject, verb, each, written)

    def _object(self, subject: Node, verb: Tree, written: Tree, subject_written: Tree | None) -> None:
        """A triple, and what is said of it."""
        value, *annotations = written.children
        before = len(self.members)
        object_ = self._object_node(value)
        stated = tuple(self._triple(subject, verb, object_))
        self.members[before:before] = stated
        place = next((found for node in (value, verb, subject_written) if (found := _place(node)) is not None), None)
        if place is not None:
            for member in stated:
                self.places.setdefault(member, place)
        if annotations:
            self._annotate(subject, verb, value, object_, annotations)

    def _annotate(self, subject: Node, verb: Tree, value: Tree, object_: Node, annotations: Sequence[Tree]) -> None:
        if _is_path(verb):
            message = "a reifier or annotation cannot stand after a path"
            place = annotations[0].children[0].start
            raise PatternSyntaxError(message, place, "write the triples with one predicate each")
        if object_ in self.values:
            raise _value_inside(first_token(value), "an annotated triple")
        term = self._term(subject, self._predicate(verb), object_)
        reifier: Node | None = None
        for each in annotations:
            if each.data == "reifier":
                reifier = self._reifier(each)
                self.members.append(Triple(reifier, _REIFIES, term))
                continue
            if reifier is None:
                reifier = self.blanks.new()
                self.members.append(Triple(reifier, _REIFIES, term))
            self._properties(reifier, each.children[-1], None)
            reifier = None

    def _reifier(self, written: Tree | None) -> Node:
        return self._node(written.children[-1]) if written and len(written.children) > 1 else self.blanks.new()

    def _triple(self, subject: Node, verb: Tree, object_: Node) -> Iterator[Member]:
        if not _is_path(verb):
            yield Triple(subject, self._predicate(verb), object_)
            return
        if self.template:
            raise PatternSyntaxError("a path cannot stand in a template", first_token(verb).start)
        yield from self._connect(subject, self._path(verb), object_)

    def _predicate(self, verb: Token) -> IRI | Variable:
        return Variable(verb.text[1:]) if verb.type == "VAR" else self.names.resolve(verb)

    # --- nodes ---

    def _object_node(self, written: Tree) -> Node:
        """A node; a value is that of a new variable."""
        if isinstance(written, Token) or written.data not in _VALUES:
            return self._node(written)
        value = self.value(written)
        self.values[variable := self.blanks.new()] = value
        return variable

    def _node(self, written: Tree) -> Node:
        if isinstance(written, Token) and written.type in ("VAR", "BNODE"):
            return Variable(written.text[written.type == "VAR" :])
        if (term := self.names.term(written)) is not None:
            return term
        match written.data:
            case "nil":
                return _NIL
            case "collection":
                return self._collection(written.children[1:])
            case "blank_with":
                blank = self.blanks.new()
                self._properties(blank, written.children[-1], None)
                return blank
            case "reified":
                return self._reified(*written.children)
            case "triple_term":
                return self._triple_term(*written.children)
            case "exists":
                word = first_token(written)
                raise PatternSyntaxError(f"expected a term, found '{word.text}'", word.start)
        assert written.data == "blank", written
        return self.blanks.new()

    def _collection(self, items: Sequence[Tree]) -> Node:
        cells = [self.blanks.new() for _ in items]
        rests: list[Node] = [*cells[1:], _NIL]
        for item, cell, rest in zip(items, cells, rests, strict=True):
            self.members.append(Triple(cell, _FIRST, self._inner(item, "a collection")))
            self.members.append(Triple(cell, _REST, rest))
        return cells[0]

    def _reified(self, subject: Tree, verb: Token, object_: Tree, reifier: Tree | None = None) -> Node:
        nodes = self._parts(subject, verb, object_, "a reified triple")
        node = self._reifier(reifier)
        self.members.append(Triple(node, _REIFIES, self._term(*nodes)))
        return node

    def _triple_term(self, subject: Tree, verb: Token, object_: Tree) -> Node:
        return self._term(*self._parts(subject, verb, object_, "a triple term"))

    def _parts(self, subject: Tree, verb: Token, object_: Tree, whole: str) -> tuple[Node, IRI | Variable, Node]:
        return self._inner(subject, whole), self._predicate(verb), self._inner(object_, whole)

    def _inner(self, written: Tree, whole: str) -> Node:
        """A node in a whole that takes no aggregate, PREV, FIRST or LAST."""
        if not isinstance(written, Token) and written.data in _VALUES:
            self.value(written)
            raise _value_inside(written.children[0], whole)
        return self._node(written)

    def _term(self, subject: Node, predicate: IRI | Variable, object_: Node) -> Node:
        """A triple term: a constant, or a new variable with its parts."""
        ground = isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI)
        if ground and not isinstance(object_, Variable):
            return TripleTerm(subject, predicate, object_)  # type: ignore[arg-type]
        term = self.blanks.new()
        self.members.append(TermParts(term, subject, predicate, object_))
        return term

    # --- paths ---

    def _connect(self, subject: Node, path: Path, object_: Node) -> Iterator[Member]:
        """Section 18.3.2.4: links, inverses and sequences at the top of a path become plain triples.

        A sequence with `?`, `*` or `+` stays one path, which is followed as a whole; its solutions are the same.
        """
        match path:
            case algebra.Link(iri):
                yield Triple(subject, iri, object_)
            case algebra.Inverse(inner):
                yield from self._connect(object_, inner, subject)
            case algebra.PathSequence(first, second) if Repeat not in map(type, subpaths(path)):
                middle = self.blanks.new()
                yield from self._connect(subject, first, middle)
                yield from self._connect(middle, second, object_)
            case _:
                yield PathTriple(subject, path, object_)

    def _path(self, written: Tree) -> Path:
        if isinstance(written, Token):
            return algebra.Link(self.names.resolve(written))
        match written.data:
            case "alternative":
                return balanced(algebra.PathAlternative, [self._path(part) for part in written.children])
            case "path_sequence":
                return balanced(algebra.PathSequence, [self._path(part) for part in written.children])
            case "inverse":
                return algebra.Inverse(self._path(written.children[1]))
            case "repeated":
                path, sign = written.children
                return Repeat(self._path(path), at_least_one=sign.text == "+", unbounded=sign.text != "?")
        links = written.children[1:]
        forward = [self.names.resolve(link) for link in links if isinstance(link, Token)]
        backward = [self.names.resolve(link.children[0]) for link in links if not isinstance(link, Token)]
        return algebra.NegatedSet(tuple(forward), tuple(backward))


def _is_path(verb: Tree) -> bool:
    return not isinstance(verb, Token)


def _place(written: Tree | None) -> int | None:
    """The place of a variable, an IRI or a literal; None for what is written in another way."""
    if isinstance(written, Token):
        return None if written.type in ("A", "BNODE") else written.start
    return written.children[0].start if written is not None and written.data in ("tagged", "typed") else None


def _value_inside(word: Token, whole: str) -> PatternSyntaxError:
    hint = "write it as the object of a triple of its own"
    return PatternSyntaxError(f"{word.text.upper()} cannot stand in {whole}", word.start, hint, Fault.AGGREGATE)
