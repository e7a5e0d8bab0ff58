"""SPARQL text with numbered placeholders for its terms, so that nodes of a parse tree have places in the text.

rdflib's parser keeps no positions, needs declared prefixes and rewrites numbers. It therefore parses a text of the same
shape in which `<t:7>`, `?v7`, `_:b7`, `"7"` and `7` stand for leaf 7, which has the term and its token. `PREV(?x)`
becomes a variable.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.iris import is_absolute, resolve_iri
from sparql_gpm.pattern import Constant, Expression, Iteration, Variable
from sparql_gpm.syntax.tokens import NUMBERS, Token, string_value, unescape
from sparql_gpm.terms import IRI, RDF, RDF_LANG_STRING, XSD, Literal

ITERATION_WORDS = ("PREV", "FIRST", "LAST")
AGGREGATE_WORDS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")

LIST = ","
"""The operator of the Call that stands for several members of a list, read before."""


@dataclass(frozen=True, slots=True)
class Names:
    """The prefixes, and the base of relative IRIs."""

    prefixes: Mapping[str, str]
    base: str | None

    def resolve(self, token: Token) -> IRI:
        """The IRI of a token of kind `iri` or `pname`."""
        try:
            if token.kind == "pname":
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


@dataclass(frozen=True, slots=True)
class Leaf:
    """A term as it is written.

    value   the term, a number without its sign; a blank node label is the Variable of that `_:` name
    signed  a number together with the sign written right before it, else None
    inverse it is `^iri` in a negated property set, whose IRI rdflib's parser loses
    """

    value: Expression
    token: Token
    signed: Literal | None = None
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Masked:
    """The text for the parser, with the places of its tokens.

    leaves  the leaf of placeholder i is leaves[i - 1]
    starts  the beginning of each of `tokens` in the masked text
    end     the end in the user's text
    """

    text: str
    leaves: tuple[Leaf, ...]
    starts: tuple[int, ...]
    tokens: tuple[Token, ...]
    end: int

    def token_at(self, offset: int) -> Token | None:
        """The token at, or else right after, an offset of the masked text; None at its end."""
        index = bisect_right(self.starts, offset) - 1
        if offset >= len(self.text) or self.text[offset] == " ":
            index += 1
        return self.tokens[index] if 0 <= index < len(self.tokens) else None


def mask(tokens: Sequence[Token], names: Names, end: int, given: Mapping[int, Expression]) -> Masked:
    """The masked text of the tokens; PatternSyntaxError for a faulty term.

    given   expressions read before, by the start of their tokens of kind `expression`
    """
    return _Masker(tokens, names, end, given).run()


class _Masker:
    """One pass over the tokens, writing the masked text."""

    def __init__(self, tokens: Sequence[Token], names: Names, end: int, given: Mapping[int, Expression]) -> None:
        self._tokens = tokens
        self._names = names
        self._end = end
        self._given = given
        self._at = 0
        self._leaves: list[Leaf] = []
        self._written: list[Token] = []
        self._starts: list[int] = []
        self._parts: list[str] = []
        self._length = 0
        self._in_negated_set = False

    def run(self) -> Masked:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._write(token)
            self._at += 1
        text = "".join(self._parts)
        return Masked(text, tuple(self._leaves), tuple(self._starts), tuple(self._written), self._end)

    def _write(self, token: Token) -> None:
        match token.kind:
            case "iri" | "pname":
                self._leaf("<t:{}>", Leaf(Constant(self._names.resolve(token)), token))
            case "variable":
                self._leaf("?v{}", Leaf(Variable(token.text[1:]), token))
            case "bnode":
                self._leaf("_:b{}", Leaf(Variable(token.text), token))
            case "expression":
                self._leaf("<t:{}>", Leaf(self._given[token.start], token))
            case "string":
                self._string(token)
            case "integer" | "decimal" | "double":
                self._number(token)
            case "word":
                self._word(token)
            case _:
                self._punctuation(token)

    def _emit(self, shown: str, token: Token, glued: bool) -> None:
        if not glued:
            self._parts.append(" ")
            self._length += 1
        self._starts.append(self._length)
        self._written.append(token)
        self._parts.append(shown)
        self._length += len(shown)

    def _leaf(self, form: str, leaf: Leaf, glued: bool = False) -> None:
        self._leaves.append(leaf)
        self._emit(form.format(len(self._leaves)), leaf.token, glued)

    def _peek(self, distance: int) -> Token | None:
        index = self._at + distance
        return self._tokens[index] if 0 <= index < len(self._tokens) else None

    def _punctuation(self, token: Token) -> None:
        before, behind = self._peek(-1), self._peek(1)
        if token.text == ";" and before is not None and before.text == ";" and not _is_separator(behind):
            return  # `;;` means `;`
        after_not = before is not None and before.text == "!"
        if token.text == "(" and after_not:
            self._in_negated_set = True
        elif token.text == ")":
            self._in_negated_set = False
        elif token.text == "^" and (after_not or self._in_negated_set) and _is_predicate(behind):
            assert behind is not None
            self._at += 1
            iri = IRI(RDF + "type") if behind.text == "a" else self._names.resolve(behind)
            self._leaf("<t:{}>", Leaf(Constant(iri), behind, inverse=True))
            return
        self._emit(token.text, token, glued=self._is_path_suffix(token))

    def _is_path_suffix(self, token: Token) -> bool:
        """True for `?`, `*` and `+` after a path, which rdflib needs right there; a sign belongs to its number."""
        if token.text not in ("?", "*", "+"):
            return False
        behind = self._peek(1)
        return behind is None or behind.kind not in NUMBERS or behind.start != token.end

    def _number(self, token: Token) -> None:
        datatype = XSD + token.kind
        sign = self._peek(-1)
        signed = None
        if sign is not None and sign.text in ("+", "-") and sign.end == token.start:
            signed = Literal(sign.text + token.text, datatype)
        leaf = Leaf(Constant(Literal(token.text, datatype)), token, signed)
        self._leaf("{}", leaf, glued=signed is not None)

    def _string(self, token: Token) -> None:
        """A string with its language tag or datatype is one leaf."""
        try:
            lexical = string_value(token.text)
        except ValueError as error:
            raise PatternSyntaxError(str(error), token.start) from None
        literal = Literal(lexical)
        behind, datatype = self._peek(1), self._peek(2)
        if behind is not None and behind.kind == "langtag":
            self._at += 1
            literal = Literal(lexical, RDF_LANG_STRING, behind.text[1:].lower())
        elif behind is not None and behind.text == "^^":
            if datatype is None or datatype.kind not in ("iri", "pname"):
                raise self._expected("the IRI of a datatype", datatype)
            self._at += 2
            literal = Literal(lexical, self._names.resolve(datatype).value)
        self._leaf('"{}"', Leaf(Constant(literal), token))

    def _word(self, token: Token) -> None:
        behind = self._peek(1)
        if token.is_word("TRUE", "FALSE"):
            self._leaf('"{}"', Leaf(Constant(Literal(token.text.lower(), XSD + "boolean")), token))
        elif token.is_word(*ITERATION_WORDS) and behind is not None and behind.text == "(":
            self._iteration(token)
        else:
            self._emit(token.text, token, glued=False)

    def _iteration(self, token: Token) -> None:
        word = token.text.upper()
        variable, bracket = self._peek(2), self._peek(3)
        hint = f"{word} takes one variable"
        if variable is None or variable.kind != "variable":
            raise self._expected("a variable", variable, hint)
        if bracket is None or bracket.text != ")":
            raise self._expected("')'", bracket, hint)
        self._leaf("?v{}", Leaf(Iteration(word, variable.text[1:]), token))
        self._at += 3

    def _expected(self, wanted: str, found: Token | None, hint: str = "") -> PatternSyntaxError:
        shown, offset = (f"'{found.text}'", found.start) if found else ("the end", self._end)
        return PatternSyntaxError(f"expected {wanted}, found {shown}", offset, hint)


def _is_separator(token: Token | None) -> bool:
    return token is not None and token.is_word("SEPARATOR")


def _is_predicate(token: Token | None) -> bool:
    return token is not None and (token.kind in ("iri", "pname") or token.text == "a")
