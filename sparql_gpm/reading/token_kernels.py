"""N-Triples tokens, byte by byte: validity, canonical form, number, time; other tokens are for the strict parser."""

from __future__ import annotations

import string

import numpy as np

from arrays.jit import part
from arrays.words import WORD, Bytes, byte_at
from sparql_gpm.interning.term_table_kernels import same_bytes
from sparql_gpm.terms import RDF, XSD

SPACE, EXCLAMATION, QUOTE, HASH, DOT, SLASH, COLON = 32, 33, 34, 35, 46, 47, 58
LESS, GREATER, QUESTION, AT, BACKSLASH, CARET, UNDERSCORE, NEWLINE, RETURN = 60, 62, 63, 64, 92, 94, 95, 10, 13
PLUS, MINUS, ZERO, NINE = 43, 45, 48, 57

_SCHEME, _HOST, _PATH = 1, 2, 4


def character_classes(*of_bits: tuple[int, str]) -> Bytes:
    """Bits by byte: the classes that a character belongs to."""
    classes = np.zeros(256, dtype=np.uint8)
    for bit, characters in of_bits:
        classes[list(characters.encode())] |= bit
    return classes


def constant(text: str) -> Bytes:
    """An ASCII text for kernels."""
    return np.frombuffer(text.encode() + bytes(WORD), dtype=np.uint8).copy()


_LETTERS_AND_DIGITS = string.ascii_letters + string.digits
_CLASSES = character_classes(
    (_SCHEME, _LETTERS_AND_DIGITS + "+.-"),
    (_HOST, _LETTERS_AND_DIGITS + "._~-"),
    (_PATH, _LETTERS_AND_DIGITS + "._~-" + "!$&'()*+,;=" + ":@/"),
)
"""What may stand in the scheme, the host, the path of an IRI (RFC 3986), without percent signs."""
_XSD, _RDF = constant(XSD), constant(RDF)
_XSD_LENGTH = len(XSD)
_STRING, _INTEGER, _DECIMAL, _DOUBLE = (constant(name) for name in ("string", "integer", "decimal", "double"))
_DATE_TIME, _DATE, _BOOLEAN = (constant(name) for name in ("dateTime", "date", "boolean"))

NO_TIME = -(2**63)
"""In place of a time that is not recognised; no event has it."""
_DAYS_BEFORE_MONTH = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365], dtype=np.int64)
_YEAR_MIN, _YEAR_MAX = 1700, 2200
_DIGITS_MAX = 15
"""Decimal digits that float64 holds exactly; one division by a power of ten up to 10^22 is rounded correctly."""


@part
def is_plain_iri(text: Bytes, start: int, stop: int) -> bool:
    """True if text[start:stop], without brackets, is certainly a valid, canonical, absolute IRI."""
    at = start
    if at >= stop or not (65 <= byte_at(text, at) <= 90 or 97 <= byte_at(text, at) <= 122):
        return False
    at = _class_end(text, at, stop, _SCHEME)
    if at >= stop or byte_at(text, at) != COLON:
        return False
    at += 1
    if at + 1 < stop and byte_at(text, at) == SLASH and byte_at(text, at + 1) == SLASH:
        at = _authority_end(text, at + 2, stop)
        if at < 0:
            return False
    at = _class_end(text, at, stop, _PATH)
    if at < stop and byte_at(text, at) == QUESTION:
        at = _class_end(text, at + 1, stop, _PATH)
    if at < stop and byte_at(text, at) == HASH:
        at = _class_end(text, at + 1, stop, _PATH)
    return at == stop


@part
def is_open_iri(text: Bytes, start: int, stop: int) -> bool:
    """True if text[start:stop] is certainly a plain IRI, whatever characters of paths stand behind it too."""
    if not is_plain_iri(text, start, stop) or _CLASSES[byte_at(text, stop - 1)] & _HOST:
        return False
    colon = _class_end(text, start, stop, _SCHEME)
    return stop - colon > 2 or (stop - colon == 2 and byte_at(text, stop - 1) != SLASH)


@part
def is_path(text: Bytes, start: int, stop: int) -> bool:
    """True if text[start:stop] is of characters of paths, without percent signs."""
    return _class_end(text, start, stop, _PATH) == stop


@part
def _class_end(text: Bytes, start: int, stop: int, bit: int) -> int:
    """The end of the characters of one class from `start` on."""
    at = start
    while at < stop and _CLASSES[byte_at(text, at)] & bit:
        at += 1
    return at


