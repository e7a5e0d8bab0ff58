"""Texts of settings that stand for a number or a name, and their checks.

Settings keep the text that the user wrote, which GET gives back; the checks raise ValueError.
"""

from __future__ import annotations

import os
import re
from typing import Annotated

from msgspec import Meta

from sparql_gpm.times import parse_duration
from sparql_gpm.well_formed import is_iri
from spaseq.service.settings.regular_files import UnusableFile, check_regular

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))? ?(?:([KMGT])(I?)B|B)?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
NAME_PATTERN = f"^{_NAME.pattern}$"

Duration = Annotated[str, Meta(description="A length of time: 500ms, 10s, 5m, 1h, 7d or PT10S.", examples=["10s"])]
Size = Annotated[str, Meta(description="A number of bytes: 512KB, 16MB (MB = 10^6) or 16MiB.", examples=["16MB"])]
Iri = Annotated[str, Meta(description="An absolute IRI.", examples=["http://example.org/stream"])]
Seconds = Annotated[float, Meta(gt=0, le=1e9, description="Seconds.")]
Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
FilePath = Annotated[str, Meta(description="The absolute path of a file on the machine of the service.")]


def is_name(text: str) -> bool:
    """True for a name of a stream, a knowledge base or a query."""
    return _NAME.fullmatch(text) is not None


def name_fault(text: str) -> str:
    """The sentence that says why a text is no name."""
    return f"'{text:.120}' is no name: letters, digits, '.', '_' and '-', at most 100, the first a letter or a digit"


def duration_ns(key: str, text: str, least: int = 0) -> int:
    """The nanoseconds of a duration; ValueError for less than `least`."""
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    if found < least:
        raise ValueError(f"{key}: '{text}' is too short")
    return found


def size_bytes(key: str, text: str) -> int:
    """The bytes of a size, at least 1: MB are 10^6, MiB 2^20."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{key}: '{text:.60}' is no size: expected for example 16MB or 16MiB")
    whole, fraction, unit, binary = found[1], found[2] or "", (found[3] or "").upper(), found[4]
    factor = 1 << (10 * "KMGT".index(unit) + 10) if binary else _UNITS[unit]
    number = int(whole + fraction) * factor // 10 ** len(fraction)
    if not 0 < number < 2**63:
        raise ValueError(f"{key}: '{text:.60}' is no size of a file or a message")
    return int(number)


def check_iri(key: str, text: str) -> None:
    """Raises ValueError unless the text is an absolute IRI."""
    if not is_iri(text):
        raise ValueError(f"{key}: '{text:.200}' is no absolute IRI")


def check_text(key: str, text: str, bytes_max: int) -> None:
    """Raises ValueError for the text of a query that is longer than the limit `text`."""
    if len(text) > bytes_max or len(text.encode(errors="surrogatepass")) > bytes_max:
        raise ValueError(f"{key}: the text of a query has at most {bytes_max:,} bytes (limit text)")


def check_file(key: str, path: str) -> None:
    """Raises ValueError unless the path is absolute and of a regular file."""
    if not os.path.isabs(path):
        raise ValueError(f"{key}: '{path:.200}' is a relative path: give an absolute one")
    if "\0" in path or not os.path.exists(path):
        raise ValueError(f"{key}: there is no file '{path:.200}'")
    try:
        check_regular(path)
    except UnusableFile as error:
        raise ValueError(f"{key}: {error}") from None
    except OSError as error:
        raise ValueError(f"{key}: cannot read '{path:.200}': {error.strerror}") from None
