"""A description as text for people, for a terminal of 80 to 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from spaseq.explain import description as described

_WIDTH = 88
_INDENT = "  "
_KINDS = {"start": "start", "step": "", "any-order": "any order", "accept": "match"}


def to_text(description: described.Description) -> str:
    """Every section that is not empty, in the order in which a query is read."""
    partition = ", ".join(f"?{name}" for name in description.partition)
    events = ", over the events in which USING finds it" if description.using else ""
    sections = [
        (f"query {description.query}", list(_wrapped(description.sentences))),
        ("streams", list(_streams(description.streams))),
        ("knowledge bases", [line for known in description.knowledge for line in _knowledge(known)]),
        ("window", list(_wrapped([description.window]))),
        ("partition", list(_wrapped([f"once for each value of {partition}{events}"] if partition else []))),
        ("on Spark", list(_wrapped([description.sharding] if description.sharding else []))),
        ("graph pattern matchers", [line for plan in description.patterns for line in _pattern(plan)]),
        ("match", list(_match(description))),
        ("automaton", list(_automaton(description.states, description.edges))),
        ("contiguity between iterations", list(_repetitions(description.repetitions))),
        ("evaluator", list(_evaluator(description.evaluator))),
    ]
    shown = sections[:1] + [section for section in sections[1:] if section[1]]
    return "\n\n".join("\n".join([title, *lines]) for title, lines in shown) + "\n"


def _wrapped(paragraphs: Sequence[str], indent: str = _INDENT, hanging: str = "") -> Iterator[str]:
    """Each paragraph broken into lines; a long IRI is never broken."""
    for paragraph in paragraphs:
        yield from textwrap.wrap(
            paragraph,
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=indent + hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _streams(streams: Sequence[described.Stream]) -> Iterator[str]:
    width = max((len(stream.name) for stream in streams), default=0)
    for stream in streams:
        origin = f"  ({stream.origin})" if stream.origin else ""
        yield f"{_INDENT}{stream.name:<{width}}  <{stream.iri}>{origin}"


def _knowledge(known: described.KnowledgeBase) -> Iterator[str]:
    yield from _wrapped([f"<{known.iri}> {known.how}"], hanging=_INDENT * 2)
    for use in known.uses:
        variables = " ".join(f"?{name}" for name in use.variables) or "no variable"
        joined = "not queried" if use.when == "never" else f"joined with {use.when}"
        yield from _wrapped([f"{use.step} → {variables}, {joined}: {use.why}"], _INDENT * 2, _INDENT)


def _pattern(pattern: described.PatternPlan) -> Iterator[str]:
    variables = " ".join(f"?{name}" for name in pattern.variables) or "no variable"
    yield from _wrapped([f"{pattern.name} on {', '.join(pattern.streams)} → {variables}"], hanging=_INDENT * 2)
    for line in pattern.plan:
        yield _INDENT * 2 + line
    for condition in pattern.conditions:
        yield from _condition(condition)


def _match(description: described.Description) -> Iterator[str]:
    for condition in description.conditions:
        yield from (line.removeprefix(_INDENT) for line in _condition(condition))
    for computed in description.computed:
        yield from _wrapped([f"bind ?{computed.variable} = {computed.text}"], hanging=_INDENT)


def _condition(condition: described.Condition) -> Iterator[str]:
    text = " ".join(condition.text.split())
    yield from _wrapped([f"condition {text}"], _INDENT * 2, _INDENT)
    yield from _wrapped([f"decided {condition.decided}"], _INDENT * 3, _INDENT)


def _automaton(states: Sequence[described.State], edges: Sequence[described.Edge]) -> Iterator[str]:
    """Each state with its outgoing edges below."""
    digits = max((len(str(state.id)) for state in states), default=1)
    width = max((len(described.move_text(edge)) for edge in edges), default=0)
    for state in states:
        kind = _KINDS[state.kind]
        shown = f" ({kind})" if kind and kind != state.label else ""
        yield f"{_INDENT}{state.id:>{digits}}  {' '.join(state.label.split())}{shown}"
        for edge in edges:
            if edge.source == state.id:
                head = f"{_INDENT}{'':{digits}}  └─ {described.move_text(edge):<{width}} → {edge.target}"
                yield from _with_notes(head, "; ".join(edge.notes), digits)


def _with_notes(head: str, notes: str, digits: int) -> Iterator[str]:
    """The notes after the head, or below it if the line would be too long."""
    line = f"{head}   {notes}".rstrip()
    if len(line) <= _WIDTH:
        yield line
    else:
        yield head
        yield from _wrapped([notes], " " * (digits + 7))


def _repetitions(repetitions: Sequence[described.Repetition]) -> Iterator[str]:
    width = max((len(repetition.text) for repetition in repetitions), default=0)
    for repetition in repetitions:
        source = "as written" if repetition.written else "by default"
        line = f"{repetition.text:<{width}}  {repetition.contiguity} ({source})"
        yield from _wrapped([line], hanging=" " * (width + 2))


def _evaluator(chosen: described.Evaluator) -> Iterator[str]:
    lines = [f"{chosen.name}: {chosen.reason}"]
    lines += [f"form: {chosen.form}: {chosen.form_reason}"] if chosen.form else []
    lines += [f"on short input: {chosen.on_short_input}"] if chosen.on_short_input else []
    lines += [chosen.replanning] if chosen.replanning else []
    lines += [f"estimate: {estimate}" for estimate in chosen.estimates]
    lines += [f"not {alternative.evaluator}: {alternative.why_not}" for alternative in chosen.alternatives]
    return _wrapped(lines, hanging=_INDENT)