@part
def _authority_end(text: Bytes, start: int, stop: int) -> int:
    """The end of a host with or without a port; -1 for other forms."""
    at = _class_end(text, start, stop, _HOST)
    if at == start:
        return -1
    if at + 1 < stop and byte_at(text, at) == COLON and is_digit(byte_at(text, at + 1)):
        at += 1
        while at < stop and is_digit(byte_at(text, at)):
            at += 1
    if at < stop and byte_at(text, at) != SLASH and byte_at(text, at) != QUESTION and byte_at(text, at) != HASH:
        return -1
    return at


@part
def is_digit(byte: int) -> bool:
    """True for an ASCII digit."""
    return ZERO <= byte <= NINE


@part
def is_plain_token(text: Bytes, start: int, stop: int) -> bool:
    """True if text[start:stop] is certainly a valid, canonical IRI or literal."""
    if byte_at(text, start) == LESS:
        return is_plain_iri(text, start + 1, stop - 1)
    if byte_at(text, start) != QUOTE:
        return False
    close = _plain_text_end(text, start + 1, stop)
    if close < 0 or byte_at(text, close) != QUOTE:
        return False
    if close + 1 == stop:
        return True
    if byte_at(text, close + 1) == AT:
        return _is_plain_language(text, close + 2, stop)
    return _is_plain_datatype(text, close + 4, stop - 1)


@part
def _plain_text_end(text: Bytes, start: int, stop: int) -> int:
    """The end of text without escapes; -1 if its bytes are not UTF-8."""
    at = start
    while at < stop:
        byte = byte_at(text, at)
        if byte in (QUOTE, BACKSLASH, RETURN, NEWLINE):
            return at
        if byte < 0x80:
            at += 1
        else:
            length = character_length(text, at, stop)
            if length == 0:
                return -1
            at += length
    return -1


@part
def character_length(text: Bytes, at: int, stop: int) -> int:
    """The length of the UTF-8 character that begins here, which is not ASCII; 0 if it is malformed."""
    first = byte_at(text, at)
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or at + length > stop:
        return 0
    for index in range(1, length):
        if byte_at(text, at + index) & 0xC0 != 0x80:
            return 0
    second = byte_at(text, at + 1)
    overlong = (first == 0xE0 and second < 0xA0) or (first == 0xF0 and second < 0x90)
    outside = (first == 0xED and second > 0x9F) or (first == 0xF4 and second > 0x8F)
    return 0 if overlong or outside else length


@part
def _is_plain_language(text: Bytes, start: int, stop: int) -> bool:
    """Two or three lower-case letters."""
    for at in range(start, stop):
        if not 97 <= byte_at(text, at) <= 122:
            return False
    return 2 <= stop - start <= 3


@part
def _is_plain_datatype(text: Bytes, start: int, stop: int) -> bool:
    """True for a plain IRI of a datatype other than xsd:string and those of RDF itself."""
    reserved = _begins_with(text, start, stop, _RDF) or _is_xsd(text, start, stop, _STRING)
    return not reserved and is_plain_iri(text, start, stop)


@part
def _begins_with(text: Bytes, start: int, stop: int, prefix: Bytes) -> bool:
    return stop - start >= len(prefix) - WORD and same_bytes(text, start, prefix, 0, len(prefix) - WORD)


@part
def _is_xsd(text: Bytes, start: int, stop: int, name: Bytes) -> bool:
    """True if text[start:stop] is the IRI of the XML Schema datatype."""
    length = len(name) - WORD
    if stop - start != _XSD_LENGTH + length or not same_bytes(text, start + _XSD_LENGTH, name, 0, length):
        return False
    return same_bytes(text, start, _XSD, 0, _XSD_LENGTH)


@part
def plain_number(text: Bytes, start: int, stop: int) -> tuple[float, bool]:
    """The value of a plain token as in Dictionary.numbers, and True if that is certain; only literals have one."""
    if byte_at(text, start) != QUOTE or byte_at(text, stop - 1) != GREATER:
        return np.nan, True
    close = start + 1
    while byte_at(text, close) != QUOTE:
        close += 1
    datatype, end = close + 4, stop - 1
    if not _begins_with(text, datatype, end, _XSD):
        return np.nan, True
    if _is_xsd(text, datatype, end, _INTEGER):
        return _digits_value(text, start + 1, close, False)
    if _is_xsd(text, datatype, end, _DECIMAL) or _is_xsd(text, datatype, end, _DOUBLE):
        return _digits_value(text, start + 1, close, True)
    is_time = _is_xsd(text, datatype, end, _DATE_TIME) or _is_xsd(text, datatype, end, _DATE)
    return np.nan, is_time or _is_xsd(text, datatype, end, _BOOLEAN)


