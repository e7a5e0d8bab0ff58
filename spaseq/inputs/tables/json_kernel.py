"""The scanner of lines of JSON: the spans of the values that a template uses, without an object for any of them.

A line that is not certainly one object as `json` reads it, or that has an object where a value is used, a list where
a field of it is, a key twice or one with an escape, is odd: others read it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arrays.jit import free_kernel, lean_part, part
from arrays.words import WORD, Bytes, byte_at, first_byte, word_at
from sparql_gpm.columns import Ids
from spaseq.inputs.tables.json_kinds import BOOLEAN, DOUBLE, ESCAPED, INTEGER, LIST, STRING, WIDE

NONE, REFUSED = -1, -2
"""In the place of a column: the value is not used; the line is odd."""
DEPTH_MAX = 32

_ODD = -1
_ARRAY = -2
"""In the place of the node of an object on the stack; lists of values that are used have lower numbers."""
_KEY, _VALUE, _AFTER = 0, 1, 2
_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE, _BACKSLASH = 9, 10, 13, 32, 34, 92
_PLUS, _COMMA, _MINUS, _DOT, _ZERO, _NINE, _COLON = 43, 44, 45, 46, 48, 57, 58
_BEGIN_ARRAY, _END_ARRAY, _BEGIN_OBJECT, _END_OBJECT = 91, 93, 123, 125
_ASCII_MAX = 127
_HIGH = -0x7F7F7F7F7F7F7F80
_ONES = 0x0101010101010101
_SPACES, _QUOTES, _BACKSLASHES = _SPACE * _ONES, _QUOTE * _ONES, _BACKSLASH * _ONES
_TRUE, _ALSE, _NULL = (int.from_bytes(word, "little") for word in (b"true", b"alse", b"null"))
_HALF = 0xFFFFFFFF
_SIMPLE_ESCAPES = np.isin(np.arange(256), list(b'"\\/bfnrt'))
_HEX_DIGITS = np.isin(np.arange(256), list(b"0123456789abcdefABCDEF"))
_U, _F = ord("u"), ord("f")
_HEX = 4
"""Hexadecimal digits in an escape."""
_KIND_BITS = 6
"""By so many bits places are shifted to make room for a kind."""
_KINDS = (1 << _KIND_BITS) - 1


class KeyTree(NamedTuple):
    """The keys that are used, as a tree of nodes: node 0 is the row.

    names           their bytes, one after the other
    begins, ends    int64[nodes]: of the key of each node
    first           int64[nodes + 1]: the fields of node i are first[i] … first[i + 1] - 1
    columns         int64[nodes]: the column of its value, NONE or REFUSED
    seen            int64[nodes]: the line in which it was met last
    hints           int64[nodes]: the field that probably comes next
    """

    names: Bytes
    begins: Ids
    ends: Ids
    first: Ids
    columns: Ids
    seen: Ids
    hints: Ids


class Found(NamedTuple):
    """The rows of some lines, and the lines that are odd.

    begins, ends    int64[columns, n]: of each value in the text, a string's quotes left out; 0 for null
    kinds           uint8[columns, n]; LIST: the values are items
    items           int64[5, m]: column, row, begin, end and kind of each value in a list
    counts          int64[1]: items that there are
    rows            int64[3, n]: begin, end and number, from 0, of the line of each row
    odd             int64[4, m]: the same of odd lines, and how many rows stand before
    """

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    items: NDArray[np.int64]
    counts: Ids
    rows: NDArray[np.int64]
    odd: NDArray[np.int64]


@free_kernel
def scan(text: Bytes, begin: int, end: int, wide: bool, keys: KeyTree, found: Found, stack: Ids) -> tuple[int, int]:
    """Write the rows of the lines in text[begin:end], which end with a newline; return how many, and odd lines.

    wide    what is not in ASCII is valid UTF-8; else such lines are odd
    """
    at, number, rows, odd = begin, 0, 0, 0
    while at < end:
        start, items = at, found.counts[0]
        at = _space(text, at)
        if byte_at(text, at) != _NEWLINE:
            at = _row(text, at, rows, number, wide, keys, found, stack)
            if at != _ODD:
                found.rows[0, rows], found.rows[1, rows], found.rows[2, rows] = start, at, number
                rows += 1
            else:
                at, found.counts[0] = start, items
                while byte_at(text, at) != _NEWLINE:
                    at += 1
                for column in range(found.kinds.shape[0]):
                    found.begins[column, rows] = found.ends[column, rows] = found.kinds[column, rows] = 0
                found.odd[0, odd], found.odd[1, odd], found.odd[2, odd], found.odd[3, odd] = start, at, number, rows
                odd += 1
        number += 1
        at += 1
    return rows, odd


@part
def _row(text: Bytes, start: int, row: int, number: int, wide: bool, keys: KeyTree, found: Found, stack: Ids) -> int:
    """Write the values of a row; the end of its line, or _ODD."""
    if byte_at(text, start) != _BEGIN_OBJECT:
        return _ODD
    at, node, depth, state = start, 0, 0, _VALUE
    while True:
        first = byte_at(text, at)
        if state == _AFTER:
            if first == _COMMA:
                at = _space(text, at + 1)
                node = _ARRAY - stack[depth - 1] if stack[depth - 1] < _ARRAY else NONE
                state = _VALUE if stack[depth - 1] <= _ARRAY else _KEY
                continue
            if first != (_END_ARRAY if stack[depth - 1] <= _ARRAY else _END_OBJECT):
                return _ODD
            depth -= 1
            at = _space(text, at + 1)
            if depth == 0:
                return at if byte_at(text, at) == _NEWLINE else _ODD
            continue
        if state == _KEY:
            if first != _QUOTE:
                return _ODD
            string = _string(text, at + 1)
            stop, parent = string >> _KIND_BITS, stack[depth - 1]
            if string == _ODD or (string & WIDE and not wide) or (string & ESCAPED and parent != NONE):
                return _ODD
            node = _field(text, at + 1, stop, parent, keys) if parent != NONE else NONE
            if node != NONE:
                if keys.seen[node] == number or keys.columns[node] == REFUSED:
                    return _ODD
                keys.seen[node] = number
            at = _space(text, stop + 1)
            if byte_at(text, at) != _COLON:
                return _ODD
            at = _space(text, at + 1)
            state = _VALUE
            continue
        column = keys.columns[node] if node != NONE else NONE
        state = _AFTER
        if first in (_BEGIN_OBJECT, _BEGIN_ARRAY):
            array = first == _BEGIN_ARRAY
            listed = array and column != NONE and keys.first[node] == keys.first[node + 1]
            if depth == DEPTH_MAX or not (listed or (column == NONE and (node == NONE or not array))):
                return _ODD
            stack[depth] = (_ARRAY - node if listed else _ARRAY) if array else node
            depth += 1
            at = _space(text, at + 1)
            if listed:
                found.kinds[column, row] = LIST
            else:
                node = NONE
            if byte_at(text, at) != (_END_ARRAY if array else _END_OBJECT):
                state = _VALUE if array else _KEY
            continue
        value = _scalar(text, at, wide)
        if value == _ODD:
            return _ODD
        end, kind = value >> _KIND_BITS, value & _KINDS
        quote = kind & STRING
        if column != NONE and stack[depth - 1] < _ARRAY:
            item = found.counts[0]
            if item == found.items.shape[1]:
                return _ODD
            found.items[0, item], found.items[1, item], found.items[2, item] = column, row, at + quote
            found.items[3, item], found.items[4, item] = end - quote, kind
            found.counts[0] += 1
        elif column != NONE and kind:
            found.begins[column, row], found.ends[column, row], found.kinds[column, row] = at + quote, end - quote, kind
        at = _space(text, end)


@part
def _scalar(text: Bytes, start: int, wide: bool) -> int:
    """The end of a value that is no list and no object, and its kind: end << _KIND_BITS | kind, or _ODD."""
    first = byte_at(text, start)
    if first == _QUOTE:
        string = _string(text, start + 1)
        if string == _ODD or (string & WIDE and not wide):
            return _ODD
        return (((string >> _KIND_BITS) + 1) << _KIND_BITS) | (string & _KINDS)
    if first == _MINUS or _ZERO <= first <= _NINE:
        integer = _integer_end(text, start)
        end = _number_end(text, integer) if integer != _ODD else _ODD
        if end == _ODD:
            return _ODD
        return (end << _KIND_BITS) | (INTEGER if end == integer else DOUBLE)
    word = word_at(text, start) & _HALF
    if word == _NULL:
        return (start + 4) << _KIND_BITS
    if word == _TRUE:
        return ((start + 4) << _KIND_BITS) | BOOLEAN
    if first == _F and (word_at(text, start + 1) & _HALF) == _ALSE:
        return ((start + 5) << _KIND_BITS) | BOOLEAN
    return _ODD


@lean_part
def _space(text: Bytes, start: int) -> int:
    """The place behind white space, which ends with the line at the latest."""
    at = start
    while True:
        byte = byte_at(text, at)
        if byte > _SPACE or (byte != _SPACE and byte != _TAB and byte != _RETURN):
            return at
        at += 1


@part
def _string(text: Bytes, start: int) -> int:
    """The end of a string that begins here, behind its quote, and its kind: end << _KIND_BITS | kind, or _ODD."""
    at, kind = start, STRING
    while True:
        word = word_at(text, at)
        low, quote, backslash = word, word ^ _QUOTES, word ^ _BACKSLASHES
        found = ((low - _SPACES) & ~low) | ((quote - _ONES) & ~quote) | ((backslash - _ONES) & ~backslash) | word
        found &= _HIGH
        if not found:
            at += WORD
            continue
        at += first_byte(found)
        byte = byte_at(text, at)
        if byte == _QUOTE:
            return (at << _KIND_BITS) | kind
        if byte > _ASCII_MAX:
            kind |= WIDE
            at += 1
        elif byte == _BACKSLASH:
            kind |= ESCAPED
            after = byte_at(text, at + 1)
            if _SIMPLE_ESCAPES[after]:
                at += 2
                continue
            if after != _U:
                return _ODD
            for place in range(at + 2, at + 2 + _HEX):
                if not _HEX_DIGITS[byte_at(text, place)]:
                    return _ODD
            at += 2 + _HEX
        else:
            return _ODD


@lean_part
def _integer_end(text: Bytes, start: int) -> int:
    """The end of the integer that a number begins with; _ODD if it begins with none."""
    at = start + 1 if byte_at(text, start) == _MINUS else start
    if byte_at(text, at) == _ZERO:
        return at + 1
    end = _digits_end(text, at)
    return end if end > at else _ODD


@part
def _number_end(text: Bytes, integer: int) -> int:
    """The end of a number whose integer ends here; _ODD if it is none."""
    at = integer
    if byte_at(text, at) == _DOT:
        end = _digits_end(text, at + 1)
        if end == at + 1:
            return _ODD
        at = end
    if byte_at(text, at) | _SPACE == ord("e"):
        at += 1
        if byte_at(text, at) == _PLUS or byte_at(text, at) == _MINUS:
            at += 1
        end = _digits_end(text, at)
        if end == at:
            return _ODD
        at = end
    return at


@lean_part
def _digits_end(text: Bytes, start: int) -> int:
    at = start
    while _ZERO <= byte_at(text, at) <= _NINE:
        at += 1
    return at


@part
def _field(text: Bytes, begin: int, end: int, parent: int, keys: KeyTree) -> int:
    """The node of a field of an object; NONE for one that is not used."""
    first, stop, length = keys.first[parent], keys.first[parent + 1], end - begin
    node = keys.hints[parent]
    for _ in range(stop - first):
        if node >= stop:
            node = first
        at = keys.begins[node]
        if keys.ends[node] - at == length:
            place = 0
            while place < length and byte_at(keys.names, at + place) == byte_at(text, begin + place):
                place += 1
            if place == length:
                keys.hints[parent] = node + 1
                return int(node)
        node += 1
    return NONE
