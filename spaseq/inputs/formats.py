"""The formats that streams are read in. Each has one entry here, and its reader in `sparql_gpm.rdf_io`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sparql_gpm.reading.blocks import LINE_BYTES_MAX, Blocks, ByteStream
from spaseq.errors import InputError
from spaseq.inputs.compression import COMPRESSIONS, compression_of
from spaseq.inputs.cutting import cut_lines, cut_nquads, cut_trig, too_long
from spaseq.inputs.texts import InputText

TEXT_BYTES = 4 << 20
"""A long input is cut into texts of about this size."""
_TRIG = re.compile(
    rb"^\s*(?:@?(?:prefix|base|version)\s|(?:graph\s+)?(?:<[^>\n]*>|_:\w+|[\w.-]*:[\w.-]*|\[\s*\])?\s*\{)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that TriG can have and N-Quads cannot: a directive, or the beginning of a graph block."""


@dataclass(frozen=True, slots=True)
class InputFormat:
    """A format of events.

    suffixes    of file names, each also with .gz
    cut         cuts a long input into texts of whole events; None: an input is one event
    lines       an event is consecutive lines, and the end of one input can be followed by another input
    """

    suffixes: tuple[str, ...]
    cut: Callable[[Blocks, int], Iterator[InputText]] | None = None
    lines: bool = False


FORMATS: Mapping[str, InputFormat] = {
    "nquads": InputFormat((".nq",), cut_nquads, lines=True),
    "trig": InputFormat((".trig",), cut_trig),
    "turtle": InputFormat((".ttl",)),
    "ntriples": InputFormat((".nt",)),
    "jsonld": InputFormat((".jsonld",)),
    "ndjsonld": InputFormat((".ndjsonld",), cut_lines),
    "jelly": InputFormat((".jelly",)),
    "messages": InputFormat(()),
}
TABLES: Mapping[str, tuple[str, ...]] = {
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet",),
    "ndjson": (".ndjson", ".jsonl"),
}
"""The formats of tables, of which a template makes events, and their suffixes."""
_TABLE_BY_SUFFIX = {suffix: name for name, suffixes in TABLES.items() for suffix in suffixes}
_BY_SUFFIX = {suffix: name for name, known in FORMATS.items() for suffix in known.suffixes}
SUFFIXES = f"{', '.join(_BY_SUFFIX)} (plain or with {' or '.join(each.suffix for each in COMPRESSIONS)})"


def input_format(name: str) -> InputFormat:
    """The format of this name; raises InputError if there is none."""
    if not isinstance(name, str) or name not in FORMATS:
        raise InputError(f"unknown RDF format '{name}'", hint=f"the formats are {', '.join(FORMATS)}")
    return FORMATS[name]


def check_format(name: str) -> None:
    """Raises InputError for what is the name of no format of events or tables."""
    if name not in (*FORMATS, *TABLES):
        raise InputError(f"unknown format '{name}'", hint=f"the formats are {', '.join((*FORMATS, *TABLES))}")


def is_of_lines(name: str) -> bool:
    """True if an event is consecutive lines, and the end of one input can be followed by another input."""
    return name in FORMATS and FORMATS[name].lines


def format_of(path: str) -> str | None:
    """The name of the format that a file's suffix says, if it says one of RDF."""
    return _BY_SUFFIX.get(_suffix_of(path))


def format_in(path: str, tables: bool) -> str | None:
    """The name of the format that a file's suffix says; NDJSON is that of JSON-LD where nothing says its rows."""
    table = table_of(path)
    return format_of(path) or ("ndjsonld" if table == "ndjson" and not tables else table)


def format_among(path: str, tables: bool) -> str | None:
    """The name of the format of a file in a folder, None if it is passed over, as tables without a template are."""
    found = format_in(path, tables)
    return None if found in TABLES and not tables else found


def table_of(path: str) -> str | None:
    """The name of the format of tables that a file's suffix says, if it says one."""
    return _TABLE_BY_SUFFIX.get(_suffix_of(path))


def _suffix_of(path: str) -> str:
    """The suffix without that of a compression, in lower case."""
    packed = compression_of(path)
    return Path(path.lower().removesuffix(packed.suffix if packed else "")).suffix


def guessed(start: bytes) -> str:
    """The format of an input without a name, by its first bytes: TriG or N-Quads."""
    return "trig" if _TRIG.search(start.removeprefix(b"\xef\xbb\xbf")) else "nquads"


def texts_of(
    stream: ByteStream, rdf_format: str, size: int = TEXT_BYTES, longest: int = LINE_BYTES_MAX
) -> Iterator[InputText]:
    """An input cut into texts of about `size` bytes, each of whole events; the last says so if the input breaks off.

    An input that is one event stays whole. A report that is no RDF is in the place of a line, statement, graph block or
    event of more than `longest` bytes.
    """
    blocks = Blocks(stream, live=False, line_bytes_max=longest)
    last = InputText(b"")
    known = FORMATS.get(rdf_format)
    for text in ((known and known.cut) or _uncut)(blocks, size):
        if last.text:
            yield last
        last = text
    if blocks.broken_off and blocks.broken_off.complete:
        yield last
        last = InputText(b"", line=last.line + last.text.count(b"\n"))
    if blocks.broken_off:
        last = replace(last, breaks_off=blocks.broken_off.message)
    if last.text or last.breaks_off is not None:
        yield last


def _uncut(blocks: Blocks, size: int) -> Iterator[InputText]:
    parts: list[bytes] = []
    length = 0
    for block in blocks:
        text = block if isinstance(block, bytes) else block.text
        length += len(text)
        parts.append(text)
        if length > blocks.line_bytes_max:
            parts = []
    if length > blocks.line_bytes_max:
        yield InputText(too_long("document", length))
    else:
        yield InputText(b"".join(parts))
