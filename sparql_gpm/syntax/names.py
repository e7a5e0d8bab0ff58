"""Tokens as RDF terms, by the prefixes and the base of their text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.iris import is_absolute, resolve_iri
from sparql_gpm.pattern import Variable
from sparql_gpm.syntax.tokens import Token, Tree, string_value, unescape
from sparql_gpm.terms import DIRECTIONS, IRI, RDF, RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD, Literal

RDF_TYPE = IRI(RDF + "type")


@dataclass(frozen=True, slots=True)
class Names:
    """The prefixes, and the base of relative IRIs."""

    prefixes: Mapping[str, str]
    base: str | None

    def resolve(self, token: Token) -> IRI:
        """The IRI of a token of kind `iri` or `pname`, and of `a`."""
        try:
            match token.kind:
                case "word":
                    return RDF_TYPE
                case "pname":
                    return self._expand(token)
            return self._absolute(unescape(token.text[1:-1]), token)
        except PatternSyntaxError:
            raise
        except ValueError as error:
            raise PatternSyntaxError(str(error), token.start, fault=Fault.IRI) from None

    def _expand(self, token: Token) -> IRI:
        prefix, _, local = token.text.partition(":")
        if prefix not in self.prefixes:
            declared = ", ".join(f"{name}:" for name in sorted(self.prefixes))
            hint = f"declared here: {declared}" if declared else f"add PREFIX {prefix}: <…>"
            raise PatternSyntaxError(f"prefix '{prefix}:' is not declared", token.start, hint)
        return IRI(self.prefixes[prefix] + unescape(local))

    def _absolute(self, written: str, token: Token) -> IRI:
        if self.base is not None:
            return IRI(resolve_iri(written, self.base))
        if not is_absolute(written):
            raise PatternSyntaxError(f"the IRI <{written}> is relative", token.start, "add BASE <…>", Fault.IRI)
        return IRI(written)

    def term(self, node: Tree) -> IRI | Literal | None:
        """The IRI or literal that a node is; None for one that is neither."""
        if not isinstance(node, Token):
            match node.data:
                case "tagged":
                    return _tagged(*node.children)
                case "typed":
                    return Literal(string(node.children[0]), self.resolve(node.children[1]).value)
            return None
        match node.type:
            case "IRI" | "PNAME" | "A":
                return self.resolve(node)
            case "STRING":
                return Literal(string(node))
            case "BOOLEAN":
                return Literal(node.text.lower(), XSD + "boolean")
            case "SIGNED" | "INTEGER" | "DECIMAL" | "DOUBLE":
                return Literal(node.text, XSD + node.kind)
        return None


def string(token: Token) -> str:
    """The value of a string."""
    try:
        return string_value(token.text)
    except ValueError as error:
        raise PatternSyntaxError(str(error), token.start) from None


def _tagged(quoted: Token, tag: Token) -> Literal:
    language, _, direction = tag.text[1:].partition("--")
    if not direction:
        return Literal(string(quoted), RDF_LANG_STRING, language.lower())
    if direction not in DIRECTIONS:
        message = f"the base direction '{direction}' is neither ltr nor rtl"
        raise PatternSyntaxError(message, tag.start, f"write @{language}--ltr or @{language}--rtl")
    return Literal(string(quoted), RDF_DIR_LANG_STRING, language.lower(), direction)


def first_token(node: Tree) -> Token:
    """The first token in the tree of a node, which has no tokens that the grammar drops."""
    return node if isinstance(node, Token) else first_token(node.children[0])


def last_token(node: Tree) -> Token:
    """The last one."""
    return node if isinstance(node, Token) else last_token(node.children[-1])


class Blanks:
    """New `_:` variables, none of them a label of the text."""

    def __init__(self, labels: Collection[str]) -> None:
        self._labels = labels
        self._made = 0

    def new(self) -> Variable:
        """One that was not there before."""
        while True:
            self._made += 1
            if (name := f"_:{self._made}") not in self._labels:
                return Variable(name)
