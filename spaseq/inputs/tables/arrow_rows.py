"""Rows of Arrow record batches: columns go to distinct values by Arrow's dictionaries, no row becomes an object."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparql_gpm.columns import Ids, as_ids
from sparql_gpm.lazy_terms import NULL
from sparql_gpm.terms import XSD, XSD_STRING
from sparql_gpm.times import format_time
from spaseq.errors import InputError
from spaseq.inputs.tables.arrow_column import UNIT_NS, ArrowColumn
from spaseq.inputs.tables.cells import Cells
from spaseq.inputs.tables.marks import NO_TEXT
from spaseq.inputs.tables.template import Path

_EPOCH = date(1970, 1, 1)
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


def _decoded_all(values: Any) -> list[str | None]:
    """The distinct cells of CSV, None for one that is no UTF-8."""
    texts: list[str | None] = values.cast(pa.string()).to_pylist()
    if any(NO_TEXT in text for text in texts if text is not None):
        return [_decoded(value) for value in values.to_pylist()]
    return texts


def _decoded(value: bytes | None) -> str | None:
    text = None if value is None else value.decode()
    return None if text is None or NO_TEXT in text else text


def _shown(cell: Any) -> object:
    """A cell for a report."""
    try:
        value = cell.as_py()
    except UnicodeDecodeError:
        value = cell.as_buffer().to_pybytes()
    except (ValueError, OverflowError, ImportError, KeyError):  # a time or a time zone that Python has not
        return getattr(cell, "value", f"a value of the type {cell.type}")
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def lexicals(values: Any, untyped: bool) -> tuple[list[str | None], str | None]:
    """The lexical forms of the distinct values of a column, and the datatype of its type; None: `untyped` has none."""
    if untyped:
        return _decoded_all(values), None
    kind, types = values.type, pa.types
    if types.is_timestamp(kind):
        unit, zone = UNIT_NS[kind.unit], "Z" if kind.tz else ""
        return [_date_time(number * unit, zone) for number in values.cast(pa.int64()).to_pylist()], XSD + "dateTime"
    if types.is_date(kind):
        return [_day(number) for number in values.cast(pa.date32()).cast(pa.int32()).to_pylist()], XSD + "date"
    if types.is_duration(kind):
        unit = UNIT_NS[kind.unit]
        return [_duration(number * unit) for number in values.cast(pa.int64()).to_pylist()], XSD + "dayTimeDuration"
    for test, text, name in _TYPES:
        if test(kind):
            return [text(value) for value in values.to_pylist()], XSD + name
    if types.is_string(kind) or types.is_large_string(kind):
        return _texts(values), XSD_STRING
    return [str(value) for value in values.to_pylist()], XSD_STRING


def _texts(values: Any) -> list[str | None]:
    """Strings, None for one that is no UTF-8, as damaged files have them."""
    try:
        texts: list[str | None] = values.to_pylist()
    except UnicodeDecodeError:
        texts = [_text(value) for value in values.cast(pa.large_binary()).to_pylist()]
    return texts


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _date_time(time_ns: int, zone: str) -> str | None:
    try:
        return format_time(time_ns).removesuffix("Z") + zone
    except (ValueError, OverflowError):
        return None


def _day(number: int) -> str | None:
    try:
        return (_EPOCH + timedelta(days=number)).isoformat()
    except OverflowError:
        return None


def _duration(length_ns: int) -> str:
    seconds, rest = divmod(abs(length_ns), 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{'-' * (length_ns < 0)}PT{seconds}{fraction}S"


def _double(number: float) -> str:
    text = repr(number)
    return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(text, text)


def _float(number: float) -> str:
    return _double(float(str(np.float32(number))))


_TYPES: tuple[tuple[Callable[[Any], bool], Callable[[Any], str], str], ...] = (
    (pa.types.is_boolean, lambda value: "true" if value else "false", "boolean"),
    (pa.types.is_integer, str, "integer"),
    (pa.types.is_float32, _float, "float"),
    (pa.types.is_floating, _double, "double"),
    (pa.types.is_decimal, lambda value: format(value, "f"), "decimal"),
    (pa.types.is_time, lambda value: value.isoformat(), "time"),
    (pa.types.is_binary, lambda value: value.hex().upper(), "hexBinary"),
    (pa.types.is_large_binary, lambda value: value.hex().upper(), "hexBinary"),
    (pa.types.is_fixed_size_binary, lambda value: value.hex().upper(), "hexBinary"),
)
"""A test of an Arrow type, the lexical form of its values, and the name of the XSD type."""