@part
def _digits_value(text: Bytes, start: int, stop: int, fraction: bool) -> tuple[float, bool]:
    """The number [+-]?digits, or with `fraction` also [+-]?digits.digits; no other form is certain."""
    at = start
    negative = at < stop and byte_at(text, at) == MINUS
    if at < stop and (byte_at(text, at) == MINUS or byte_at(text, at) == PLUS):
        at += 1
    if not 0 < stop - at <= _DIGITS_MAX or not is_digit(byte_at(text, at)) or not is_digit(byte_at(text, stop - 1)):
        return np.nan, False
    digits, scale, dotted = 0, 1.0, False
    for index in range(at, stop):
        if is_digit(byte_at(text, index)):
            digits = digits * 10 + (byte_at(text, index) - ZERO)
            scale = scale * 10.0 if dotted else scale
        elif fraction and not dotted and byte_at(text, index) == DOT:
            dotted = True
        else:
            return np.nan, False
    if not fraction:
        return float(-digits if negative else digits), True
    value = float(digits) / scale
    return -value if negative else value, True


@part
def plain_time(text: Bytes, start: int, stop: int) -> int:
    """The nanoseconds since the epoch of an xsd:dateTime token of the usual form, else NO_TIME."""
    end = stop - _XSD_LENGTH - len(_DATE_TIME) + WORD - 5
    first = start + 1
    if end - first < 19 or byte_at(text, start) != QUOTE or byte_at(text, end) != QUOTE:
        return NO_TIME
    if not _is_xsd(text, end + 4, stop - 1, _DATE_TIME):
        return NO_TIME
    year, month, day = _digits(text, first, 4), _digits(text, first + 5, 2), _digits(text, first + 8, 2)
    hour, minute, second = _digits(text, first + 11, 2), _digits(text, first + 14, 2), _digits(text, first + 17, 2)
    if byte_at(text, first + 4) != MINUS or byte_at(text, first + 7) != MINUS or byte_at(text, first + 10) != 84:
        return NO_TIME
    if byte_at(text, first + 13) != COLON or byte_at(text, first + 16) != COLON:
        return NO_TIME
    if not (_YEAR_MIN <= year <= _YEAR_MAX and 1 <= month <= 12 and 1 <= day <= _days_in_month(year, month)):
        return NO_TIME
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
        return NO_TIME
    fraction, at = _fraction_ns(text, first + 19, end)
    ahead = _zone_minutes(text, at, end)
    if fraction < 0 or ahead == NO_TIME:
        return NO_TIME
    minutes = (_days(year, month, day) * 24 + hour) * 60 + minute - ahead
    return (minutes * 60 + second) * 1_000_000_000 + fraction


@part
def _digits(text: Bytes, start: int, count: int) -> int:
    """The number of so many digits, or -1."""
    value = 0
    for at in range(start, start + count):
        if not is_digit(byte_at(text, at)):
            return -1
        value = value * 10 + (byte_at(text, at) - ZERO)
    return value


@part
def _fraction_ns(text: Bytes, start: int, end: int) -> tuple[int, int]:
    """The nanoseconds of a fraction, if there is one (-1: it has no digit), and its end."""
    if byte_at(text, start) != DOT:
        return 0, start
    value, unit, at = 0, 100_000_000, start + 1
    while at < end and is_digit(byte_at(text, at)):
        value += (byte_at(text, at) - ZERO) * unit
        unit //= 10
        at += 1
    return value if at > start + 1 else -1, at


@part
def _zone_minutes(text: Bytes, start: int, end: int) -> int:
    """The offset of the zone text[start:end] from UTC; without a zone it is UTC; NO_TIME for other text."""
    if start == end or (start + 1 == end and byte_at(text, start) == 90):
        return 0
    sign = byte_at(text, start)
    if end - start != 6 or (sign != PLUS and sign != MINUS) or byte_at(text, start + 3) != COLON:
        return NO_TIME
    hours, minutes = _digits(text, start + 1, 2), _digits(text, start + 4, 2)
    if not (0 <= hours <= 13 and 0 <= minutes <= 59):
        return NO_TIME
    ahead = hours * 60 + minutes
    return ahead if sign == PLUS else -ahead


@part
def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@part
def _days_in_month(year: int, month: int) -> int:
    days = int(_DAYS_BEFORE_MONTH[month] - _DAYS_BEFORE_MONTH[month - 1])
    return days + 1 if month == 2 and _is_leap(year) else days


@part
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, by the Gregorian calendar."""
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400 - 477
    this_year = int(_DAYS_BEFORE_MONTH[month - 1]) + (1 if month > 2 and _is_leap(year) else 0)
    return (year - 1970) * 365 + leap_days + this_year + day - 1
