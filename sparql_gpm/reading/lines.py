"""Events of N-Quads, line by line.

A line of the usual form, `S P O G .` with single spaces, is cut at its spaces; it is valid if each piece is a term for
its place. Every other line is parsed strictly by pyoxigraph, alone, so that a malformed line is reported by itself and
the event keeps its other lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

import pyoxigraph as ox

from arrays.wanted import check_wanted
from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.blocks import TOO_LONG, Blocks, ByteStream, LongPiece, parse_fault
from sparql_gpm.reading.decoded import count_decoded
from sparql_gpm.reading.document_terms import (
    PLAIN_IRI,
    TermIds,
    is_plain_blank,
    is_token,
    parse_token,
    quads_of,
    token_of,
)
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch
from sparql_gpm.reading.options import ReadOptions
from sparql_gpm.reading.raw_text import RawText
from sparql_gpm.terms import IRI

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sparql_gpm.reading.nquads_columns import ColumnReader
    from sparql_gpm.reading.nquads_scan import Scanned

KERNEL_BYTES_MIN = 64 << 20
"""Input from this size on, about half a million quads, repays the compilation of the kernels."""
KEPT_KERNEL_BYTES_MIN = 10 << 20
"""Input from this size on repays loading kernels that an earlier process has compiled."""
BLOCK_BYTES_MIN = 1 << 14
"""A shorter block is read line by line."""
READ_AT_ONCE = 2
"""Blocks that are scanned as one: the lines about the border of two are scanned once more."""
AHEAD = 2
"""Blocks that wait for the thread that reads, beside those that others are scanning."""

Tokens = tuple[bytes, bytes, bytes, bytes]
"""Subject, predicate, object and graph (b"" for the default graph) in canonical N-Triples; each is a valid term."""


class NQuadsReader:
    """Reads the documents of one stream in turn."""

    def __init__(self, dictionary: Dictionary, terms: TermIds, builder: EventBuilder, options: ReadOptions) -> None:
        self._dictionary, self._terms, self._builder, self._options = dictionary, terms, builder, options
        self._time_predicates = frozenset(f"<{iri}>".encode() for iri in options.time_predicates)
        self._columns: ColumnReader | None = None
        self._bytes_read = 0
        self._long_line: RawText | None = None

    def read(self, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
        """The events of one document."""
        builder, blocks, line = self._builder, self._blocks(stream, live), 0
        builder.start_input()
        for block, scanned in self._ahead(blocks, live):
            if isinstance(block, LongPiece):
                line = yield from self._take_left(b"", line)
                line += self._skip(block, line + 1)
                continue
            count_decoded(2 * len(block))  # its lines, which the open event keeps
            if scanned is not None:
                assert self._columns is not None
                line = yield from self._columns.take(scanned(), line)
            if scanned is None or blocks.pausing:
                line = yield from self._take_left(b"" if scanned is not None else block, line)
            self._terms.refresh()
            if blocks.quiet:
                builder.close_timed()
            if blocks.pausing:
                yield from self.flush()
        line = yield from self._take_left(b"", line)
        builder.break_off(line, blocks.broken_off)
        builder.close()
        yield from self.flush()

    def _blocks(self, stream: ByteStream, live: bool) -> Blocks:
        return Blocks(stream, live, self._options.line_bytes_max, self._options.quiet_s, READ_AT_ONCE)

    def _ahead(self, blocks: Blocks, live: bool) -> Iterator[tuple[bytes | LongPiece, Callable[[], Scanned] | None]]:
        """The blocks with what scans give, or None where kernels do not read them.

        With several threads some blocks are scanned ahead, but none of a live stream.
        """
        threads = 1 if live else self._options.threads
        waiting: deque[tuple[bytes | LongPiece, Callable[[], Scanned] | None]] = deque()
        for block in blocks:
            scan: Callable[[], Scanned] | None = None
            if isinstance(block, bytes):
                block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
                if columns := self._column_reader(block):
                    scan = partial(columns.scanner.scan, block)
                    scan = scan if threads == 1 else pool(threads).submit(scan).result
            waiting.append((block, scan))
            if threads == 1 or len(waiting) >= AHEAD + threads:
                yield waiting.popleft()
        yield from waiting

    def _take_left(self, block: bytes, line: int) -> Generator[LocatedBatch, None, int]:
        """Read the lines that kernels have left, and those of a block; the number of lines before the next."""
        lines = _split((self._columns.left if self._columns else b"") + block)
        if self._columns:
            self._columns.left = b""
        yield from self.take(lines, line)
        return line + len(lines)

    def _skip(self, piece: LongPiece, number: int) -> int:
        """A piece of a line that is too long; the number of lines that end with it."""
        raw = self._long_line = self._long_line or RawText()
        raw.add(piece.text)
        if not piece.last:
            return 0
        self._builder.report(number, 1, TOO_LONG % ("line", f"{raw.length:,}"), raw, "too long")
        self._long_line = None
        return 1

    def _column_reader(self, text: bytes) -> ColumnReader | None:
        """The reader by kernels, if the text and the whole input are long enough."""
        self._bytes_read += len(text)
        if len(text) < BLOCK_BYTES_MIN or not text.endswith(b"\n"):
            return None
        if not kernels_pay(self._options, self._bytes_read, KERNEL_BYTES_MIN, KEPT_KERNEL_BYTES_MIN):
            return None
        if self._columns is None:
            from sparql_gpm.reading.nquads_columns import ColumnReader

            rule, filter_ = self._options.time_rule, self._options.predicates
            self._columns = ColumnReader(self._dictionary, self._builder, self._time_predicates, rule, filter_, self)
        return self._columns

    def take(self, lines: list[bytes], before: int) -> Iterator[LocatedBatch]:
        """Read lines, the first of which has the number `before` + 1.

        The loop itself handles the further lines of the open event; `kept` is the first of them whose text the builder
        does not have yet.
        """
        builder, terms = self._builder, self._terms
        subjects, predicates, objects = terms.subjects, terms.predicates, terms.objects
        add_subject, add_predicate, add_object = (
            column.append for column in (builder.subjects, builder.predicates, builder.objects)
        )
        kept = 0
        ending = _ending(builder.key)
        for index, line in enumerate(lines):
            if line.endswith(ending):
                pieces = line[: -len(ending)].split(b" ", 2)
                if len(pieces) == 3:
                    subject, predicate, object_ = pieces
                    s = subjects.get(subject) or terms.subject_id(subject)
                    p = predicates.get(predicate) or terms.predicate_id(predicate)
                    o = objects.get(object_) or terms.object_id(object_)
                    if s and p and o:
                        add_subject(s)
                        add_predicate(p)
                        add_object(o)
                        continue
            builder.raw += lines[kept:index]
            kept = index + 1
            if not line or line.isspace() or _is_comment(line):
                continue
            self._line(line, before + index + 1)
            ending = _ending(builder.key)
            if builder.full:
                yield from self.flush()
        builder.raw += lines[kept:]

    def places(self, numbers: Ids) -> Ids:
        """The lines of the input that lines are."""
        return numbers

    def flush(self) -> Iterator[LocatedBatch]:
        """Yield the complete events, if any; meanwhile the dictionary may release terms."""
        yield from self._builder.flush()
        self._terms.refresh()

    def _line(self, line: bytes, number: int) -> None:
        check_wanted()
        tokens = self._usual_tokens(line)
        for quad in (tokens,) if tokens else self._parsed_tokens(line, number):
            self._quad(quad, line, number)

    def _quad(self, quad: Tokens, line: bytes, number: int) -> None:
        subject, predicate, object_, graph = quad
        builder = self._builder
        states_time = predicate in self._time_predicates and (not graph or subject == graph)
        if not graph and not states_time:
            builder.report(number, 1, "a triple in the default graph that is no timestamp", line, "default graph")
            return
        key = graph or subject
        if key != builder.key:
            builder.open(key, number)
        builder.raw.append(line)
        if states_time:
            builder.timestamp(parse_token(object_), number, lambda: _column(line, object_))
        if graph:
            self._row(subject, predicate, object_)

    def _row(self, subject: bytes, predicate: bytes, object_: bytes) -> None:
        terms, builder = self._terms, self._builder
        builder.subjects.append(terms.subjects.get(subject) or terms.subject_id(subject))
        p = terms.predicates.get(predicate) or terms.predicate_id(predicate)
        builder.predicates.append(p or terms.intern(IRI(predicate[1:-1].decode())))
        builder.objects.append(terms.objects.get(object_) or terms.object_id(object_))

    def _usual_tokens(self, line: bytes) -> Tokens | None:
        """The tokens of a line of the usual form, or None."""
        pieces = line.split(b" ", 2)
        if len(pieces) != 3 or not pieces[2].endswith(b" ."):
            return None
        subject, predicate, rest = pieces[0], pieces[1], pieces[2][:-2]
        if not (self._is_predicate(predicate) and _is_plain_node(subject)):
            return None
        object_, _, graph = rest.rpartition(b" ")
        if object_ and _is_plain_node(graph) and self._is_term(object_):
            return subject, predicate, object_, graph
        return (subject, predicate, rest, b"") if self._is_term(rest) else None

    def _is_predicate(self, token: bytes) -> bool:
        return token in self._time_predicates or token in self._terms.predicates or bool(PLAIN_IRI.fullmatch(token))

    def _is_term(self, token: bytes) -> bool:
        return token in self._terms.objects or is_token(token)

    def _parsed_tokens(self, line: bytes, number: int) -> list[Tokens]:
        """The quads of a line by the strict parser; a malformed line is reported and has none."""
        try:
            quads = quads_of(line, ox.RdfFormat.N_QUADS)
        except (SyntaxError, ValueError) as error:
            found = parse_fault(error)
            self._builder.report(number + found.line - 1, found.column, found.reason, line, found.kind)
            return []
        return [(token_of(s), token_of(p), token_of(o), token_of(g)) for s, p, o, g in quads]


@cache
def pool(threads: int) -> Executor:
    """The threads that scan ahead of the one that reads."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads - 1, thread_name_prefix="spaseq-reader")


