"""The cells of a column: each distinct value once, with the rows that have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sparql_gpm.columns import Ids, as_ids
from sparql_gpm.datetimes import parse_date_time
from sparql_gpm.lazy_terms import NULL
from sparql_gpm.numeric import NumericType, is_number
from sparql_gpm.terms import XSD, XSD_STRING, Literal
from sparql_gpm.well_formed import is_text
from spaseq.inputs.tables.template import Path

_NUMBERS = (NumericType.INTEGER, "integer"), (NumericType.DECIMAL, "decimal"), (NumericType.DOUBLE, "double")


@dataclass(frozen=True, slots=True)
class Cells:
    """n cells of a column of a batch.

    codes       int64[n]: the index of the value of each cell, or NULL
    lexicals    of each distinct value; None for one that no literal can have
    datatypes   of each distinct value, one for all of them, or None: what the text says
    rows        int64[n]: the row of each cell where rows have lists; None: cell i is that of row i
    owner       the list that the cells come from: cells of one list go together
    """

    codes: Ids
    lexicals: Sequence[str | None]
    datatypes: Sequence[str] | str | None
    rows: Ids | None = None
    owner: Path = ()

    def literal(self, index: int) -> Literal | None:
        """The typed value of a distinct value; None for one that no literal can have."""
        lexical = self.lexicals[index]
        if lexical is None:
            return None
        match self.datatypes:
            case None:
                return typed(lexical)
            case str():
                return Literal(lexical, self.datatypes)
        return Literal(lexical, self.datatypes[index])


class PlainColumn(Protocol):
    """n cells of a column, which are values, as a whole."""

    @property
    def untyped(self) -> bool:
        """They are text without a type, as in CSV: an empty one is null."""

    @property
    def is_text(self) -> bool:
        """Cells are strings."""

    @property
    def is_integer(self) -> bool:
        """Cells are integers by their type."""

    @property
    def is_certain(self) -> bool:
        """Every cell is a value or a text, whatever it is."""

    @property
    def is_ascii(self) -> bool:
        """No text has a character that is not in ASCII."""

    @property
    def has_null(self) -> bool:
        """Some cell is empty."""

    def __len__(self) -> int: ...

    def encoded(self) -> tuple[Ids, Any]:
        """The code of each cell, NULL for none, and the distinct values as an Arrow array."""

    def lexicals(self, values: Any) -> tuple[list[str | None], Sequence[str] | str | None]:
        """The lexical forms of distinct values, and their datatypes as in `Cells`."""

    def integers(self) -> Ids | None:
        """The cells as integers; None if some is null, or no integer as everybody writes it."""

    def date_times(self) -> Ids | None:
        """The nanoseconds of timestamps since the epoch; None if some is null or beyond what a time can be."""

    def lines(self) -> str | None:
        """The texts, one a line; None if some is null, or has a line break or a character that is not in ASCII."""


class RowBatch(Protocol):
    """n rows of a table. `numbers` are int64[n], the number of each row in its input."""

    numbers: Ids

    def plain(self, path: Path) -> PlainColumn | None:
        """A column as a whole; None if its cells can only be had one by one."""

    def parts(self, rows_max: int) -> Iterable[RowBatch]:
        """The rows in batches of at most so many."""

    def cells(self, path: Path) -> Cells:
        """The cells of a column; raises InputError if there is none."""

    def names(self) -> list[Path]:
        """The columns and, of those with fields, the fields."""

    def shown(self, row: int) -> str:
        """A row for a report."""


def typed(text: str) -> Literal:
    """The literal of a cell without a type: what the whole cell is by its form, else a string."""
    for kind, datatype in _NUMBERS:
        if is_number(text, kind):
            return Literal(text, XSD + datatype)
    if text in ("true", "false"):
        return Literal(text, XSD + "boolean")
    for datatype in ("date", "dateTime"):
        try:
            parse_date_time(text, datatype)
        except ValueError:
            continue
        return Literal(text, XSD + datatype)
    return Literal(text, XSD_STRING)


class ObjectRows:
    """Rows that are JSON objects."""

    def __init__(self, rows: Sequence[dict[str, Any]], numbers: Sequence[int] | Ids, texts: Sequence[str]) -> None:
        self._rows, self._texts = rows, texts
        self.numbers = as_ids(numbers)

    def cells(self, path: Path) -> Cells:
        """See `RowBatch`; a field that a row does not have is empty."""
        codes: list[int] = []
        rows: list[int] = []
        known: dict[tuple[str | None, str], int] = {}
        lists = False
        for number, row in enumerate(self._rows):
            found = _field(row, path)
            lists = lists or isinstance(found, list)
            for value in _flat(found):
                rows.append(number)
                codes.append(NULL if value is None else known.setdefault(json_value(value), len(known)))
        lexicals, datatypes = zip(*known, strict=True) if known else ((), ())
        return Cells(as_ids(codes), lexicals, datatypes, as_ids(rows) if lists else None, path[:1] if lists else ())

    def plain(self, path: Path) -> None:
        """See `RowBatch`: cells are objects."""

    def parts(self, rows_max: int) -> Iterable[RowBatch]:
        """See `RowBatch`."""
        for begin in range(0, len(self._rows), rows_max):
            some = slice(begin, begin + rows_max)
            yield ObjectRows(self._rows[some], self.numbers[some], self._texts[some])

    def names(self) -> list[Path]:
        """See `RowBatch`."""
        return list(dict.fromkeys(path for row in self._rows for path in _leaves(row)))

    def shown(self, row: int) -> str:
        """See `RowBatch`."""
        return self._texts[row]


class Number(str):
    """The text of a number in JSON; `datatype` is integer or double."""

    __slots__ = ()

    @property
    def datatype(self) -> str:
        """An integer has digits only."""
        return XSD + ("integer" if self.lstrip("-").isdigit() else "double")


def json_value(value: object) -> tuple[str | None, str]:
    """Lexical form and datatype of a JSON value; None for what is no literal: an object, a lone surrogate."""
    match value:
        case bool():
            return ("true" if value else "false"), XSD + "boolean"
        case Number():
            return str(value), value.datatype
        case str() if is_text(value):
            return value, XSD_STRING
    return None, XSD_STRING


def _field(row: dict[str, Any], path: Path) -> Any:
    """The value of a field; a list where some part of the path is one."""
    whole = ".".join(path)
    if whole in row:
        return row[whole]
    value: Any = row
    for name in path:
        value = _step(value, name)
    return value


def _leaves(value: Any, path: Path = ()) -> Iterable[Path]:
    """The paths to the values in an object, those in its lists included."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, path)
    else:
        yield path


def _step(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_step(each, name) for each in value]
    return value.get(name) if isinstance(value, dict) else None


def _flat(value: Any) -> Iterable[Any]:
    """The values of nested lists; a value that is none is itself."""
    if isinstance(value, list):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def of_rows(count: int) -> Ids:
    """The rows 0 … count - 1."""
    return np.arange(count, dtype=np.int64)
