"""Nanoseconds and xsd:dateTime, written for the tests alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_iso(text: str) -> int:
    """Nanoseconds since the epoch; without a zone it is UTC."""
    form = _FORM.fullmatch(text)
    assert form is not None, text
    whole, fraction, zone = form.groups()
    since = datetime.fromisoformat(whole + (zone or "Z").replace("Z", "+00:00")) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + int((fraction or "")[:9].ljust(9, "0"))


def to_iso(time_ns: int) -> str:
    """UTC; fractional seconds only when not zero, without trailing zeros."""
    seconds, fraction = divmod(time_ns, 1_000_000_000)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}Z"
