"""The leaves of a parse tree as nodes of patterns, and their places in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Aggregate, Constant, Expression, Iteration, Node, PathTriple, Triple, Variable
from sparql_gpm.syntax.grammar import Tree
from sparql_gpm.syntax.masked import AGGREGATE_WORDS, Leaf, Masked
from sparql_gpm.syntax.tokens import Token
from sparql_gpm.terms import IRI, RDF

_ANCHORED = {
    "Filter": ("FILTER",), "SubSelect": ("SELECT",), "OptionalGraphPattern": ("OPTIONAL",),
    "MinusGraphPattern": ("MINUS",), "Bind": ("BIND",),
}  # fmt: skip
_ANCHORS = frozenset(word for words in _ANCHORED.values() for word in words) | frozenset(AGGREGATE_WORDS)


class Source:
    """The text of a parse tree: the terms of its placeholders, the places of its keywords.

    places  where each triple pattern that has been read stands: its object, or else its verb or subject
    """

    def __init__(self, masked: Masked, tree: Tree) -> None:
        self._leaves = masked.leaves
        self._fresh: dict[str, str] = {}
        self._anchors = dict(_anchors(tree, masked.tokens))
        self.places: dict[Triple | PathTriple, int] = {}

    def leaf(self, node: Any) -> Leaf | None:
        """The leaf of a placeholder; None for nodes that rdflib itself adds, as `rdf:type` for `a`."""
        from rdflib import BNode, Literal, URIRef

        if name_of(node) == "literal":
            node = node.string
        match node:
            case URIRef() if node.startswith("t:"):
                index = node[2:]
            case Literal():
                index = str(node).lstrip("+-")
            case BNode() if not (node.startswith("b") and node[1:].isdigit()):
                return None
            case URIRef():
                return None
            case _:
                index = node[1:]
        return self._leaves[int(index) - 1]

    def token(self, node: Any) -> Token:
        """The token of a placeholder, or the keyword of a FILTER, SELECT, OPTIONAL, MINUS, BIND or aggregate."""
        if id(node) in self._anchors:
            return self._anchors[id(node)]
        leaf = self.leaf(node)
        assert leaf is not None, node
        return leaf.token

    def note(self, triple: Triple | PathTriple, written: Sequence[Any]) -> None:
        """Notes the place of a triple pattern: the first of these placeholders that has one."""
        leaves = (self.leaf(node) for node in written)
        if triple not in self.places and (found := next((leaf for leaf in leaves if leaf is not None), None)):
            self.places[triple] = found.token.start

    def node(self, node: Any) -> Node:
        """A node of a triple or of VALUES; numbers with their sign."""
        from rdflib import BNode

        leaf = self.leaf(node)
        if leaf is None:
            return self.fresh(f"rdflib {node}") if isinstance(node, BNode) else IRI(str(node))
        if leaf.signed is not None:
            return leaf.signed
        match leaf.value:
            case Constant(term):
                return term
            case Variable():
                return leaf.value
        raise misplaced(leaf.value, leaf.token)

    def variable(self, node: Any) -> str:
        """The name of a variable that is bound or projected."""
        leaf = self.leaf(node)
        assert leaf is not None, node
        if isinstance(leaf.value, Variable):
            return leaf.value.name
        raise misplaced(leaf.value, leaf.token)

    def iri(self, node: Any) -> IRI:
        """An IRI, or the `rdf:type` of `a`."""
        term = self.node(node)
        assert isinstance(term, IRI), term
        return term

    def fresh(self, key: str = "") -> Variable:
        """A blank node's variable: for a key always the same one, without a key a new one."""
        name = f"_:{len(self._fresh) + 1}"
        return Variable(self._fresh.setdefault(key or name, name))


def misplaced(expression: Expression, token: Token) -> PatternSyntaxError:
    """The error for PREV, FIRST, LAST or an aggregate where the language has none."""
    if isinstance(expression, Aggregate | Iteration):
        return not_here(token)
    return PatternSyntaxError("expected a term, found an expression", token.start)


def not_here(token: Token) -> PatternSyntaxError:
    """The error for the word of an aggregate or iteration where the language has none."""
    word = token.text.upper().partition("(")[0].strip()
    where = "in the FILTERs at the top of a pattern, in SELECT, and as an object of the template"
    hint = f"{word} may stand {where}"
    return PatternSyntaxError(f"{word} cannot stand here", token.start, hint, Fault.AGGREGATE)


def name_of(tree: Tree) -> str:
    """The grammar rule of a node of the tree; "" for a leaf."""
    from rdflib.plugins.sparql.parserutils import CompValue

    return str(tree.name) if isinstance(tree, CompValue) else ""


def is_nil(tree: Tree) -> bool:
    """True for the `()` that rdflib reads as `rdf:nil`."""
    from rdflib import URIRef

    return isinstance(tree, URIRef) and str(tree) == RDF + "nil"


def _anchors(tree: Tree, tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """The id of each keyword's node with its token; both are in the order of the text."""
    words = [token for token in tokens if token.is_word(*_ANCHORS)]
    following = iter(words)
    for node in _preorder(tree):
        name = name_of(node)
        if name in _ANCHORED or name.startswith("Aggregate_"):
            expected = _ANCHORED.get(name) or (name.removeprefix("Aggregate_").upper(), "GROUP_CONCAT")
            token = next(following)
            assert token.is_word(*expected), (name, token)
            yield id(node), token


def _preorder(tree: Tree) -> Iterator[Tree]:
    yield tree
    if name_of(tree):
        for key in tree:
            yield from _preorder(tree[key])
    elif not isinstance(tree, str) and hasattr(tree, "__iter__"):
        for child in tree:
            yield from _preorder(child)
