"""Media types: those of bodies, and the choice of an answer by Accept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spaseq.service.http.problem import plain

NDJSON = "application/x-ndjson"
EVENT_STREAM = "text/event-stream"
SPARQL_RESULTS = "application/sparql-results+json"
TRIG = "application/trig"
JSON = "application/json"
QUERY_TEXT = "application/x-spaseq"
EVENT_FORMATS: Mapping[str, str] = {
    "application/n-quads": "nquads",
    "application/trig": "trig",
    "text/turtle": "turtle",
    "application/n-triples": "ntriples",
    "application/ld+json": "jsonld",
    "application/x-ndjson-ld": "ndjsonld",
    "application/x-ndjson": "ndjson",
    "application/x-jelly-rdf": "jelly",
    "text/csv": "csv",
}
"""The format of events by media type; rows of `csv` and `ndjson` become events by the template of the stream."""
ACCEPT_POST = ", ".join(EVENT_FORMATS)
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def event_format(content_type: str | None) -> str:
    """The format of a body of events; raises Refused (415), also without a media type."""
    essence = _essence(content_type)
    if essence not in EVENT_FORMATS:
        shown = f"'{essence:.100}' is no format of events" if essence else "the Content-Type of the events is missing"
        raise plain(415, f"{shown}: expected one of {ACCEPT_POST}", {"Accept-Post": ACCEPT_POST})
    check_charset(content_type, {"Accept-Post": ACCEPT_POST})
    return EVENT_FORMATS[essence]


def body_type(content_type: str | None, allowed: Sequence[str]) -> str:
    """The media type of a body, the first of the allowed ones where none is given; raises Refused (415)."""
    essence = _essence(content_type) or allowed[0]
    check_charset(content_type, {})
    if essence not in allowed:
        raise plain(415, f"'{essence:.100}' is not expected here: {' or '.join(allowed)} is")
    return essence


def check_charset(content_type: str | None, headers: Mapping[str, str]) -> None:
    """Raises Refused (415) for a charset that is not UTF-8."""
    for parameter in (content_type or "").split(";")[1:]:
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if name.strip().lower() == "charset" and charset not in _UTF8:
            raise plain(415, f"the charset '{charset:.60}' is not read: UTF-8 is", headers)


def chosen(accept: str | None, offered: Sequence[str]) -> str:
    """The media type of the answer: that of the highest quality, then the first offered; raises Refused (406)."""
    if accept is None or not accept.strip():
        return offered[0]
    ranges = [_range(text) for text in accept.split(",") if text.strip()]
    rated = [(max((_rating(each, media) for each in ranges), default=(0, 0.0))[1], media) for media in offered]
    best = max(quality for quality, _ in rated)
    if best <= 0:
        raise plain(406, f"there is no '{accept:.200}' here: {', '.join(offered)} are")
    return next(media for quality, media in rated if quality == best)


def _essence(content_type: str | None) -> str:
    return (content_type or "").split(";")[0].strip().lower()


def _range(text: str) -> tuple[str, float]:
    """A range of Accept and its quality."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return media, min(1.0, max(0.0, float(value)))
            except ValueError:
                return media, 0.0
    return media, 1.0


def _rating(accepted: tuple[str, float], media: str) -> tuple[int, float]:
    """The specificity of a range that covers the type, 0 if it does not, and its quality (RFC 9110, 12.5.1)."""
    pattern, quality = accepted
    if pattern == media:
        return 3, quality
    if pattern == f"{media.split('/')[0]}/*":
        return 2, quality
    return (1, quality) if pattern == "*/*" else (0, 0.0)
