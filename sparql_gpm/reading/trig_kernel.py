"""TriG written as N-Quads, a unit at a time: prefixed names, `a`, `;`, `,` and abbreviated literals are written out.

A unit is a statement of the default graph about times, or a graph block, in the forms that serializers give. Any other
unit is odd: directives, blank nodes in brackets, collections, triple terms, long strings, escapes in names, faults. Its
end is found by `trig_units`, and the unit reader reads it. IRIs and strings are not checked here, as the scan of
N-Quads does that; but an IRI that a base might change is odd.
"""

from __future__ import annotations

from typing import NamedTuple

from arrays.jit import lean_kernel, lean_part, lean_step
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.columns import Ids
from sparql_gpm.interning.term_table_kernels import same_bytes
from sparql_gpm.reading.token_kernels import (
    DOT,
    HASH,
    LESS,
    NEWLINE,
    RETURN,
    SPACE,
    UNDERSCORE,
    constant,
)
from sparql_gpm.reading.trig_term_kernels import (
    FULL,
    LINE_END,
    ODD,
    POSITION,
    WHITE,
    Source,
    is_in,
    is_word,
    node,
    object_,
)
from sparql_gpm.terms import RDF

ENDED = 0
"""What ends `unfold`: the text, if not an ODD unit, which may also lack its end, or a FULL output."""
LINE, WRITTEN, UNITS, LINES = range(1, 5)
"""The state behind the POSITION: its line; bytes, units and lines that have been written."""
BEGIN, END, BEGINS_ON, FIRST = range(4)
"""Columns of a unit: its place in the text; the line it begins on; the lines of N-Quads written before it."""
TERM_BYTES_MAX = 1 << 14
"""A graph, subject or predicate that is longer makes its unit odd."""
_GRAPH, _SUBJECT, _PREDICATE = 0, TERM_BYTES_MAX, 2 * TERM_BYTES_MAX
_COMMA, _SEMICOLON, _OPEN, _CLOSE, _A = 44, 59, 123, 125, 97
_OTHER_SPACE = (11, 12)
"""Passed over between units only."""
_TYPE, _GRAPH_KEYWORD = constant(f"<{RDF}type>"), constant("graph")


class Output(NamedTuple):
    """The output.

    text        lines of N-Quads
    units       int64[n, 4]: those read
    state       int64[5]
    at          int64[3]: POSITION, LINE and the bytes WRITTEN within a unit
    terms       uint8[3 * TERM_BYTES_MAX]: the graph, the subject and the predicate of a line
    """

    text: Bytes
    units: Ids
    state: Ids
    at: Ids
    terms: Bytes


@lean_kernel
def unfold(source: Source, output: Output) -> int:
    """Write unit after unit from the state's POSITION on; the state says how far it came."""
    state, units = output.state, output.units
    at, begun = output.at, state[UNITS]
    while True:
        at[POSITION], at[LINE], at[WRITTEN] = state[POSITION], state[LINE], state[WRITTEN]
        _skip(source, at)
        while byte_at(source.text, at[POSITION]) in _OTHER_SPACE:
            at[POSITION] += 1
            _skip(source, at)
        state[POSITION], state[LINE] = at[POSITION], at[LINE]
        if at[POSITION] >= source.size:
            return ENDED
        if state[UNITS] == len(units):
            return FULL
        lines = ODD if source.unclosed and state[UNITS] == begun else _unit(source, output, at)
        if lines < 0:
            return lines if lines == ODD or state[UNITS] else ODD
        unit = state[UNITS]
        units[unit, BEGIN], units[unit, END] = state[POSITION], at[POSITION]
        units[unit, BEGINS_ON], units[unit, FIRST] = state[LINE], state[LINES]
        state[POSITION], state[LINE], state[WRITTEN] = at[POSITION], at[LINE], at[WRITTEN]
        state[UNITS], state[LINES] = unit + 1, state[LINES] + lines


@lean_step
def _skip(source: Source, at: Ids) -> None:
    """Go on behind space and comments."""
    text, place, line = source.text, at[POSITION], at[LINE]
    while place < source.size:
        byte = byte_at(text, place)
        if byte == NEWLINE or (byte == RETURN and byte_at(text, place + 1) != NEWLINE):
            line += 1
        elif byte == HASH:
            while place + 1 < source.size and not is_in(byte_at(text, place + 1), LINE_END):
                place += 1
        elif not is_in(byte, WHITE):
            break
        place += 1
    at[POSITION], at[LINE] = place, line


