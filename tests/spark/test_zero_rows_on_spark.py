"""A Spark job that ends without a row says why, in the words of the embedded run: the tallies of all tasks added up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import spaseq
from spaseq.cli import main
from spaseq.engine.staged_zero_rows import staged_zero_rows
from spaseq.explain.funnel import Funnel, to_json
from spaseq.inputs.texts import InputText
from spaseq.lang.parse import parse
from spaseq.runtime.zero_rows import tally as tallies
from spaseq.runtime.zero_rows.tally import Tally
from tests.runtime.test_zero_rows import CAUSES, lines_of, query, stream
from tests.spark.pipeline import job_of, run_stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END = InputText(b"#!spaseq end", "end")


def staged_lines(
    text: str,
    path: str,
    shards: int,
    *,
    tasks: int = 1,
    static: bool = True,
    end: bool = True,
    first: int = 0,
    analyze: bool = False,
) -> list[str]:
    """The lines of a job of two stages; its events are divided among so many tasks."""
    head, *events = Path(path).read_text(encoding="utf-8").splitlines()
    cuts = [len(events) * n // tasks for n in range(tasks + 1)]
    texts = ["\n".join((head, *events[cuts[n] : cuts[n + 1]])) for n in range(tasks)]
    rows: Sequence[list[InputText]] = [[InputText(t.encode(), path, 0, "trig")] for t in texts]
    counted, job = Tally(), job_of([parse(text, "q")], ["S"], shards, 0, static)
    job = replace(job, options=replace(job.options, analyze=analyze))
    batches = [{"S": [*rows, [END]] if end else rows}]
    assert run_stages(job, batches, first=first, tally=counted).rows == []
    return staged_zero_rows(job, counted)


@pytest.mark.parametrize("cause", CAUSES)
def test_the_lines_are_those_of_the_embedded_run(cause: str, tmp_path: Path) -> None:
    text, events, _ = CAUSES[cause]
    path = stream(tmp_path / "S.trig", events)
    expected = lines_of(text, path, "nfa")
    for static, shards, tasks in ((True, 3, 2), (False, 1, 1)):
        assert staged_lines(text, path, shards, tasks=tasks, static=static) == expected, (static, shards)


@pytest.mark.parametrize("facts", ["1:a=1 2:b=1 3:b=2&c=2", "1:a=1 2:b=1 3:b=2 4:c=1", "1:d=1 2:b=1 3:b=2&c=2"])
def test_the_funnel_says_which_part_no_event_of_any_task_passes(facts: str, tmp_path: Path) -> None:
    text = query("A ; B", B="{ ?b :b ?p ; :c ?p FILTER (?p > 3) }", A="{ ?a ?x ?p FILTER (?p > 0 && ?x = :a) }")
    path = stream(tmp_path / "S.trig", facts)
    expected = lines_of(text, path, "nfa", analyze=True)
    assert " comes to " in expected[0] or " come to " in expected[0]
    for static, shards, tasks in ((True, 3, 2), (False, 2, 3)):
        assert staged_lines(text, path, shards, tasks=tasks, static=static, analyze=True) == expected


def test_of_more_events_than_are_kept_the_counts_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 2:b=2 3:a=3 4:a=4")
    for name in ("_TASK_SOLUTIONS_MAX", "_SOLUTIONS_MAX"):
        with monkeypatch.context() as few:
            few.setattr(tallies, name, 3)
            assert staged_lines(query("A ; B"), path, 2, tasks=1 if "TASK" in name else 2) == [
                "no row of 'q': its steps have solutions, and no row came of them; why was not looked for in so many"
                " events",
                "  solutions: A 3, B 1",
                "  events: S 4",
            ]


def test_an_unknown_constant_is_known_however_many_events_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 2:b=2 3:a=3 4:a=4")
    monkeypatch.setattr(tallies, "_SOLUTIONS_MAX", 1)
    first, *_ = staged_lines(query("A ; C"), path, 2, tasks=2)
    assert first.startswith("no row of 'q': no event has the property <http://x/c>, which C asks for; seen: <http://x/")


def test_a_stream_that_goes_on_and_a_job_that_does_are_told_apart(tmp_path: Path) -> None:
    text, path = query("A ; C!"), stream(tmp_path / "S.trig", "1:a=1 2:b=2")
    (first, *_) = staged_lines(text, path, 2, static=False, end=False)
    assert first == (
        "no row of 'q': its steps have solutions; a match may wait for later events, or for the end of its streams"
    )
    assert staged_lines(text, stream(tmp_path / "none.trig", ""), 2, static=False, end=False) == [
        "no row of 'q': it read no event"
    ]
    text = query("A ; B")
    (first, *more) = staged_lines(text, path, 2, static=False, first=3)
    assert first == "no row of 'q': what it had read before this start is not counted here"
    assert more == ["  solutions: A 1, B 1", "  events: S 2"]


def test_late_events_are_told_beside_the_counts(tmp_path: Path) -> None:
    path = stream(tmp_path / "S.trig", "10:a=1 2:b=1 11:a=2")
    assert staged_lines(query("A ; B"), path, 1, static=False) == lines_of(query("A ; B"), path)


def test_tallies_are_added_up_in_any_order() -> None:
    one = Tally(rows=0, first=3, last={"s": 5}, ended={"s"})
    other = Tally(rows=2, first=None, last={"s": 9}, kept=None)
    for pair in ((one, other), (other, one)):
        total = Tally()
        for each in pair:
            total.add(replace(each))
        assert (total.rows, total.first, total.last, total.ended, total.kept) == (2, 3, {"s": 9}, {"s"}, None)


def test_the_names_of_all_tasks_are_bounded() -> None:
    total = Tally()
    for number in range(3):
        total.add(Tally(properties=dict.fromkeys(f"urn:{number}:{n}" for n in range(900))))
    assert len(total.properties) == 2_000


def embedded(text: str, path: str) -> Any:
    """The JSON of the funnel of a run in one process, without times, and without `lost`, which states do not hold."""
    result = spaseq.run(parse(text, "q"), {"S": path}, analyze=True, evaluator="nfa")
    assert len(list(result)) <= 1 and isinstance(result.funnel, Funnel)
    found = json.loads(to_json(result.funnel))
    del found["seconds"]
    return {**found, "edges": [{**edge, "lost": None} for edge in found["edges"]]}


def test_spark_says_it_on_stderr_and_says_nothing_of_a_run_with_rows(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 50:b=1")
    for text, said in ((query("A ; B"), True), (query("A"), False)):
        (tmp_path / "q.rq").write_text(text, encoding="utf-8")
        options = [f"--stream=S={path}", "--format=ndjson", "--runtime=spark"]
        options.append(f"--analyze-output={tmp_path / 'funnel.json'}")
        assert not main(["run", str(tmp_path / "q.rq"), *options], standalone_mode=False)
        told = capsys.readouterr()
        funnel = json.loads((tmp_path / "funnel.json").read_text())
        times = funnel.pop("seconds")
        assert times["sequence"] > 0 and list(times["steps"]) == [step["step"] for step in funnel["steps"]]
        assert funnel == embedded(text, path)
        if said:
            assert (told.out, told.err.splitlines()) == ("", lines_of(text, path))
        else:
            assert told.out and "no row" not in told.err
