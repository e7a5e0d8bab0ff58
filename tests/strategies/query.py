"""Random query texts over a small vocabulary: every construct of the language, valid by construction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.strategies.sequence import Dice, OftenDice, SequenceText, Use

TYPES = (("A", 3), ("B", 2), ("C", 1))
WINDOWS = (
    ("WITHIN 100 SECONDS", 7),
    ("WITHIN 10 SECONDS", 2),
    ("WITHIN 5 SECONDS SLIDING", 2),
    ("WITHIN 8 SECONDS SLIDING", 3),
    ('WITHIN 8 SECONDS STARTING AT "2026-01-01T00:00:01Z"', 1),
    ("WITHIN 6 EVENTS", 1),
    ("WITHIN 6 EVENTS SLIDING", 2),
    ("WITHIN 5 EVENTS STARTING AT 1", 1),
)


@dataclass(frozen=True, slots=True)
class StepText:
    """A step and the variables that its GPM binds."""

    name: str
    uses: tuple[Use, ...]
    binds_key: bool
    value: str | None
    optional: str | None
    time: str | None = None
    graph: str | None = None

    @property
    def negated(self) -> bool:
        """Whether it stands inside `!`."""
        return bool(self.uses[0].negations)

    def is_inside(self, other: StepText) -> bool:
        """Whether every negation around the other is around this step, too."""
        around = other.uses[0].negations
        return self.uses[0].negations[: len(around)] == around

    @property
    def variables(self) -> list[str]:
        """The variables in scope in the GPM."""
        bound = ("?k" if self.binds_key else None, self.value, self.optional, self.time, self.graph)
        return [v for v in bound if v is not None]


@dataclass(slots=True)
class QueryText:
    """Draws one query."""

    PARTITIONED: ClassVar[int] = 35

    dice: Dice
    steps: list[StepText] = field(default_factory=list)
    streams: int = 1
    computed: str | None = None
    elapsed: str | None = None
    by: str | None = None
    given: Sequence[str] = ()

    def whole(self) -> str:
        """The text of the query."""
        drawn = self.sequence()
        sequence = drawn.whole()
        self.streams = 2 if self.dice.chance(30) else 1
        keyed = self.dice.chance(60)
        for name in dict.fromkeys(use.name for use in drawn.uses):
            uses = tuple(use for use in drawn.uses if use.name == name)
            self.steps.append(self.step(name, uses, keyed))
        self.partition()
        defines = "\n".join(f"  {self.define(step)}" for step in self.steps)
        beside = self.beside()
        froms = "\n".join(f"FROM STREAM S{n} <http://ex.org/s{n}>" for n in range(1, self.streams + 1))
        clauses = f"{self.form()}\n{self.window()}\n{self.partition()}{froms}"
        body = f"  SEQ({sequence})\n{defines}\n{beside}"
        return f"PREFIX : <http://ex.org/>\n{clauses}\nWHERE {{\n{body}}}\n{self.modifiers()}"

    def sequence(self) -> SequenceText:
        """What draws the SEQ."""
        return SequenceText(self.dice)

    def window(self) -> str:
        """WITHIN."""
        return self.dice.weighted(WINDOWS)

    def step(self, name: str, uses: tuple[Use, ...], keyed: bool) -> StepText:
        """What a step's GPM binds: a key that all may share, a value of its own or a shared one, an optional."""
        key = self.dice.chance(90 if keyed else 15)
        value = self.dice.weighted([(f"?v{name}", 8), ("?v", 1), ("", 2)]) or None
        optional = f"?n{name}" if self.dice.chance(12) else None
        time = f"?t{name}" if self.dice.chance(20) else None
        return StepText(name, uses, key, value, optional, time, f"?g{name}" if self.dice.chance(4) else None)

    # --- GPMs -------------------------------------------------------------------------------------

    def define(self, step: StepText) -> str:
        """DEFINE GPM … ON … { … } with a filter or a condition at times."""
        kind = ":q 1" if self.dice.chance(12) else f"a :{self.dice.weighted(TYPES)}"
        triples = f"?s{step.name} {kind}"
        triples += " ; :k ?k" if step.binds_key else ""
        triples += f" ; :v {step.value}" if step.value else ""
        body = f"{triples} ." + (f" OPTIONAL {{ ?s{step.name} :n {step.optional} }}" if step.optional else "")
        for _ in range(self.dice.weighted([("0", 5), ("1", 4), ("11", 1)]).count("1")):
            condition = self.condition(step)
            body += f" FILTER({condition})" if condition else ""
        on = self.dice.weighted([("S1, S2", 5), ("S1", 4), ("S2", 1)]) if self.streams == 2 else "S1"
        event = (f"AS {step.graph} " if step.graph else "") + (f"AT {step.time} " if step.time else "")
        return f"DEFINE GPM {step.name} ON {on} {event}{{ {body} }}"

    def beside(self) -> str:
        """FILTERs and BINDs beside the DEFINEs."""
        values = sorted({step.value for step in self.positive() if step.value}.union(self.given))
        text = ""
        if values and self.dice.chance(12):
            self.computed = "?b1"
            text += "  BIND (COALESCE(?b1, 7) AS ?b0)\n" if self.dice.chance(30) else ""
            folds = [f"SUM({value})" for value in self.repeated()]
            text += f"  BIND ({self.dice.pick(*values, *folds)} + {self.dice.pick('1', *values)} AS ?b1)\n"
        times = [step.time for step in self.positive() if step.time]
        if times and self.dice.chance(25):
            self.elapsed = "?b2"
            text += f"  BIND ({self.dice.pick(*times)} - {self.dice.pick(*times)} AS ?b2)\n"
        if values and self.dice.chance(25):
            text += f"  FILTER ({self.match_condition(values)})\n"
        return text

    def match_condition(self, values: Sequence[str]) -> str:
        """A condition of the match: of one, two or three variables, over iterations, or over a computed value."""
        kind = self.dice.weighted([("two", 5), ("three", 2), ("one", 2), ("folded", 2), ("computed", 2)])
        one, other, third = (self.dice.pick(*values) for _ in range(3))
        if kind == "computed" and self.computed:
            return self.dice.pick(f"{self.computed} <= 3", f"!BOUND({self.computed})", f"{self.computed} != {one} + 1")
        if kind == "folded" and self.repeated():
            return self.aggregate(self.dice.pick(*self.repeated()))
        if kind == "one":
            return self.dice.pick(f"{one} <= 2", f"!BOUND({one}) || {one} != 1", "1 < 2")
        if kind == "three":
            return f"{one} + {other} >= {third}"
        return self.across(one, other)

    def condition(self, step: StepText) -> str | None:
        """A filter of a step's GPM: over its own variables, across steps, or over iterations."""
        seen = [other for other in self.positive() if other.value]
        if step.negated:
            seen += [other for other in self.steps if other.value and step.is_inside(other)]
        others = [other.value for other in seen if other.value and other.name != step.name]
        others += self.given
        own = step.value
        repeated = [value for value in self.repeated() if value]
        if step.time and self.dice.chance(60):
            return self.gap(step, seen)
        kind = self.dice.weighted([("own", 2), ("across", 4), ("previous", 2), ("aggregate", 2), ("exists", 1)])
        if kind == "previous" and own in repeated:
            return self.over_iterations(own or "")
        if kind == "aggregate" and repeated:
            return self.aggregate(self.dice.pick(*repeated))
        if kind == "exists" and others:
            return f"{self.dice.pick('NOT EXISTS', 'NOT EXISTS', 'EXISTS')} {{ ?z :v {self.dice.pick(*others)} }}"
        if kind != "own" and others:
            return self.across(own or str(self.dice.number(0, 3)), self.dice.pick(*others))
        return f"{own} {self.dice.pick('<=', '!=')} {self.dice.number(1, 3)}" if own else None

    def gap(self, step: StepText, seen: Sequence[StepText]) -> str:
        """A bound of the time since another step, or since the iteration before."""
        times = [other.time for other in seen if other.time and other.name != step.name]
        if times:
            return self.between(step.time or "", self.dice.pick(*times))
        limit = self.duration()
        previous = f"PREV({step.time})" if self.is_repeated(step) else step.time
        return f"COALESCE({step.time} - {previous} <= {limit}, true)"

    def between(self, one: str, other: str) -> str:
        """A comparison of two times, by XPath's arithmetic of dates."""
        relation, seconds = self.dice.pick("<=", "<=", "<=", ">=", "!="), self.duration()
        return self.dice.pick(
            f"{one} - {other} {relation} {seconds}",
            f"{one} - {other} {relation} {seconds}",
            f"{one} {relation} {other} + {seconds}",
            f"{one} - {seconds} {relation} {other}",
            f"({one} - {other}) * 2 {relation} {seconds} + {self.duration()}",
            f"({one} - {other}) / {self.duration()} {relation} 1.5",
            f"({one} - {other}) / 2 {relation} {seconds}",
        )

    def duration(self) -> str:
        """Some seconds."""
        return f'"PT{self.dice.number(1, 4)}S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>'

    def across(self, own: str, other: str) -> str:
        """A comparison with another step's variable, with SPARQL's treatment of errors at times."""
        compared = f"{own} {self.dice.pick('<=', '>=', '!=', '<')} {other}"
        match self.dice.pick("plain", "plain", "bound", "coalesce", "or", "in"):
            case "bound":
                return f"!BOUND({other}) || {compared}"
            case "coalesce":
                return f"COALESCE({compared}, true)"
            case "or":
                return f"{compared} || {own} = 1"
            case "in":
                return f"{own} IN ({other}, 1, 2)"
        return compared

    def over_iterations(self, own: str) -> str:
        """PREV, FIRST and LAST in the step's own filter."""
        return self.dice.pick(
            f"COALESCE({own} >= PREV({own}), true)",
            f"!BOUND(PREV({own})) || {own} != PREV({own})",
            f"{own} >= FIRST({own})",
            f"LAST({own}) <= 2",
        )

    def aggregate(self, value: str) -> str:
        """An aggregate over the iterations so far."""
        return self.dice.pick(
            f"COUNT({value}) <= 2",
            f"SUM({value}) < 5",
            f"AVG({value}) <= 2",
            f"MAX({value}) >= 1",
            f"COALESCE(MIN({value}), 0) < 2",
            f"COUNT(DISTINCT {value}) = 1",
        )

    # --- everything around ------------------------------------------------------------------------

    def positive(self) -> list[StepText]:
        """The steps outside `!`."""
        return [step for step in self.steps if not step.negated]

    def repeated(self) -> list[str]:
        """The variables with iterations: of steps in a repetition and outside `!`; several steps may share them."""
        steps = [step for step in self.positive() if any(use.loops for use in step.uses)]
        named = (name for step in steps for name in (step.value, step.optional, "?k" if step.binds_key else None))
        return list(dict.fromkeys(name for name in named if name))

    def is_repeated(self, step: StepText) -> bool:
        """Whether it is written once, in a repetition and outside `!`."""
        return not step.negated and len(step.uses) == 1 and bool(step.uses[0].loops)

    def form(self) -> str:
        """SELECT or CONSTRUCT, with a selector at times."""
        selector = self.dice.weighted([("", 14), ("ALL ", 1), ("STRICT ", 1), ("NEXT ", 1), ("LAST ", 1), ("MAX ", 1)])
        variables = sorted({v for step in self.positive() for v in step.variables}.union(self.given))
        if self.dice.chance(12) and variables:
            return f"CONSTRUCT {selector}{{ {self.template(variables)} }}"
        distinct = "DISTINCT " if self.dice.chance(10) else ""
        if not variables or self.dice.chance(40):
            return f"SELECT {selector}{distinct}*"
        variables += [self.computed, "?b0"] if self.computed else []
        variables += [self.elapsed] if self.elapsed else []
        chosen = list(dict.fromkeys(self.dice.pick(*variables) for _ in range(self.dice.number(1, 3))))
        return f"SELECT {selector}{distinct}{' '.join([*chosen, *self.expressions(variables)])}"

    def expressions(self, variables: Sequence[str]) -> list[str]:
        """Projected expressions."""
        columns = []
        if self.repeated() and self.dice.chance(50):
            value = self.dice.pick(*self.repeated())
            function = self.dice.pick("COUNT", "SUM", "MIN", "MAX", "SAMPLE", "FIRST", "LAST", "PREV", "GROUP_CONCAT")
            columns.append(f"({function}({value}) AS ?x1)")
        values = [variable for variable in variables if variable.startswith("?v")]
        if self.elapsed and self.dice.chance(40):
            columns.append(f"({self.elapsed} {self.dice.pick('* 2', '/ 2', '+ ' + self.duration())} AS ?x3)")
        if values and self.dice.chance(25):
            columns.append(f"({self.dice.pick(*values)} + {self.dice.pick(*values)} AS ?x2)")
        return columns

    def template(self, variables: Sequence[str]) -> str:
        """A template with a blank node and an aggregate at times."""
        subject = self.dice.pick(":m", "_:m")
        parts = [f"{subject} :has {self.dice.pick(*variables)} ."]
        if self.repeated():
            parts.append(
                f"{subject} :count {self.dice.pick('COUNT', 'SUM', 'LAST')}({self.dice.pick(*self.repeated())}) ."
            )
        return " ".join(parts)

    def partition(self) -> str:
        """PARTITION BY the key where every positive step binds it, or USING a pattern."""
        if self.by is None:
            self.by = ""
            if self.dice.chance(15):
                self.by = self.using()
            elif all(step.binds_key for step in self.positive()) and self.dice.chance(self.PARTITIONED):
                self.by = "PARTITION BY ?k\n"
        return self.by

    def using(self) -> str:
        """PARTITION BY … USING: variables of its own, or of steps, whatever these bind."""
        own = [name for step in self.steps for name in (step.value, step.optional) if name]
        one = self.dice.pick("?k", "?k", "?p", "?p", *own)
        variables, pattern = self.dice.pick(
            (one, f"?u :k {one}"),
            (one, f"?u :v {one}"),
            (one, f"?u :v {one} FILTER({one} < 3)"),
            (one, f"?u a {one}"),
            (one, f"{one} a :{self.dice.weighted(TYPES)}"),
            (one, f"{{ ?u :k {one} }} UNION {{ ?u :n {one} }}"),
            (f"({one} ?r)", f"?u :k {one} OPTIONAL {{ ?u :q ?r }}"),
            (f"{one} ?r", f"?u :k {one} . ?w a ?r"),
        )
        self.given = variables.strip("()").split()
        return f"PARTITION BY {variables} USING {{ {pattern} }}\n"

    def skips(self) -> list[str]:
        """The strategies of AFTER MATCH."""
        step = self.dice.pick(*(step.name for step in self.positive()))
        to = [f"SKIP TO FIRST {step}", f"SKIP TO LAST {step}"]
        return ["SKIP TO NEXT EVENT", *to, "SKIP PAST LAST EVENT", "CONSUME ALL"]

    def modifiers(self) -> str:
        """AFTER MATCH and LIMIT."""
        text = f"AFTER MATCH {self.dice.pick(*self.skips(), 'NO SKIP')}\n" if self.dice.chance(20) else ""
        return text + (f"LIMIT {self.dice.number(1, 2)}\n" if self.dice.chance(8) else "")


@st.composite
def any_order_queries(draw: DrawFn) -> str:
    """The text of a random query, which mostly has an ALL( )."""
    return QueryText(OftenDice(draw, "all")).whole()


@st.composite
def queries(draw: DrawFn) -> str:
    """A random query text over streams S1 and, at times, S2."""
    return QueryText(Dice(draw)).whole()


def under_any(text: str) -> str:
    """The query with `:` for every operator and between iterations, and without repeated groups."""
    lines = text.split("\n")
    number = next(number for number, line in enumerate(lines) if line.startswith("  SEQ("))
    line = re.sub(r" [;,] ", " : ", lines[number])
    line = re.sub(r"\)[:;,]?([+*]|\{[0-9,]+\})( WITHIN \d+ \w+)?", ")", line)
    lines[number] = re.sub(r"(\w)[:;,]?([+*]|\{\d[0-9,]*\})", r"\1:\2", line)
    return "\n".join(lines)


def rewindowed(text: str, window: str) -> str:
    """The query with another window; limits of its steps stay."""
    return re.sub(r"(?m)^WITHIN .*$", f"WITHIN {window}", text)
