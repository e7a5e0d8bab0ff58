"""Rows of NDJSON: as columns of a block of lines by a kernel, or line by line as objects.

The kernel reads long inputs. What it does not read as `json` does goes line by line: a few lines by themselves, the
whole block if many rows are of that kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sparql_gpm.reading.blocks import TOO_LONG, Blocks, LongPiece
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.raw_text import RawText
from spaseq.inputs.tables.cells import Number, ObjectRows, RowBatch
from spaseq.inputs.tables.options import OBJECT_ROWS_MAX, TableOptions
from spaseq.inputs.tables.template import Path

if TYPE_CHECKING:
    from spaseq.inputs.tables.json_scan import JsonScanner

KERNEL_BYTES_MIN = 24 << 20
"""Bytes of input that repay compiling the kernel: a million bytes take 0.25 s line by line."""
KEPT_KERNEL_BYTES_MIN = 2 << 20
"""Bytes of input that repay loading it."""
BLOCK_BYTES_MIN = 8 << 10
"""Shorter blocks, as live streams have them, cost less line by line."""
PIECES_MAX = 64
"""Batches into which a block is divided by rows that are read as objects."""
_DEEP = "nested too deeply"
Report = Callable[[int, int, str, bytes | RawText, str], None]
"""Called with row, column, reason, raw text and kind of a fault."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """The reason why a line is no row."""

    column: int
    reason: str
    kind: str


class JsonLines:
    """Reads the rows of one input.

    paths       the cells that are used; none: all, line by line
    reading     says whether the kernel reads
    """

    def __init__(self, options: TableOptions, report: Report, paths: Collection[Path], reading: ReadOptions) -> None:
        self._rows_max = min(options.rows_max, OBJECT_ROWS_MAX)
        self._report, self._paths, self._reading = report, tuple(paths), reading
        self._scanner: JsonScanner | None = None
        self._bytes_read = self._line = 0
        self._waiting: list[tuple[dict[str, Any], int, bytes]] = []

    def rows(self, blocks: Blocks) -> Iterator[RowBatch]:
        """Batches of rows; BrokenOff where the input ends too early."""
        long: RawText | None = None
        for block in blocks:
            if isinstance(block, LongPiece):
                long = long or RawText()
                long.add(block.text)
                if block.last:
                    self._line += 1
                    reason = TOO_LONG % ("line", f"{long.length:,}")
                    self._report(self._line, 1, reason, long, "too long")
                    long = None
                continue
            yield from self._in_columns(block) if self._kernel_pays(block) else self._by_line(block)
            if blocks.pausing:
                yield from self._held()
        yield from self._held()
        if blocks.broken_off is not None:
            raise blocks.broken_off

    def _kernel_pays(self, block: bytes) -> bool:
        self._bytes_read += len(block)
        if not self._paths or len(block) < BLOCK_BYTES_MIN:
            return False
        if self._scanner is None and self._is_long():
            from spaseq.inputs.tables.json_scan import JsonScanner

            self._scanner = JsonScanner(self._paths)
        return self._scanner is not None

    def _is_long(self) -> bool:
        if self._reading.compiled is not None:
            return self._reading.compiled
        size = max(self._bytes_read, self._reading.bytes_expected)
        return size >= KERNEL_BYTES_MIN or (size >= KEPT_KERNEL_BYTES_MIN and _kernel_is_kept())

    def _by_line(self, block: bytes) -> Iterator[RowBatch]:
        for text in block.removesuffix(b"\n").split(b"\n"):
            self._line += 1
            if (row := self._row(text)) is not None:
                self._waiting.append((row, self._line, text))
            if len(self._waiting) >= self._rows_max:
                yield from self._held()

    def _row(self, text: bytes) -> dict[str, Any] | None:
        """The row of the present line; None if it has none, which is reported."""
        found = _parsed(text) if text.strip() else None
        if isinstance(found, _Fault):
            self._report(self._line, found.column, found.reason, text, found.kind)
            return None
        return found

    def _held(self) -> Iterator[RowBatch]:
        """The rows that wait."""
        if self._waiting:
            rows, numbers, texts = zip(*self._waiting, strict=True)
            self._waiting.clear()
            yield ObjectRows(rows, numbers, [text.decode() for text in texts])

    def _in_columns(self, block: bytes) -> Iterator[RowBatch]:
        assert self._scanner is not None
        yield from self._held()
        rows, odd = self._scanner.rows(block, self._line)
        found = [(each, _parsed(each.text)) for each in odd if each.text.strip()]
        objects = [(each, row) for each, row in found if isinstance(row, dict)]
        if len({each.rows_before for each, _ in objects}) > PIECES_MAX:
            yield from self._by_line(block)
            return
        for each, fault in found:
            if isinstance(fault, _Fault):
                self._report(each.number, fault.column, fault.reason, each.text, fault.kind)
        begin = 0
        for each, row in objects:
            if each.rows_before > begin:
                yield from self._held()
                yield rows.between(begin, each.rows_before)
                begin = each.rows_before
            self._waiting.append((row, each.number, each.text))
        yield from self._held()
        yield rows.between(begin, len(rows.numbers))
        self._line += self._scanner.lines


def _parsed(text: bytes) -> dict[str, Any] | _Fault:
    """The object of a line that is not blank."""
    try:
        found = json.loads(text.decode(), parse_float=Number, parse_int=Number, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        return _Fault(error.colno, f"no JSON: {error.msg}", "syntax")
    except UnicodeDecodeError as error:
        return _Fault(error.start + 1, f"Invalid UTF-8: {error.reason}", "encoding")
    except (ValueError, RecursionError) as error:
        reason = _DEEP if isinstance(error, RecursionError) else str(error)
        return _Fault(1, f"no JSON: {reason}", "syntax")
    return found if isinstance(found, dict) else _Fault(1, "a row is a JSON object", "syntax")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


@cache
def _kernel_is_kept() -> bool:
    """True if the kernel is compiled already; imports numba."""
    from arrays.jit import is_kept
    from spaseq.inputs.tables.json_kernel import scan

    return is_kept(scan)
