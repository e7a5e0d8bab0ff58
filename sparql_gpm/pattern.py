"""The algebra of a SPARQL 1.1 group graph pattern, as immutable values (SPARQL 1.1, Section 18).

A variable is its name without the question mark. A blank node of the pattern is a variable whose name starts with `_:`;
it is never in scope outside the pattern. Other modules import this one as `algebra`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sparql_gpm.terms import IRI, Literal, Term


@dataclass(frozen=True, slots=True)
class Variable:
    """A query variable, or a blank node of the pattern (`_:` name)."""

    name: str


Node = Term | Variable
"""A node of a triple pattern."""


# --- property paths (SPARQL 1.1, Section 9) -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """A single predicate."""

    iri: IRI


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class PathSequence:
    """`first / second`."""

    first: Path
    second: Path


@dataclass(frozen=True, slots=True)
class PathAlternative:
    """`left | right`."""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class Repeat:
    """`path?` (0, 1), `path*` (0, unbounded), `path+` (1, unbounded); `unbounded` False means at most one."""

    path: Path
    at_least_one: bool
    unbounded: bool


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """`!(iri | ^iri | …)`."""

    forward: tuple[IRI, ...]
    backward: tuple[IRI, ...]


Path = Link | Inverse | PathSequence | PathAlternative | Repeat | NegatedSet


# --- expressions (SPARQL 1.1, Section 17) ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A term of the query."""

    term: Term


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or builtin by its SPARQL name in upper case: `<`, `&&`, `!`, `IN`, `REGEX`, `IF`, …

    Unary minus and plus are `NEG` and `POS`; `NOT IN` is `NOTIN`.
    """

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """A function named by an IRI: the XPath constructor functions, and extensions."""

    iri: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """`EXISTS { … }`, or `NOT EXISTS` when negated."""

    pattern: Pattern
    negated: bool


class Adding(Enum):
    """The way in which SUM adds floats and doubles."""

    IN_TURN = "one after the other, as SPARQL does"
    ONCE = "exactly, and the sum is rounded"
    EXACTLY = "exactly; the sum is for another SUM or AVG, and not rounded"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT`; `argument` None is `COUNT(*)`.

    In a subquery it ranges over a group; in a SPAseq condition, projection or template over the
    iterations of a repetition, and then its argument is one variable (specification 3.2).

    adding  of a SUM inside of an aggregate over matches (specification 3.4.5)
    """

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str = " "
    adding: Adding = Adding.IN_TURN


@dataclass(frozen=True, slots=True)
class Iteration:
    """`PREV(?v)`, `FIRST(?v)` or `LAST(?v)`: a value of an iteration of a repeated step (specification 3.2)."""

    name: str
    variable: str


Expression = Variable | Constant | Call | Cast | Exists | Aggregate | Iteration


# --- graph patterns (SPARQL 1.1, Section 18.2) ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Triple:
    """A triple pattern."""

    subject: Node
    predicate: Node
    object: Node


@dataclass(frozen=True, slots=True)
class PathTriple:
    """A property path between two nodes; `path` is never a bare `Link`."""

    subject: Node
    path: Path
    object: Node


@dataclass(frozen=True, slots=True)
class TermParts:
    """The parts of a triple term: `term` is `<<( subject predicate object )>>` (SPARQL 1.2, Section 18.1.3)."""

    term: Variable
    subject: Node
    predicate: Node
    object: Node


@dataclass(frozen=True, slots=True)
class BGP:
    """A basic graph pattern; the empty one is the unit of join."""

    triples: tuple[Triple | PathTriple | TermParts, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Compatible pairs of solutions."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """OPTIONAL; `condition` is the conjunction of the filters of the optional group, if any."""

    left: Pattern
    right: Pattern
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Union:
    """Solutions of either side."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus:
    """Solutions of the left that share a variable and are compatible with none of the right."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Filter:
    """Solutions for which the condition's effective boolean value is true."""

    condition: Expression
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Extend:
    """BIND, and `(expression AS ?v)` of a subquery; an error leaves the variable unbound."""

    inner: Pattern
    variable: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Values:
    """Inline data; None in a row is UNDEF."""

    variables: tuple[str, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class EventData:
    """The name of the event's graph and its time, an xsd:dateTime in UTC (specification 3.1); None: no variable."""

    graph: str | None
    time: str | None

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that it binds."""
        return tuple(variable for variable in (self.graph, self.time) if variable is not None)


@dataclass(frozen=True, slots=True)
class Graph:
    """`GRAPH`: the inner pattern over a background knowledge base (specification 3.1)."""

    name: IRI | Variable
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Service:
    """`SERVICE`: the inner pattern at a SPARQL endpoint."""

    endpoint: IRI | Variable
    inner: Pattern
    silent: bool


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY of a subquery: one solution per group, the named aggregates bound.

    keys        (variable, expression); a bare `GROUP BY ?x` is ("x", Variable("x"))
    aggregates  (fresh variable, Aggregate) referred to by the Extends and Filters above
    """

    inner: Pattern
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[tuple[str, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class OrderBy:
    """(expression, descending) pairs; matters only below a Slice."""

    inner: Pattern
    keys: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True)
class Project:
    """SELECT of a subquery."""

    inner: Pattern
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """DISTINCT and REDUCED."""

    inner: Pattern


@dataclass(frozen=True, slots=True)
class Slice:
    """OFFSET and LIMIT (None: no limit)."""

    inner: Pattern
    offset: int
    limit: int | None


Modifier = Group | OrderBy | Project | Distinct | Slice
"""The parts of a subquery, above its pattern."""
Pattern = BGP | Join | LeftJoin | Union | Minus | Filter | Extend | Values | EventData | Graph | Service | Modifier

TRUE = Literal("true", "http://www.w3.org/2001/XMLSchema#boolean")
FALSE = Literal("false", "http://www.w3.org/2001/XMLSchema#boolean")
EMPTY = BGP(())
