"""Batches of rows of CSV, TSV, NDJSON and Parquet, and of tables that a program holds."""

from __future__ import annotations

import codecs
import io
from collections.abc import Collection, Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from arrays.wanted import NotWanted
from sparql_gpm.columns import Ids
from sparql_gpm.errors import BrokenOff
from sparql_gpm.reading.blocks import Blocks, ByteStream
from sparql_gpm.reading.decoded import FAULT_BYTES, counter
from sparql_gpm.reading.options import ReadOptions
from spaseq.errors import InputError
from spaseq.inputs.tables.cells import RowBatch
from spaseq.inputs.tables.json_lines import JsonLines, Report
from spaseq.inputs.tables.marks import NO_TEXT
from spaseq.inputs.tables.options import TableOptions
from spaseq.inputs.tables.template import Path

if TYPE_CHECKING:
    from spaseq.inputs.tables.arrow_rows import ArrowRows
    from spaseq.inputs.texts import OpenInput

BLOCK_BYTES = 1 << 20
FILE_BLOCK_BYTES = 4 << 20
"""A block of a table that does not come bit by bit: rows together cost less."""
_READS = FILE_BLOCK_BYTES // BLOCK_BYTES
"""Of the stream, for a block of lines of such a table."""
SPOOLED_BYTES_MAX = 16 << 20
"""Parquet from a pipe or archive that is longer is put into a temporary file."""


def arrow() -> Any:
    """The module pyarrow; raises InputError where it is missing."""
    try:
        import pyarrow
    except ImportError as error:
        reason = "tables need the Python package pyarrow"
        raise InputError(reason, hint='install it: pip install "spaseq[tables]"') from error
    return pyarrow


def rows_of(
    source: OpenInput,
    options: TableOptions,
    report: Report,
    paths: Collection[Path] = (),
    reading: ReadOptions = ReadOptions(),  # noqa: B008
) -> Iterator[RowBatch]:
    """The rows of an input; BrokenOff where it ends too early.

    paths   the cells that are used, if that is known
    """
    match source.format:
        case "csv" | "tsv":
            delimiter = "\t" if source.format == "tsv" else options.delimiter
            return _csv_rows(source, delimiter, options, report)
        case "ndjson":
            blocks = Blocks(source.stream, source.live, options.bytes_max, reads=1 if source.live else _READS)
            return JsonLines(options, report, paths, reading).rows(blocks)
    return _parquet_rows(source, options)


def table_rows(table: Any, rows_max: int) -> Iterator[RowBatch]:
    """The rows of a table of pandas, polars or Arrow, or of Arrow record batches."""
    pa = arrow()
    from spaseq.inputs.tables.arrow_rows import ArrowRows

    begin = 0
    for batch in _batches(table, pa, rows_max):
        yield ArrowRows(batch, np.arange(begin, begin + len(batch), dtype=np.int64) + 1)
        begin += len(batch)


def _batches(table: Any, pa: Any, rows_max: int) -> Iterator[Any]:
    if hasattr(table, "__arrow_c_array__") and not hasattr(table, "__arrow_c_stream__"):
        table = pa.Table.from_batches([pa.record_batch(table)])
    reader = pa.RecordBatchReader.from_stream(table)
    for batch in reader:
        for begin in range(0, len(batch), rows_max):
            yield batch.slice(begin, rows_max)


def _no_text(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError), error
    return NO_TEXT * (error.end - error.start), error.end


codecs.register_error("spaseq.no-text", _no_text)


class _File(io.RawIOBase):
    """A stream as Arrow reads files; what breaks it off is kept."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._unread = self._ahead = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("spaseq.no-text")
        self.broken_off: BrokenOff | None = None

    def ahead(self) -> bytes:
        """The first bytes, which are read again."""
        self._ahead = self.read(BLOCK_BYTES)
        return self._ahead

    def unread(self, text: bytes) -> None:
        """Read what `raw` has read once more, as text."""
        self._unread = text

    def readable(self) -> bool:
        """True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes of the stream, in which each byte that is no UTF-8 is NO_TEXT."""
        if self._ahead:
            found, self._ahead = self._ahead[:size], self._ahead[size:]
            return found
        while True:
            read = self.raw(size if size >= 0 else BLOCK_BYTES)
            text = self._decoder.decode(read, final=not read).encode()
            if text or not read:
                return text

    def raw(self, size: int) -> bytes:
        """At most `size` bytes of the stream as they are."""
        found, self._unread = self._unread[:size], self._unread[size:]
        if len(found) == size:
            return found
        try:
            return found + self._stream.read(size - len(found))
        except BrokenOff as error:
            self.broken_off = error
            return found


def _csv_rows(source: OpenInput, delimiter: str, options: TableOptions, report: Report) -> Iterator[RowBatch]:
    """The rows of CSV: without a parser as far as that is certain, from there on by Arrow's."""
    arrow()
    from spaseq.inputs.tables.text_rows import TextReader, readable

    file = _File(source.stream)
    names, number = options.columns, 1
    if not source.live and readable(delimiter):
        reader = TextReader(file.raw, delimiter, names)
        for rows in reader.rows():
            yield from rows.parts(options.rows_max)
        names, number = reader.names, reader.number
        file.unread(reader.rest)
    if source.live or not readable(delimiter) or reader.rest:
        block_bytes = BLOCK_BYTES if source.live else FILE_BLOCK_BYTES
        for batch in _arrow_csv(file, delimiter, names, number, block_bytes, report):
            yield from batch.parts(options.rows_max)
    if file.broken_off is not None:
        raise file.broken_off


