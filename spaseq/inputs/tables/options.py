"""The options of readers of tables, and the test of a table. Arrow is not imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ROWS_MAX = 60_000
"""Rows in a batch; their terms become ids where patterns ask for them, so that many together cost little memory."""
OBJECT_ROWS_MAX = 10_000
"""Rows in a batch all of whose terms become ids."""


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of readers of tables.

    columns     names of the columns of CSV without a header
    delimiter   between cells of CSV
    rows_max    rows of a table in columns in a batch; of NDJSON as objects at most `OBJECT_ROWS_MAX`
    bytes_max   the longest line of NDJSON, and the largest Parquet file of a pipe
    """

    columns: tuple[str, ...] = ()
    delimiter: str = ","
    rows_max: int = ROWS_MAX
    bytes_max: int = 64 << 20


def is_table(value: Any) -> bool:
    """True for a table of pandas, polars or Arrow: anything that says how it is one of Arrow."""
    return not isinstance(value, str | bytes) and (
        hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    )
