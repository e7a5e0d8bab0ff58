"""Rows that stay columns to the end are the rows that are made one by one, to the last Arrow value."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from spaseq.engine import staged
from spaseq.inputs.texts import InputText
from spaseq.lang.parse import parse
from spaseq.outputs.row_table import RowTable
from spaseq.runtime.spark import output
from spaseq.runtime.spark.output import OutputTable, column_names
from spaseq.runtime.spark.shard import ShardOutput
from spaseq.runtime.stages import projection
from tests.reference.stream import Arrivals
from tests.spark.pipeline import job_of, run_stages
from tests.strategies.query import queries
from tests.strategies.stream import streams, to_nquads


@pytest.fixture(scope="module")
def always_columns() -> Iterator[None]:
    """Columns for a single match too, and batches of three rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "FEW_MATCHES", 0)
        patch.setattr(output, "OUTPUT_ROWS_MAX", 3)
        yield


def _rows(table: OutputTable, outcomes: ShardOutput) -> list[object]:
    batches = list(table.batches(5, outcomes))
    assert all(0 < batch.num_rows <= 3 for batch in batches)
    whole = pa.Table.from_batches(batches, schema=table.schema())
    whole.validate(full=True)
    return list(whole.to_pylist())


def _one_by_one(outcomes: ShardOutput) -> ShardOutput:
    found = [(first, rows.rows() if isinstance(rows, RowTable) else rows) for first, rows in outcomes.found]
    return ShardOutput(found, outcomes.letters)


@pytest.mark.usefixtures("always_columns")
@given(st.data())
def test_columns_hold_what_rows_hold(data: st.DataObject) -> None:
    text = data.draw(queries())
    query = parse(text, "q")
    names = [stream.name for stream in query.streams]
    arrivals: dict[str, Arrivals] = {n: events for n, events in data.draw(streams()).items() if n in names}
    note(text)
    job = job_of([query], names, 2, 0, static=True)
    own = {name: [[InputText(to_nquads(events).encode() + b"\n", "doc")]] for name, events in arrivals.items()}
    table = OutputTable(column_names(staged.variables(job)))
    for outcomes in run_stages(job, [own]).outcomes:
        assert _rows(table, outcomes) == _rows(table, _one_by_one(outcomes))
