"""Parts of a query as the query writes them."""

from __future__ import annotations

from collections.abc import Sequence

from automata.plan import expression as nodes
from automata.plan.expression import Contiguity, Span, extent, symbols
from sparql_gpm.algebra.describe import expression_text
from sparql_gpm.pattern import Expression
from spaseq.algebra.nodes import TemporalQuery
from spaseq.algebra.partitions import in_writing


def filter_written(query: TemporalQuery, condition: Expression) -> str:
    """A condition as it is written, with FILTER."""
    parsed, bare = query.parsed, in_writing(condition)
    written = (*(each for define in parsed.defines for each in define.filters), *parsed.filters)
    span = next((each.span for each in written if each.expression in (condition, bare)), None)
    text = expression_text(bare) if span is None else text_at(query, span)
    return text if text.upper().startswith("FILTER") else f"FILTER {text}"


def elements_written(
    query: TemporalQuery, elements: Sequence[nodes.Expression], sequence: nodes.Expression | None = None
) -> str:
    """Elements of a sequence as they are written, with its operators, or `;`, between them."""
    texts = [text_at(query, extent(each)) or _names(query, each) for each in elements]
    operators = sequence.operators if isinstance(sequence, nodes.Sequence) else ()
    signs = [*(operator.value for operator in operators), *[Contiguity.NEXT.value] * len(texts)]
    return "".join(f" {sign} {text}" for sign, text in zip(["", *signs], texts, strict=False)).strip()


def text_at(query: TemporalQuery, span: Span) -> str:
    """The text of a place; a parenthesis that it closes begins before it."""
    text, start = query.parsed.text, span.start
    while text.count(")", start, span.end) > text.count("(", start, span.end) and "(" in text[:start]:
        start = text.rindex("(", 0, start)
    return " ".join(text[start : span.end].split())


def _names(query: TemporalQuery, node: nodes.Expression) -> str:
    sign = " & " if isinstance(node, nodes.Conjunction) else ", "
    return sign.join(query.patterns[symbol].name for symbol in symbols(node))