@lean_step
def _unit(source: Source, output: Output, at: Ids) -> int:
    """Write a unit; the number of its lines, ODD or FULL."""
    text = source.text
    named = is_word(text, at[POSITION], _GRAPH_KEYWORD, True)
    if named:
        at[POSITION] += len(_GRAPH_KEYWORD) - WORD
        _skip(source, at)
    stop = node(source, at, output.terms, _SUBJECT, _PREDICATE)
    if stop < 0:
        return ODD
    _skip(source, at)
    if byte_at(text, at[POSITION]) == _OPEN:
        for place in range(stop - _SUBJECT):
            output.terms[_GRAPH + place] = output.terms[_SUBJECT + place]
        at[POSITION] += 1
        return _block(source, output, at, stop - _SUBJECT)
    if named or output.terms[_SUBJECT] != LESS:
        return ODD
    lines = _properties(source, output, at, stop, 0)
    if lines > 0 and not (byte_at(text, at[POSITION]) == DOT and is_in(byte_at(text, at[POSITION] + 1), WHITE)):
        return ODD
    at[POSITION] += 1
    return lines


@lean_step
def _block(source: Source, output: Output, at: Ids, graph_stop: int) -> int:
    """Write a graph block behind its brace."""
    text, lines = source.text, 0
    while True:
        _skip(source, at)
        if byte_at(text, at[POSITION]) == _CLOSE and at[POSITION] < source.size:
            at[POSITION] += 1
            return lines if lines else ODD
        stop = node(source, at, output.terms, _SUBJECT, _PREDICATE)
        if stop < 0:
            return ODD
        more = _properties(source, output, at, stop, graph_stop)
        if more < 0:
            return more
        lines += more
        if byte_at(text, at[POSITION]) == DOT:
            at[POSITION] += 1
        elif byte_at(text, at[POSITION]) != _CLOSE:
            return ODD


@lean_step
def _properties(source: Source, output: Output, at: Ids, subject_stop: int, graph_stop: int) -> int:
    """Write the predicates and objects of a subject, up to what follows them; the number of lines, ODD or FULL.

    graph_stop  the end of the graph in the terms; 0: the default graph, of which only times are read
    """
    text, terms, lines = source.text, output.terms, 0
    while True:
        _skip(source, at)
        predicate_stop = _verb(source, at, terms)
        if predicate_stop < 0 or not (graph_stop or _states_time(source, terms, predicate_stop)):
            return ODD
        while True:
            written = at[WRITTEN]
            if written + 4 * TERM_BYTES_MAX > len(output.text):
                return FULL
            written = _copy(terms, _SUBJECT, subject_stop, output.text, written)
            written = _copy(terms, _PREDICATE, predicate_stop, output.text, written)
            _skip(source, at)
            written = object_(source, at, output.text, written)
            if written < 0 or written + TERM_BYTES_MAX + WORD > len(output.text):
                return ODD if written == ODD else FULL
            output.text[written] = SPACE
            written += 1
            if graph_stop:
                written = _copy(terms, _GRAPH, graph_stop, output.text, written)
            output.text[written] = DOT
            output.text[written + 1] = NEWLINE
            at[WRITTEN] = written + 2
            lines += 1
            _skip(source, at)
            if byte_at(text, at[POSITION]) != _COMMA:
                break
            at[POSITION] += 1
        if byte_at(text, at[POSITION]) != _SEMICOLON:
            return lines
        while byte_at(text, at[POSITION]) == _SEMICOLON:
            at[POSITION] += 1
            _skip(source, at)
        if byte_at(text, at[POSITION]) == DOT or byte_at(text, at[POSITION]) == _CLOSE:
            return lines


@lean_part
def _copy(terms: Bytes, start: int, stop: int, out: Bytes, written: int) -> int:
    """Write a term and a space; there is room."""
    for place in range(stop - start):
        out[written + place] = terms[start + place]
    out[written + stop - start] = SPACE
    return written + stop - start + 1


@lean_part
def _states_time(source: Source, terms: Bytes, predicate_stop: int) -> bool:
    ends = source.predicate_ends
    for index in range(len(ends) - 1):
        length = ends[index + 1] - ends[index]
        if length == predicate_stop - _PREDICATE and same_bytes(
            source.predicates, ends[index], terms, _PREDICATE, length
        ):
            return True
    return False


@lean_step
def _verb(source: Source, at: Ids, terms: Bytes) -> int:
    """Write a predicate to the terms; its end there, or ODD."""
    text, place = source.text, at[POSITION]
    if byte_at(text, place) == _A and (is_in(byte_at(text, place + 1), WHITE) or byte_at(text, place + 1) == LESS):
        at[POSITION] = place + 1
        length = len(_TYPE) - WORD
        for index in range(length):
            terms[_PREDICATE + index] = _TYPE[index]
        return _PREDICATE + length
    if byte_at(text, place) == UNDERSCORE:
        return ODD
    return node(source, at, terms, _PREDICATE, len(terms))
