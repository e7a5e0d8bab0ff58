"""The page of railroad diagrams, made from the grammar of the specification."""

from __future__ import annotations

import re
from collections.abc import Collection
from io import StringIO
from pathlib import Path
from typing import assert_never

import railroad

from docs.site.grammar import Either, Item, Literal, Named, Remark, Repeated, Row, rules

SPECIFICATION = Path(__file__).parents[1] / "reference" / "specification.md"
SPARQL = "https://www.w3.org/TR/sparql12-query/#r"
OF_SPARQL = {
    "Expr": "Expression", "GroupGraphPattern": "GroupGraphPattern", "Constraint": "Constraint", "Var": "Var",
    "iri": "iri", "literal": "RDFLiteral", "string": "String", "Template": "ConstructTemplate",
}  # fmt: skip
"""Names that SPARQL 1.2's grammar has, and what it calls them."""
OF_NOTES = ("Name", "name", "n", "m")
"""Names that Section 2.2 of the specification describes."""
COLUMNS = 72
"""Characters that one line of a diagram may hold before it is broken."""

HEAD = """# Grammar in diagrams

Made from the [grammar of the specification](specification.md#21-grammar). A box with round corners is written
as it is, keywords in either case; a box with corners is another diagram, or SPARQL 1.2's.
[Notes on the grammar](specification.md#22-notes-on-the-grammar) has the rest.

<style>
.railroad svg { max-width: 100%; height: auto; }
.railroad path { stroke: currentColor; stroke-width: 1.5; fill: none; }
.railroad rect { stroke: currentColor; stroke-width: 1.5; fill: none; }
.railroad .terminal rect { fill: color-mix(in srgb, currentColor 12%, transparent); }
.railroad text { font: 13px monospace; text-anchor: middle; fill: currentColor; }
.railroad text.comment { font-style: italic; }
</style>
"""


def grammar_page() -> str:
    """The page: a diagram for each rule."""
    known = rules(SPECIFICATION.read_text(encoding="utf-8"))
    return HEAD + "".join(f"\n## {name}\n\n{_svg(item, known)}\n" for name, item in known.items())


def _svg(item: Item, known: Collection[str]) -> str:
    """The diagram in an element of HTML, without a line that is empty: Markdown would end the element there."""
    text = StringIO()
    railroad.Diagram(_drawn(item, known), type="complex").writeSvg(text.write)
    once = re.sub(r"(<text[^>]*>[^<]*</text>)\1", r"\1", " ".join(text.getvalue().split()))
    return f'<div class="railroad">{once.replace("xlink:href", "href")}</div>'


def _drawn(item: Item, known: Collection[str]) -> railroad.DiagramItem:
    match item:
        case Literal(text):
            return railroad.Terminal(text)
        case Named(name):
            return railroad.NonTerminal(name, href=link_of(name, known))
        case Remark(text):
            return railroad.Comment(text)
        case Row(items):
            return _in_lines([_drawn(each, known) for each in items])
        case Either(items):
            return railroad.Choice(0, *(_drawn(each, known) for each in items))
        case Repeated(inner, least, None):
            repeat = railroad.OneOrMore if least else railroad.ZeroOrMore
            return repeat(_drawn(inner, known))
        case Repeated(inner):
            return railroad.Optional(_drawn(inner, known))
        case _:
            assert_never(item)


def link_of(name: str, known: Collection[str]) -> str:
    """Where a name is described. Raises ValueError for one that is described nowhere."""
    if name in known:
        return f"#{name.lower()}"
    if name in OF_SPARQL:
        return SPARQL + OF_SPARQL[name]
    if name in OF_NOTES:
        return "specification.md#22-notes-on-the-grammar"
    raise ValueError(f"no rule describes {name}")


def _in_lines(items: list[railroad.DiagramItem]) -> railroad.DiagramItem:
    """The items one after the other, in as many lines as their widths need."""
    lines: list[list[railroad.DiagramItem]] = [[]]
    width = 0.0
    for item in items:
        if lines[-1] and width + item.width > COLUMNS * railroad.CHAR_WIDTH:
            lines.append([])
            width = 0.0
        lines[-1].append(item)
        width += item.width
    rows = [railroad.Sequence(*line) for line in lines]
    return rows[0] if len(rows) == 1 else railroad.Stack(*rows)
