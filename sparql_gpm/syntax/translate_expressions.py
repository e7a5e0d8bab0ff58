"""Expressions of a tree (SPARQL 1.2, Section 17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sparql_gpm.algebra.rewrite import connected
from sparql_gpm.algebra.traversal import operands
from sparql_gpm.errors import Fault, PatternSyntaxError
from sparql_gpm.pattern import Aggregate, Call, Cast, Constant, Exists, Expression, Iteration, Pattern, Variable
from sparql_gpm.syntax.names import Names, string
from sparql_gpm.syntax.tokens import Token, Tree
from sparql_gpm.terms import IRI, TripleTerm

_NESTED_MAX = 8
"""Operators of one sum or product that nest as calls of two operands; more are one call, named after them all."""
_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}
_UNARY = {"!": "!", "-": "NEG", "+": "POS"}


@dataclass(frozen=True, slots=True)
class ExpressionReader:
    """Reads the expressions of one text.

    group       reads the pattern of an EXISTS
    aggregates  COUNT, SUM, … are allowed
    iterations  PREV, FIRST and LAST are allowed
    nested      they are also allowed inside an aggregate, which then ranges over matches
    """

    names: Names
    group: Callable[[Tree], Pattern]
    aggregates: bool = False
    iterations: bool = False
    nested: bool = False

    def read(self, tree: Tree) -> Expression:
        """The expression of a tree; PatternSyntaxError for an aggregate or iteration that is not allowed here."""
        if isinstance(tree, Token) and tree.type == "VAR":
            return Variable(tree.text[1:])
        if (term := self.names.term(tree)) is not None:
            return Constant(term)
        parts = tree.children
        match tree.data:
            case "expression" | "conditional_and":
                return connected("||" if tree.data == "expression" else "&&", [self.read(part) for part in parts])
            case "comparison":
                return self._comparison(*parts)
            case "sum" | "product":
                return self._chain(parts)
            case "unary":
                return Call(_UNARY[parts[0].text], (self.read(parts[1]),))
            case "built_in":
                return self._built_in(*parts[:-1])
            case "call":
                return self._call(*parts[:-1])
            case "exists":
                return Exists(self.group(parts[-2]), negated=len(parts) > 3)
            case "aggregate":
                return self._aggregate(*parts[:-1])
            case "iteration":
                return self._iteration(*parts[:-1])
        assert tree.data == "term_expression", tree
        return self._term(*parts)

    def _comparison(self, left: Tree, *rest: Tree) -> Expression:
        *operators, right = rest
        if operators[-1].type != "IN":
            return Call(operators[0].text, (self.read(left), self.read(right)))
        name = "NOTIN" if len(operators) > 1 else "IN"
        return Call(name, (self.read(left), *map(self.read, right.children)))

    def _chain(self, parts: Sequence[Tree]) -> Expression:
        """A sum or product; a signed number after an operand is its operator and a number."""
        result, operators, others = self.read(parts[0]), [], []
        rest = iter(parts[1:])
        for part in rest:
            if isinstance(part, Token):
                operators.append(part.text)
                others.append(self.read(next(rest)))
            else:
                number, *factors = part.children
                operators.append(number.text[0])
                unsigned = number._replace(text=number.text[1:])
                others.append(self._chain([unsigned, *factors]) if factors else self.read(unsigned))
        if len(operators) > _NESTED_MAX:
            return Call(" ".join(operators), (result, *others))
        for operator, other in zip(operators, others, strict=True):
            result = Call(operator, (result, other))
        return result

    def _built_in(self, word: Token, *arguments: Tree) -> Expression:
        name = word.text.upper()
        name = _SYNONYMS.get(name, name)
        read = tuple(map(self.read, arguments))
        if name == "IRI" and self.names.base is not None:
            read = (*read, Constant(IRI(self.names.base)))
        return Call(name, read)

    def _call(self, iri: Token, *arguments: Tree) -> Expression:
        function = self.names.resolve(iri)
        if arguments and isinstance(arguments[0], Token) and arguments[0].type == "DISTINCT":
            raise PatternSyntaxError(f"the aggregate '{iri.text}' is not known", iri.start)
        return Cast(function.value, tuple(map(self.read, arguments)))

    def _aggregate(self, word: Token, *rest: Tree) -> Expression:
        if not self.aggregates:
            raise not_here(word)
        distinct = isinstance(rest[0], Token) and rest[0].type == "DISTINCT"
        argument, *separator = rest[distinct:]
        every = isinstance(argument, Token) and argument.type == "STAR"
        inner = replace(self, aggregates=self.nested, iterations=self.nested, nested=False)
        between = string(separator[0]) if separator else " "
        return Aggregate(word.text.upper(), None if every else inner.read(argument), distinct, between)

    def _iteration(self, word: Token, variable: Token) -> Expression:
        if not self.iterations:
            raise not_here(word)
        return Iteration(word.text.upper(), variable.text[1:])

    def _term(self, *parts: Tree) -> Expression:
        """`<<( subject predicate object )>>`: a constant if it has no variable."""
        verb = parts[1]
        verb_read = Variable(verb.text[1:]) if verb.type == "VAR" else Constant(self.names.resolve(verb))
        nodes = self.read(parts[0]), verb_read, self.read(parts[2])
        match nodes:
            case (Constant(IRI() as subject), Constant(IRI() as predicate), Constant(object_)):
                return Constant(TripleTerm(subject, predicate, object_))
        return Call("TRIPLE", nodes)


def not_here(token: Token) -> PatternSyntaxError:
    """The error for the word of an aggregate or iteration where the language has none."""
    word = token.text.upper()
    where = "in the FILTERs at the top of a pattern, in SELECT, and as an object of the template"
    hint = f"{word} may stand {where}"
    return PatternSyntaxError(f"{word} cannot stand here", token.start, hint, Fault.AGGREGATE)


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
