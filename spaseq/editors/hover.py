"""The text that an editor shows over a token, in Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from automata.plan.expression import Span
from sparql_gpm.syntax.signs import SIGNS
from spaseq.editors import words
from spaseq.editors.document import Document, Names, Occurrence, Placed
from spaseq.editors.fixes import PREFIXES
from spaseq.editors.kinds import Kind
from spaseq.editors.sentences import operator_sentence, quantifier_sentence, step_at, step_sentence
from spaseq.editors.variables import scope_sentences
from spaseq.lang import drafts
from spaseq.lang.drafts import Word
from spaseq.lang.signs import CONTIGUITIES, SEQUENCE_SIGNS


@dataclass(frozen=True, slots=True)
class Hover:
    """A text in Markdown and the token that it is about, [start, end)."""

    text: str
    start: int
    end: int


def hover(document: Document, offset: int) -> Hover | None:
    """The text for a place; None where there is nothing to say."""
    placed = document.token_at(offset)
    if placed is None:
        return None
    shown = _shown(document, placed, offset)
    return Hover(shown, placed.token.start, placed.token.end) if shown else None


def _shown(document: Document, placed: Placed, offset: int) -> str:
    token, word = placed.token, document.word(placed.token)
    match token.kind:
        case Kind.NAME | Kind.VARIABLE:
            occurrence = document.occurrence_at(offset)
            return "" if occurrence is None else _name(document, occurrence)
        case Kind.PREFIXED:
            return _prefixed(document, word)
        case Kind.CONTIGUITY if document.sequence is not None:
            return operator_sentence(document.sequence, token.start, CONTIGUITIES[word])
        case Kind.QUANTIFIER if document.sequence is not None:
            return quantifier_sentence(document.sequence, token.start, token.end, document.text)
        case Kind.KEYWORD if help_line := {**words.SPARQL_KEYWORDS, **words.KEYWORDS}.get(word.upper()):
            return f"**{word.upper()}** {help_line}"
        case Kind.FUNCTION:
            return f"**{word.upper()}**{words.FUNCTIONS[word.upper()]}"
    signs = SEQUENCE_SIGNS if placed.clause == "SEQ" else SIGNS
    return f"**{word}** {signs[word].help}" if word in signs else ""


def _name(document: Document, occurrence: Occurrence) -> str:
    name = occurrence.name
    match occurrence.kind:
        case Names.VARIABLE:
            return f"**?{name}** " + " ".join(scope_sentences(document, name))
        case Names.STREAM:
            iris = [clause.iri.text for clause in document.all(drafts.StreamClause) if clause.name.text == name]
            return f"**{name}** stream {iris[0]}" if iris else f"**{name}** no stream of this name is declared"
    return _gpm(document, occurrence)


def _gpm(document: Document, occurrence: Occurrence) -> str:
    """A sentence for each place of a step, and the variables of its GPM."""
    name = occurrence.name
    clauses = [clause for clause in document.all(drafts.DefineClause) if clause.name.text == name]
    streams = [word.text for clause in clauses for word in clause.streams]
    places = [found for found in document.same(occurrence) if not found.declares]
    chosen = [occurrence] if occurrence in places else places
    sentences = []
    if document.sequence is not None:
        steps = [step_at(document.sequence, found.start) for found in chosen]
        sentences = [step_sentence(step, streams, document.text) for step in steps if step]
    if not clauses:
        sentences.append("No DEFINE has this name.")
    gpm = document.gpms.get(name)
    binds = " ".join(f"?{variable}" for variable in sorted(gpm.binds)) if gpm else ""
    return " ".join(sentences or ["No step of SEQ( )."]) + (f"\n\nBinds {binds}" if binds else "")


def _prefixed(document: Document, word: str) -> str:
    prefix = word.partition(":")[0]
    if prefix in document.namespace.prefixes:
        return f"`<{document.namespace.expand(Word(word, Span(0, 0)))}>`"
    usual = f"; usually `<{PREFIXES[prefix]}>`" if prefix in PREFIXES else ""
    return f"The prefix `{prefix}:` is not declared{usual}"
