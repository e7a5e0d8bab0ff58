"""The trees of the pieces of SPARQL in a query, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from automata.plan.expression import Span
from sparql_gpm.syntax.tokens import Token, Tree
from spaseq.lang.drafts import Word


@dataclass(frozen=True, slots=True)
class Trees:
    """Those of one query: the bodies of GPMs by Name, the FILTERs beside the DEFINEs, and all others."""

    bodies: Mapping[str, Tree]
    conditions: Sequence[Tree]
    others: Sequence[Tree]


def nodes(trees: Iterable[Tree], *apart: str) -> Iterator[Tree]:
    """The trees, all in them and the tokens, in the order of the text; not what is in trees of some rules."""
    for tree in trees:
        if tree is not None:
            yield tree
            if not isinstance(tree, Token) and tree.data not in apart:
                yield from nodes(tree.children, *apart)


def is_a(node: Tree, *rules: str) -> bool:
    """True for a tree of one of some rules."""
    return not isinstance(node, Token) and node.data in rules


def divided(group: Tree) -> tuple[list[Tree], list[Tree]]:
    """The top-level FILTERs of a group, and its other parts."""
    parts = group.children if group.data == "body" else [group]
    filters = [part for part in parts if part.data == "filter"]
    return filters, [part for part in parts if part.data != "filter"]


def variables(found: Iterable[Tree]) -> tuple[Word, ...]:
    """The variables among nodes, each where it stands first."""
    words: dict[str, Word] = {}
    for node in found:
        if isinstance(node, Token) and node.kind == "variable":
            words.setdefault(node.text[1:], word(node))
    return tuple(words.values())


def word(token: Token) -> Word:
    """A token as a word of the query."""
    return Word(token.text, Span(token.start, token.end))
