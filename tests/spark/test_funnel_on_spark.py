"""The funnel of a Spark job is the sum over its tasks: the counts of the embedded run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaseq.engine.staged_funnels import staged_funnels
from spaseq.errors import InputError
from spaseq.inputs.texts import InputText
from spaseq.lang.parse import parse
from spaseq.runtime.zero_rows.tally import Tally
from tests.drawn import drawn
from tests.runtime.test_funnel import QUERY, counted
from tests.spark.pipeline import job_of, run_stages
from tests.strategies import interleaved, queries, streams, to_trig


@settings(max_examples=drawn(12))
@given(st.data())
def test_the_counts_of_the_steps_are_those_of_the_embedded_run(data: st.DataObject) -> None:
    query = parse(data.draw(queries()), "q")
    drawn_streams = data.draw(streams())
    arrivals = {stream.name: drawn_streams[stream.name] for stream in query.streams}
    expected = counted(query, [interleaved(arrivals)], optimise=False)[0]
    job = job_of([query], list(arrivals), data.draw(st.integers(1, 3)), 0, True)
    job = replace(job, options=replace(job.options, analyze=True))
    batch = {
        name: [[InputText(to_trig(part).encode(), name, 0, "trig")] for part in (events[:3], events[3:]) if part]
        for name, events in arrivals.items()
    }
    tally = Tally()
    run_stages(job, [batch], tally=tally)
    (found,) = staged_funnels(job, tally)
    assert found.steps == expected.steps
    if not query.over_matches:
        assert found.rows == expected.rows
    assert {edge.took for edge in found.edges} == {None}


def test_queries_that_feed_each_other_are_refused() -> None:
    from spaseq.engine import staged

    text = QUERY.replace("SELECT ?a ?b", "REGISTER STREAM <http://x/d> AS CONSTRUCT { ?a <http://x/then> ?b }")
    reader = QUERY.replace("<http://x/s>", "<http://x/d>")
    job = job_of([parse(text, "maker"), parse(reader, "reader")], ["http://x/s"], 1, 0, True)
    with pytest.raises(InputError, match="query 'reader' reads what another one derives"):
        staged.check(replace(job, options=replace(job.options, analyze=True)))
