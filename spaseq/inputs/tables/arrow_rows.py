"""Rows of Arrow record batches: columns go to distinct values by Arrow's dictionaries, no row becomes an object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparql_gpm.columns import Ids, as_ids
from sparql_gpm.lazy_terms import NULL
from spaseq.errors import InputError
from spaseq.inputs.tables.arrow_column import ArrowColumn
from spaseq.inputs.tables.arrow_values import lexicals
from spaseq.inputs.tables.cells import Cells
from spaseq.inputs.tables.template import Path

_CELL_SHOWN_MAX = 200
"""Characters of a cell in a report of its row."""


class ArrowRows:
    """A record batch.

    numbers     int64[n], the number of each row in its input
    untyped     cells are text without a type, as in CSV: an empty one is null
    """

    def __init__(self, batch: pa.RecordBatch, numbers: Ids, untyped: bool = False) -> None:
        self._batch, self._untyped = batch, untyped
        self.numbers = numbers

    def cells(self, path: Path) -> Cells:
        """See `RowBatch`."""
        array, rest, owner = self._column(path)
        rows: Ids | None = None
        while rest or _is_list(array.type):
            if _is_list(array.type):
                lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0))  # lists that are null may have cells
                parents = np.repeat(np.arange(len(array), dtype=np.int64), lengths)
                rows = parents if rows is None else rows[parents]
                array = pc.list_flatten(array)
                owner = owner or path[: len(path) - len(rest)]
                continue
            array, rest = _member(array, rest[0], path), rest[1:]
        if pa.types.is_struct(array.type) or pa.types.is_map(array.type):
            raise InputError(f"column '{'.'.join(path)}' has fields", hint="write {column.field}")
        codes, values = _encoded(array)
        texts, datatype = lexicals(values, self._untyped)
        return Cells(_without_empty(codes, texts) if self._untyped else codes, texts, datatype, rows, owner)

    def plain(self, path: Path) -> ArrowColumn | None:
        """A column whose cells are values; None if they have fields, are lists or are coded already."""
        array, rest, _ = self._column(path)
        coded = pa.types.is_dictionary(array.type) or pa.types.is_null(array.type)
        if rest or coded or pa.types.is_nested(array.type):
            return None
        return ArrowColumn(array.cast(pa.string()) if pa.types.is_large_string(array.type) else array, self._untyped)

    def parts(self, rows_max: int) -> Iterable[ArrowRows]:
        """See `RowBatch`; of equal length as far as possible."""
        count = -(-len(self.numbers) // rows_max)
        for some in np.array_split(np.arange(len(self.numbers)), max(1, count)):
            begin, end = (int(some[0]), int(some[-1]) + 1) if len(some) else (0, 0)
            yield ArrowRows(self._batch.slice(begin, end - begin), self.numbers[begin:end], self._untyped)

    def names(self) -> list[Path]:
        """See `RowBatch`."""
        return [path for field in self._batch.schema for path in _leaves(field.type, (field.name,))]

    def shown(self, row: int) -> str:
        """See `RowBatch`."""
        cells = {name: str(self._shown(place, row)) for place, name in enumerate(self._batch.schema.names)}
        return json.dumps({name: text[:_CELL_SHOWN_MAX] for name, text in cells.items()}, ensure_ascii=False)

    def _column(self, path: Path) -> tuple[Any, Path, Path]:
        """The column of a path, and the fields that are left: a column's own name may have dots."""
        names = self._batch.schema.names
        for length in range(len(path), 0, -1):
            name = ".".join(path[:length])
            if name in names:
                return self._array(names.index(name)), path[length:], ()
        raise missing(".".join(path), names)

    def _array(self, place: int) -> Any:
        try:
            return self._batch.column(place)
        except KeyError as error:
            name = self._batch.schema.names[place]
            raise InputError(f"column '{name}' is of a type of Arrow that pyarrow does not read") from error

    def _shown(self, place: int, row: int) -> object:
        try:
            return _shown(self._array(place)[row])
        except InputError as error:
            return error.message


def missing(name: str, names: Sequence[str]) -> InputError:
    """The error for a column that does not exist."""
    return InputError(f"there is no column '{name}'", hint=f"the columns are {', '.join(names) or 'none'}")


def _leaves(kind: pa.DataType, path: Path) -> list[Path]:
    if _is_list(kind):
        return _leaves(kind.value_type, path)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(field.type, (*path, field.name))]
    return [path]


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _member(array: Any, name: str, path: Path) -> Any:
    names = [each.name for each in array.type] if pa.types.is_struct(array.type) else []
    if name not in names:
        raise missing(".".join(path), names)
    return pc.struct_field(array, name)


def _encoded(array: Any) -> tuple[Ids, Any]:
    """The code of each cell, and the distinct values."""
    if pa.types.is_null(array.type):
        return np.full(len(array), NULL, dtype=np.int64), pa.array([], pa.string())
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    encoded = array.dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), NULL)
    return as_ids(np.asarray(codes)), encoded.dictionary


def _without_empty(codes: Ids, lexicals: Sequence[str | None]) -> Ids:
    if "" not in lexicals:
        return codes
    return np.where(codes == lexicals.index(""), NULL, codes)


def _shown(cell: Any) -> object:
    """A cell for a report."""
    try:
        value = cell.as_py()
    except UnicodeDecodeError:
        value = cell.as_buffer().to_pybytes()
    except (ValueError, OverflowError, ImportError, KeyError):  # a time or a time zone that Python has not
        return getattr(cell, "value", f"a value of the type {cell.type}")
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