def kernels_pay(options: ReadOptions, bytes_read: int, least: int, least_kept: int) -> bool:
    """True if kernels are to read the input: as the options say, or where it is long enough.

    least, least_kept   bytes of input that repay compiling kernels, and loading those that are kept
    """
    if options.compiled is not None:
        return options.compiled
    size = max(bytes_read, options.bytes_expected)
    return size >= least or (size >= least_kept and _kernels_are_kept())


@cache
def _kernels_are_kept() -> bool:
    """True if the kernels of N-Quads are compiled already; imports numba."""
    from arrays.jit import is_kept
    from sparql_gpm.reading.nquads_kernel import scan

    return is_kept(scan)


def _split(text: bytes) -> list[bytes]:
    """The lines of a text, without their newlines; of an empty text, none."""
    return text.removesuffix(b"\n").split(b"\n") if text else []


def _ending(key: bytes | None) -> bytes:
    """The end of a usual line of this graph; without a graph, the end of no line."""
    return b"\n" if key is None else b" %b ." % key


def _is_plain_node(token: bytes) -> bool:
    """True for a token that is certainly a valid, canonical IRI, or a blank node label of letters and digits."""
    return bool(PLAIN_IRI.fullmatch(token)) or is_plain_blank(token)


def _column(line: bytes, token: bytes) -> int:
    """The column, in code points from 1, at which the token begins; 1 if it is written in another form."""
    return len(line[: max(0, line.rfind(token))].decode(errors="replace")) + 1


def _is_comment(line: bytes) -> bool:
    """True for a comment and nothing else; one that ends in a carriage return before the line does is none."""
    return line.startswith(b"#") and line.isascii() and b"\r" not in line.rstrip(b"\r")
