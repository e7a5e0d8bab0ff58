"""Random SEQ( ) texts, valid by construction, and what each step is in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

STEPS_MAX = 5
"""Positive steps in one SEQ; the reference is exponential in them."""


@dataclass(slots=True)
class Dice:
    """Small choices drawn from Hypothesis; every choice shrinks to the first, every chance to no."""

    draw: DrawFn

    def chance(self, percent: int) -> bool:
        """Yes in so many of a hundred cases."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def pick(self, *options: str) -> str:
        """One of the options."""
        return self.draw(st.sampled_from(options))

    def number(self, low: int, high: int) -> int:
        """An integer of the closed range."""
        return self.draw(st.integers(low, high))

    def weighted(self, options: Sequence[tuple[str, int]]) -> str:
        """One of the options by weight."""
        return self.pick(*(option for option, weight in options for _ in range(weight)))


@dataclass(slots=True)
class OftenDice(Dice):
    """The same choices, but one option is much likelier than its weight says."""

    option: str

    def weighted(self, options: Sequence[tuple[str, int]]) -> str:
        """See `Dice`."""
        return Dice.weighted(self, [(one, 15 * weight if one == self.option else weight) for one, weight in options])


class SeededDice(Dice):
    """The same choices from a seed, without Hypothesis: thousands are cheap, and nothing shrinks."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def chance(self, percent: int) -> bool:
        """See `Dice`."""
        return self.random.randrange(100) >= 100 - percent

    def pick(self, *options: str) -> str:
        """See `Dice`."""
        return self.random.choice(options)

    def number(self, low: int, high: int) -> int:
        """See `Dice`."""
        return self.random.randint(low, high)

    def weighted(self, options: Sequence[tuple[str, int]]) -> str:
        """See `Dice`."""
        *before, last = options
        left = self.random.randrange(sum(weight for _, weight in options))
        for option, weight in before:
            left -= weight
            if left < 0:
                return option
        return last[0]


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a step: its repetitions and the negations it is in, both from the outside in."""

    name: str
    loops: tuple[int, ...]
    negations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of text; `has_all`: an `ALL( )` stands at one of its ends, `absent`: it begins with `!`."""

    text: str
    has_all: bool = False
    absent: bool = False


Context = tuple[tuple[int, ...], tuple[int, ...]]
"""(loops, negations) around the place."""


@dataclass(slots=True)
class SequenceText:
    """Draws one SEQ; `uses` lists the steps in the order written, `limited` says whether there are limits."""

    dice: Dice
    uses: list[Use] = field(default_factory=list)
    unbounded: int = 0
    numbered: int = 0
    limited: bool = False

    def whole(self, limited: int = 20) -> str:
        """The text between the parentheses of SEQ( ), with limits in so many of a hundred cases."""
        self.limited = self.dice.chance(limited)
        size = int(self.dice.weighted([("2", 5), ("1", 2), ("3", 4), ("4", 1)]))
        return self.sequence(size, ((), ()), depth=0).text

    def sequence(self, size: int, context: Context, depth: int, ends: bool = True) -> Item:
        """Items and operators; one item at least cannot be left out, without `ends` the outer ones neither."""
        anchor = self.dice.number(0, size - 1)
        items: list[Item] = []
        text, loose = "", False
        for index in range(size):
            fixed = index == anchor or (not ends and index in (0, size - 1))
            item = self.mandatory(context, depth) if fixed or self.full() else self.anything(context, depth)
            if items:
                loose = loose or item.has_all
                operator = ":" if loose else self.dice.weighted([(";", 4), (":", 5), (",", 1)])
                text += f" {operator}{'' if item.absent else self.limit(30)} "
            text += item.text
            # an ALL( ) is also next to what follows items that may be left out
            loose = item.has_all or (loose and not fixed)
            items.append(item)
            if item.has_all and index >= anchor and self.dice.chance(60):
                break
        return Item(text, items[0].has_all or items[-1].has_all, items[0].absent)

    def full(self) -> bool:
        """Whether there are steps enough."""
        return len(self.uses) >= STEPS_MAX - 1

    # --- items ------------------------------------------------------------------------------------

    def anything(self, context: Context, depth: int) -> Item:
        """An item that may be negated or optional."""
        match self.dice.weighted([("fixed", 5), ("never", 2), ("maybe", 2)]):
            case "never":
                return self.never(context)
            case "maybe":
                return self.maybe(context, depth)
        return self.mandatory(context, depth)

    def never(self, context: Context) -> Item:
        """`N!`, or a negated group or conjunction."""
        inside = (context[0], (*context[1], self.number()))
        if self.dice.chance(60):
            return Item(f"{self.step(inside, negated=True)}!{self.limit(50)}", absent=True)
        kind = self.dice.pick("sequence", "conjunction", "loop", "edges", "edges", "edges")
        if kind == "edges":
            return Item(f"({self.edged(inside)})!{self.limit(50)}", absent=True)
        first, second = self.step(inside, negated=True), self.step(inside, negated=True)
        if kind == "loop":
            first = f"{first};{{2}}"
        joint = "&" if kind == "conjunction" else self.dice.pick(";", ":", ",")
        group = f"({first} {joint} {second})"
        inner = "" if kind == "conjunction" else self.limit(30)
        return Item(f"{f'({group}{inner})' if inner else group}!{self.limit(50)}", absent=True)

    def edged(self, inside: Context) -> str:
        """What a negated group has inside: one or two steps, and `!` or `?` before, between or after them."""
        items = [self.step(inside, negated=True) for _ in range(self.dice.number(1, 2))]
        for _ in range(self.dice.number(1, 2)):
            items.insert(self.dice.number(0, len(items)), self.edge(inside))
        return items[0] + "".join(f" {self.dice.pick(';', ':', ':', ',')} {item}" for item in items[1:])

    def edge(self, inside: Context) -> str:
        """`N!` or `N?`, of a step or a small group."""
        if self.dice.chance(30):
            return f"{self.step(inside, negated=True)}?"
        if self.dice.chance(20):
            both = [self.step(inside, negated=True) for _ in range(2)]
            return f"({' : '.join(both)})?"
        inner = (inside[0], (*inside[1], self.number()))
        absent = self.step(inner, negated=True)
        if self.dice.chance(20):
            absent = f"({absent} {self.dice.pick(';', ':', ',')} {self.step(inner, negated=True)})"
        return f"{absent}!{self.limit(30)}"

    def maybe(self, context: Context, depth: int) -> Item:
        """`A?`, `A*`, `A{0,2}`, or an optional group."""
        match self.dice.pick("step", "step", "star", "group"):
            case "star":
                bound = self.dice.pick("{0,2}", "*") if self.unbounded == 0 else "{0,2}"
                self.unbounded += bound == "*"
                return Item(f"{self.step(self.within(context))}{self.contiguity()}{bound}{self.limit(30)}")
            case "group" if depth == 0:
                inner = f"({self.sequence(2, context, depth + 1, ends=False).text})"
                limit = self.limit(30)
                return Item(f"{f'({inner}{limit})' if limit else inner}?")
        return Item(f"{self.step(context)}?")

    def mandatory(self, context: Context, depth: int) -> Item:
        """An item that takes at least one event."""
        kinds = [("step", 10), ("loop", 3)]
        if depth == 0:
            kinds += [("choice", 2), ("conjunction", 1), ("group", 2), ("all", 1)]
        elif depth == 1:
            kinds += [("choice", 1), ("conjunction", 1)]
        match self.dice.weighted(kinds):
            case "loop":
                return Item(f"{self.step(self.within(context))}{self.quantifier()}{self.limit(30)}")
            case "choice":
                return self.choice(context, depth)
            case "conjunction":
                return self.conjunction(context)
            case "group":
                return self.group(context, depth)
            case "all":
                return self.any_order(context)
        return Item(self.step(context))

    def group(self, context: Context, depth: int) -> Item:
        """A group with a quantifier, a limit, or both in either order."""
        if not self.limited or self.dice.chance(40):
            inner = self.sequence(2, self.within(context), depth + 1)
            return Item(f"({inner.text}){self.quantifier()}{self.limit(30)}", absent=inner.absent)
        if self.dice.chance(50):
            return Item(f"({self.sequence(2, context, depth + 1, ends=False).text}){self.limit(100)}")
        inner = self.sequence(2, self.within(context), depth + 1, ends=False)
        return Item(f"(({inner.text}){self.limit(100)}){self.quantifier()}")

    def limit(self, percent: int) -> str:
        """A limit, so often where there are any."""
        if not (self.limited and self.dice.chance(percent)):
            return ""
        return f" WITHIN {self.dice.pick('2 SECONDS', '1 SECONDS', '3 SECONDS', '1500 MILLISECONDS')}"

    def choice(self, context: Context, depth: int) -> Item:
        """`(A | B)`, with a branch of two steps or a quantifier at times."""
        repeated = self.dice.chance(25)
        inside = self.within(context) if repeated else context
        long = self.dice.chance(25) and depth == 0
        left = f"({self.sequence(2, inside, 2, ends=False).text})" if long else self.step(inside)
        quantifier = self.quantifier() if repeated else ""
        return Item(f"({left} | {self.step(inside)}){quantifier}{self.limit(30) if long or repeated else ''}")

    def conjunction(self, context: Context) -> Item:
        """`A & B`, `(A | B) & C`."""
        if self.dice.chance(25):
            return Item(f"(({self.step(context)} | {self.step(context)}) & {self.step(context)})")
        return Item(f"{self.step(context)} & {self.step(context)}")

    def any_order(self, context: Context) -> Item:
        """`ALL(A, B)` with a SEQ or a repetition as a member at times."""
        repeated = self.dice.chance(15)
        inside = self.within(context) if repeated else context
        first, second = self.member(inside, 20), self.member(inside, 30)
        if self.dice.chance(30):
            operator = f"{self.dice.pick(';', ':', ',')}{self.limit(30)}"
            second = f"SEQ({second} {operator} {self.member(inside, 20)})"
        return Item(f"ALL({first}, {second}){':{1,2}' if repeated else ''}{self.limit(40)}", has_all=True)

    def member(self, context: Context, percent: int) -> str:
        """A step of a member of ALL( ), so often repeated."""
        if not self.dice.chance(percent):
            return self.step(context)
        quantifier = self.dice.pick(";", ":") + self.dice.pick("{1,2}", "{2}", "{1,3}")
        return f"{self.step(self.within(context))}{quantifier}{self.limit(30)}"

    # --- parts ------------------------------------------------------------------------------------

    def step(self, context: Context, negated: bool = False) -> str:
        """A step's name; now and then one that was used before."""
        earlier = [use.name for use in self.uses if not use.negations]
        if earlier and not negated and self.dice.chance(8):
            name = self.dice.pick(*earlier)
        else:
            name = f"{'N' if negated else 'P'}{len({use.name for use in self.uses})}"
        self.uses.append(Use(name, *context))
        return name

    def within(self, context: Context) -> Context:
        """The inside of one more repetition."""
        return (*context[0], self.number()), context[1]

    def number(self) -> int:
        """A fresh number for a repetition or a negation."""
        self.numbered += 1
        return self.numbered

    def contiguity(self) -> str:
        """What may be written before a quantifier."""
        return self.dice.weighted([("", 3), (";", 3), (":", 2), (",", 1)])

    def quantifier(self) -> str:
        """A repetition of at least one; a second one without bound is not drawn."""
        bounds = ["{1,2}", "{2}", "{2,3}"]
        if self.unbounded == 0:
            bounds = ["+", "+", "+", "{2,}", *bounds]
        bound = self.dice.pick(*bounds)
        self.unbounded += bound in ("+", "{2,}")
        return f"{self.contiguity()}{bound}"