def _arrow_csv(
    file: _File, delimiter: str, names: Sequence[str], number: int, block_bytes: int, report: Report
) -> Iterator[ArrowRows]:
    """The rows of CSV from one on that has this number; without names a header stands before them."""
    pa = arrow()
    from pyarrow import csv

    from spaseq.inputs.tables.arrow_rows import ArrowRows
    from spaseq.inputs.tables.text_rows import COLUMNS_MAX

    if not names and file.ahead().partition(b"\n")[0].count(delimiter.encode()) >= COLUMNS_MAX:
        report(1, 1, f"a header of more than {COLUMNS_MAX:,} columns", b"", "syntax")
        return
    before = number - 1
    skipped: list[int] = []
    faults: list[tuple[int, str, bytes]] = []
    over: list[NotWanted] = []
    count = counter()

    def skip(row: Any) -> str:
        skipped.append(row.number + before)
        reason = f"the row has {row.actual_columns} cells, and the header {row.expected_columns}"
        faults.append((row.number + before, reason, row.text.encode()))
        try:
            count(FAULT_BYTES)
        except NotWanted as error:  # Arrow, whose thread this is, reports no error from here
            over.append(error)
            return "error"
        return "skip"

    def report_skipped() -> None:
        count(-FAULT_BYTES * len(faults))
        for row, reason, raw in faults:
            report(row, 1, reason, raw, "syntax")
        faults.clear()

    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip)
    read = csv.ReadOptions(use_threads=False, block_size=block_bytes, column_names=list(names) or None)
    opened = None
    try:
        types = dict.fromkeys(_header(file, csv, read, delimiter), pa.binary())
        convert = csv.ConvertOptions(check_utf8=False, strings_can_be_null=False, column_types=types)
        opened = csv.open_csv(pa.PythonFile(file, mode="r"), read, parse, convert)
    except pa.ArrowInvalid as error:
        if over:
            raise over[0] from None
        if "mpty CSV file" not in str(error):
            report(1, 1, str(error), b"", "syntax")
    number += not names
    while opened is not None:
        try:
            batch = opened.read_next_batch()
        except StopIteration:
            break
        except pa.ArrowInvalid as error:
            if over:
                raise over[0] from None
            raise BrokenOff(f"the table cannot be read behind row {number - 1}: {error}") from error
        report_skipped()
        numbers = _numbers(number, len(batch), skipped)
        number = int(numbers[-1]) + 1 if len(numbers) else number
        skipped[:] = [each for each in skipped if each >= number]
        yield ArrowRows(batch, numbers, untyped=True)
    report_skipped()


def _header(file: _File, csv: Any, read: Any, delimiter: str) -> list[str]:
    """The names of the columns, by the first block."""
    first = file.ahead()
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda _: "skip")
    found = csv.open_csv(io.BytesIO(first), read, parse, csv.ConvertOptions(check_utf8=False))
    return [str(name) for name in found.schema.names]


def _numbers(first: int, count: int, skipped: Sequence[int]) -> Ids:
    """The numbers of `count` rows from one on, without those that were skipped."""
    left_out = {each for each in skipped if each >= first}
    if not left_out:
        return np.arange(first, first + count, dtype=np.int64)
    found: list[int] = []
    while len(found) < count:
        if first not in left_out:
            found.append(first)
        first += 1
    return np.array(found, dtype=np.int64)


def _parquet_rows(source: OpenInput, options: TableOptions) -> Iterator[RowBatch]:
    """The rows of a Parquet file, piece by piece; what is no file is put into one first, as the index is at its end."""
    pa = arrow()
    from pyarrow import parquet

    from spaseq.inputs.tables.arrow_rows import ArrowRows

    with SpooledTemporaryFile(SPOOLED_BYTES_MAX) as copy:
        if source.file is None:
            while part := source.stream.read(BLOCK_BYTES):
                copy.write(part)
        try:
            whole = pa.PythonFile(source.file or copy, "r")
            file = parquet.ParquetFile(whole, buffer_size=BLOCK_BYTES, pre_buffer=False)
            begin = 1
            for batch in file.iter_batches(batch_size=options.rows_max, use_threads=False):
                yield ArrowRows(batch, np.arange(begin, begin + len(batch), dtype=np.int64))
                begin += len(batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            pa.default_memory_pool().release_unused()  # a damaged file may have asked for much
            raise BrokenOff(f"the Parquet file cannot be read: {error}") from error
