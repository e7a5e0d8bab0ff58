"""Expressions of a parse tree (SPARQL 1.1, Section 17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sparql_gpm.algebra.rewrite import connected
from sparql_gpm.algebra.traversal import operands
from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.pattern import Aggregate, Call, Cast, Constant, Exists, Expression, Iteration, Pattern, Variable
from sparql_gpm.syntax.grammar import Tree
from sparql_gpm.syntax.masked import LIST
from sparql_gpm.syntax.translate_terms import Source, is_nil, name_of, not_here
from sparql_gpm.terms import IRI, XSD_STRING, Literal

_BINARY = {"RelationalExpression", "AdditiveExpression", "MultiplicativeExpression"}
_LOGICAL = {"ConditionalOrExpression": "||", "ConditionalAndExpression": "&&"}
_UNARY = {"UnaryNot": "!", "UnaryMinus": "NEG", "UnaryPlus": "POS"}
_ARGUMENTS = ("arg", "arg1", "arg2", "arg3", "text", "start", "length", "pattern", "replacement", "flags")
_NESTED_MAX = 8
"""Operators of one sum or product that nest as calls of two operands; more are one call, named after them all."""
_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads the expressions of one text.

    group       reads the pattern of an EXISTS
    base        the base of relative IRIs in IRI(), or None
    aggregates  COUNT, SUM, … are allowed
    iterations  PREV, FIRST and LAST are allowed
    nested      they are also allowed inside an aggregate, which then ranges over matches
    """

    source: Source
    group: Callable[[Tree], Pattern]
    base: str | None
    aggregates: bool = False
    iterations: bool = False
    nested: bool = False

    def read(self, tree: Tree) -> Expression:
        """The expression of a tree; PatternSyntaxError for an aggregate or iteration that is not allowed here."""
        name = name_of(tree)
        if name in _LOGICAL:
            return connected(_LOGICAL[name], [self.read(part) for part in (tree.expr, *(tree.other or ()))])
        if name in _BINARY:
            return self._binary(tree)
        if name in _UNARY:
            return self._unary(_UNARY[name], tree.expr)
        if name == "Function":
            return self._function(tree)
        if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            return Exists(self.group(tree.graph), negated=name == "Builtin_NOTEXISTS")
        if name.startswith("Aggregate_"):
            return self._aggregate(tree)
        if name.startswith("Builtin_"):
            return self._builtin(tree)
        return self._leaf(tree)

    def _leaf(self, tree: Tree) -> Expression:
        leaf = self.source.leaf(tree)
        if leaf is None:
            return Constant(IRI(str(tree)))
        if isinstance(leaf.value, Iteration) and not self.iterations:
            raise not_here(leaf.token)
        return leaf.value

    def _binary(self, tree: Tree) -> Expression:
        result = self.read(tree.expr)
        if tree.op in ("IN", "NOT IN"):
            return Call(tree.op.replace(" ", ""), (result, *self._list(tree.other)))
        if isinstance(tree.op, str):
            return Call(tree.op, (result, self.read(tree.other)))
        if len(tree.op or ()) > _NESTED_MAX:
            return Call(" ".join(tree.op), (result, *map(self.read, tree.other)))
        for operator, other in zip(tree.op or (), tree.other or (), strict=True):
            result = Call(operator, (result, self.read(other)))
        return result

    def _unary(self, operator: str, operand: Tree) -> Expression:
        """`-3` is a literal, as in SPARQL's grammar; `- 3` and `-?x` are calls."""
        leaf = None if name_of(operand) else self.source.leaf(operand)
        if leaf is not None and leaf.signed is not None:
            return Constant(leaf.signed)
        return Call(operator, (self.read(operand),))

    def _function(self, tree: Tree) -> Expression:
        token = self.source.token(tree.iri)
        if tree.distinct == "DISTINCT":
            raise PatternSyntaxError(f"the aggregate '{token.text}' is not known", token.start)
        return Cast(self.source.iri(tree.iri).value, self._list(tree.expr or ()))

    def _list(self, trees: Tree) -> tuple[Expression, ...]:
        read = () if is_nil(trees) else map(self.read, trees)
        return tuple(one for e in read for one in (e.arguments if isinstance(e, Call) and e.name == LIST else (e,)))

    def _builtin(self, tree: Tree) -> Expression:
        name = tree.name.removeprefix("Builtin_").upper()
        name = _SYNONYMS.get(name, name)
        if name in ("CONCAT", "COALESCE"):
            return Call(name, self._list(tree.arg))
        arguments = tuple(self.read(tree[key]) for key in tree if key in _ARGUMENTS)
        if name == "IRI" and self.base is not None:
            arguments = (*arguments, Constant(IRI(self.base)))
        return Call(name, arguments)

    def _aggregate(self, tree: Tree) -> Expression:
        token = self.source.token(tree)
        if not self.aggregates:
            raise not_here(token)
        separator = " "
        if tree.separator is not None:
            leaf = self.source.leaf(tree.separator)
            assert leaf is not None and isinstance(leaf.value, Constant), tree
            term = leaf.value.term
            if leaf.token.kind != "string" or not isinstance(term, Literal) or term.datatype != XSD_STRING:
                raise PatternSyntaxError("expected a plain string as SEPARATOR", leaf.token.start)
            separator = term.lexical
        inner = replace(self, aggregates=self.nested, iterations=self.nested, nested=False)
        argument = None if isinstance(tree.vars, str) and tree.vars == "*" else inner.read(tree.vars)
        return Aggregate(token.text.upper(), argument, tree.distinct == "DISTINCT", separator)


def conjunction(conditions: Sequence[Expression]) -> Expression | None:
    """All the conditions as one; None for none."""
    return connected("&&", conditions) if conditions else None


def outer_variables(expression: Expression) -> tuple[str, ...]:
    """The variables of an expression outside of its aggregates and EXISTS, in the order written."""
    match expression:
        case Variable(name):
            return (name,)
        case Aggregate():
            return ()
    return tuple(name for operand in operands(expression) for name in outer_variables(operand))
