"""A run without a row says why: a golden text for each cause, whichever evaluator ran and however its events came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import spaseq
from automata.slices.events import Events, SymbolSolutions
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.matching.unseen import Unseen
from spaseq.algebra.build import build
from spaseq.cli import main
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.errors import SPAseqError
from spaseq.explain.zero_rows import ZeroRows, most_similar, zero_rows_lines
from spaseq.lang.parse import parse
from spaseq.runtime.zero_rows.observed import Observed
from tests import pairs
from tests.reference.api import evaluate
from tests.strategies.query import rewindowed
from tests.strategies.stream import to_trig

QUERY = """PREFIX : <http://x/>
SELECT {form}* WITHIN {window} {clauses} FROM STREAM S <http://x/s>
{{ SEQ({sequence}) {defines} }}"""
STEPS = {name: f"{{ ?{name.lower()} :{name.lower()} ?p }}" for name in "ABC"} | {"X": "{ ?x :x ?other }"}
EVALUATORS = ("auto", "nfa", "lazy")
NOISE = 40
"""Events that no step matches: so many together are evaluated in columns."""


def query(sequence: str, window: str = "10 SECONDS SLIDING", form: str = "", clauses: str = "", **steps: str) -> str:
    names = dict.fromkeys(re.findall(r"\b[ABCX]\b", re.sub(r"WITHIN \d+ \w+|ALL\(", "", sequence)))
    defines = " ".join(f"DEFINE GPM {name} ON S {steps.get(name, STEPS[name])}" for name in names)
    more = steps.get("more", "")
    return QUERY.format(form=form, window=window, clauses=clauses, sequence=sequence, defines=f"{defines} {more}")


def stream(path: Path, notation: str, noise: int = 0) -> str:
    """`1:a=5` is, at second 1, `:u :a 5`; noise comes first, long before."""
    lines = ["@prefix : <http://x/> . @prefix prov: <http://www.w3.org/ns/prov#> ."]
    lines += [f":n{n} prov:generatedAtTime {n - 100_000} . :n{n} {{ :u :noise {n} }}" for n in range(noise)]
    for number, word in enumerate(notation.split()):
        second, facts = word.split(":", 1)
        graph = " . ".join(":u :{} {}".format(*fact.split("=")) for fact in facts.split("&")).replace(":type ", "a ")
        lines.append(f":e{number} prov:generatedAtTime {second} . :e{number} {{ {graph} }}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def lines_of(text: str, path: str, evaluator: str = "auto", **options: object) -> list[str]:
    """The reasons of a run without a row."""
    job = Job([parse(text, "q")], {"S": path}, options=RunOptions(evaluator=evaluator, compiled=False, **options))  # type: ignore[arg-type]
    try:
        assert [row for rows in job.rows() for row in rows] == []
        return job.zero_rows()
    finally:
        job.close()


CAUSES = {
    "nothing": (query("A ; B"), "", "its streams have no event"),
    "no_solution": (
        query("A ; B", B="{ ?b :b ?p FILTER (?p > 3) }"),
        "1:a=1 2:b=1",
        "no event matches B, though events have every constant of its pattern",
    ),
    "no_solution_of_any": (
        query("A ; B", A="{ ?a :a ?p FILTER (?p > 3) }", B="{ ?b :b ?p FILTER (?p > 3) }"),
        "1:a=1 2:b=1",
        "no event matches A, nor B",
    ),
    "property": (
        query("A ; B", B="{ ?b :vlaue ?p }"),
        "1:a=1 2:value=1",
        "no event has the property <http://x/vlaue>, which B asks for; seen: <http://x/value>, <http://x/",
    ),
    "class": (
        query("A ; B", B="{ ?b a :Redaing ; :b ?p }"),
        "1:a=1 2:b=1&type=:Reading&type=:Device 3:c=1",
        "no event has the class <http://x/Redaing>, which B asks for; seen: <http://x/Reading>, <http://x/Device>",
    ),
    "join": (query("A ; B"), "1:a=1 2:b=2", "no B that could follow A has its ?p; without this join 1 would match"),
    "window": (
        query("A ; B"),
        "1:a=1 50:b=1",
        "no B that fits A lies within a sliding window of 10 seconds; in a longer one 1 would match",
    ),
    "window_of_the_third": (
        query("A ; B ; C"),
        "1:a=1 2:b=1 50:c=1",
        "no C that fits A ; B lies within a sliding window of 10 seconds; in a longer one 1 would match",
    ),
    "contiguity": (
        query("A , B"), "1:a=1 2:x=1 3:b=1", "no B that fits A is as near as ',' says; with ':' 1 would match"
    ),
    "condition": (
        query("A ; B", B="{ ?b :b ?q FILTER (?q > ?p) }"),
        "1:a=3 2:b=1 3:b=2",
        "FILTER (?q > ?p) never holds where B could follow A; without it 1 would match",
    ),
    "condition_of_the_match": (
        query("A : B", B="{ ?b :b ?q }", more="FILTER (?q > ?p)"),
        "1:a=3 2:b=1 3:b=2",
        "FILTER (?q > ?p) never holds where B could follow A; without it 2 would match",
    ),
    "exists": (
        query("A ; B", B="{ ?b :b ?p FILTER EXISTS { ?a :c ?d } }"),
        "1:a=1 2:b=1",
        "FILTER EXISTS { ?a :c ?d } never holds for A ; B; without it 1 would match",
    ),
    "absence": (query("A ; C! ; B"), "1:a=1 2:c=1 3:b=1", "C! rules out every match; without it 1 would match"),
    "trailing_absence": (query("A ; B!"), "1:a=1 2:b=1", "B! rules out every match; without it 1 would match"),
    "absences_together": (
        query("A ; B! ; C! ; X"), "1:a=1 2:b=1 3:c=1 4:x=1", "B! and C! together rule out every match"
    ),
    "iterations": (
        query("A ; B;{3}"), "1:a=1 2:b=1 3:b=1", "B;{3} does not come 3 times; with fewer 2 would match"
    ),
    "limit": (
        query("A ; WITHIN 2 SECONDS B"),
        "1:a=1 5:b=1",
        "no B that fits A is in time, by WITHIN 2 SECONDS; with a longer limit 1 would match",
    ),
    "order": (query("A ; B"), "1:b=1 2:a=1", "no B comes after A"),
    "conjunction": (
        query("A & B"), "1:a=1 2:b=1", "no A & B: each of its steps has solutions, and none makes a match"
    ),
    "any_order": (
        query("ALL(A, B)"), "1:a=1 2:b=2", "no ALL(A, B) agrees on ?p; without this join 1 would match"
    ),
    "several": (
        query("A ; B"), "1:a=1 50:b=2",
        "no B follows A: a sliding window of 10 seconds and the join on ?p are in the way together",
    ),
    "either": (
        query("A : B"), "1:a=1 2:b=2 50:b=1 60:b=1",
        "no B that fits A lies within a sliding window of 10 seconds; in a longer one 2 would match",
    ),
    "selector": (query("A : B", form="STRICT "), "1:a=1 2:x=1 3:b=1", "SELECT STRICT keeps none of its matches"),
    "partition": (
        query("A ; B", clauses="PARTITION BY ?p"), "1:a=1 2:b=2",
        "no B that could follow A has its ?p; without this join 1 would match",
    ),
    "using": (
        query("A ; X", clauses="PARTITION BY ?k USING { ?e :k ?k }"), "1:a=1&k=1 2:x=1",
        "no event that USING puts into a partition matches X",
    ),
    "using_contiguity": (
        query("A , X", clauses="PARTITION BY ?k USING { ?e :k ?k }"), "1:a=1&k=1 2:k=1 3:x=1&k=1",
        "no X that fits A is as near as ',' says; with ':' 1 would match",
    ),
    "having": (
        query("A : B").replace("SELECT *", "SELECT OVER MATCHES (COUNT(*) AS ?n)") + " HAVING (?n > 3)",
        "1:a=1 2:b=1", "HAVING keeps none of its matches",
    ),
    "over_matches": (
        query("A : B").replace("SELECT *", "SELECT OVER MATCHES (COUNT(*) AS ?n)"),
        "1:a=1 2:b=2", "no B that could follow A has its ?p; without this join 1 would match",
    ),
    "hopping": (
        query("A : B", "10 SECONDS EVERY 5 SECONDS").replace("SELECT *", "SELECT OVER MATCHES (COUNT(*) AS ?n)"),
        "1:a=1 50:b=1", "no B that fits A lies within a hopping window of 10 seconds every 5 seconds; in a longer",
    ),
    "too_early": (query("A", "10 SECONDS STARTING AT 90"), "1:a=1", "every event comes before STARTING AT"),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_the_reason_is_the_golden_one_whatever_ran(cause: str, tmp_path: Path) -> None:
    text, events, expected = CAUSES[cause]
    for noise in (0, NOISE) if events else (0,):
        path = stream(tmp_path / "S.trig", events, noise)
        for evaluator in EVALUATORS if not noise else EVALUATORS[:2]:
            try:
                lines = lines_of(text, path, evaluator)
            except SPAseqError:
                assert evaluator == "lazy"
                continue
            first = lines[0].removeprefix("no row of 'q': ")
            assert len(lines) <= 5
            assert first.startswith((expected, *NARROWED) if noise else expected), evaluator


NARROWED = (
    "no event with the ?p of the steps before it, and in their window, matches B",
    "no B that agrees with A follows it in its window",
)
"""In columns steps may be looked for only in events that agree with others: of the rest nothing is said."""


def test_a_step_that_was_looked_for_in_some_events_only_is_not_said_to_have_no_solution(tmp_path: Path) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 2:b=2", NOISE)
    first, solutions, events = lines_of(query("A ; B"), path, "nfa")
    assert first == f"no row of 'q': {NARROWED[0]}"
    assert solutions == "  solutions: A 1, B 0 (B only where other steps could go on)"
    assert events == f"  events: S {NOISE + 2}"


def test_the_details_say_how_often_steps_were_met_and_how_many_events_were_read(tmp_path: Path) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 2:b=1 3:a=1 50:c=1")
    assert lines_of(query("A ; B ; C"), path) == [
        "no row of 'q': no C that fits A ; B lies within a sliding window of 10 seconds; in a longer one 1 would match",
        "  solutions: A 2, B 1, C 1; matches of A ; B: 1",
        "  events: S 4",
    ]


def test_late_events_are_named_and_not_said_to_be_absent(tmp_path: Path) -> None:
    path = stream(tmp_path / "S.trig", "10:a=1 11:a=1 2:b=1")
    assert lines_of(query("A ; B"), path) == [
        "no row of 'q': no event that was read has the property <http://x/b>, which B asks for; seen: <http://x/a>",
        "  solutions: A 2, B 0",
        "  events: S 2",
        "  not read: 1 late; --max-delay lets late events in, --dead-letter keeps what is not read",
    ]


def test_constraints_that_are_in_the_way_each_alone_are_all_named(tmp_path: Path) -> None:
    (first, *_) = lines_of(query("A : B"), stream(tmp_path / "S.trig", "1:a=1 2:b=2 50:b=1 60:b=1"))
    assert first.endswith("; in a longer one 2 would match, 1 without the join on ?p")


def test_an_engine_without_a_row_so_far_says_why() -> None:
    engine = spaseq.Engine()
    engine.register(parse(query("A ; B"), "q"))
    engine.push("S", "<http://x/u> <http://x/a> 1 .", 1)
    engine.push("S", "<http://x/u> <http://x/b> 2 .", 2)
    reason = "no row of 'q': no B that could follow A has its ?p; without this join 1 would match"
    assert engine.zero_rows()[0] == reason
    engine.push("S", "<http://x/u> <http://x/b> 1 .", 3)
    assert engine.zero_rows() == []


@pytest.mark.parametrize(
    ("sequence", "facts", "said"),
    [
        ("A ; B", "1:a=1 2:b=1 3:b=2&c=2", "; 1 event comes to FILTER (?p > 3) on line 3, and does not pass"),
        ("A ; B", "1:a=1 2:b=1 3:b=2 4:c=1", "; 2 events come to ?b :c ?p on line 3, and none passes"),
        (
            "B ; A",
            "1:d=1 2:b=1 3:b=2&c=2",
            ", nor A; 1 event comes to FILTER (?p > 3) of B on line 3, and does not pass",
        ),
    ],
)
def test_a_funnel_says_which_part_no_event_passes(tmp_path: Path, sequence: str, facts: str, said: str) -> None:
    asked = query(sequence, B="{ ?b :b ?p ; :c ?p FILTER (?p > 3) }", A="{ ?a ?x ?p FILTER (?p > 0 && ?x = :a) }")
    path = stream(tmp_path / "S.trig", facts)
    plain, counted = lines_of(asked, path), lines_of(asked, path, analyze=True)
    assert counted[0] == f"no row of 'q': no event matches B{said}"
    assert plain[0].startswith("no row of 'q': no event matches B") and "comes to" not in plain[0]
    assert counted[1:] == plain[1:]


def test_a_funnel_says_which_knowledge_base_no_event_passes(tmp_path: Path) -> None:
    (tmp_path / "kb.nt").write_text("<http://x/other> <http://x/of> <http://x/v> .")
    text = query("A", A="{ ?s :a ?p GRAPH <http://x/kb> { ?s :of ?o } }")
    job = Job(
        [parse(text, "q")],
        {"S": stream(tmp_path / "S.trig", "1:a=1 2:a=2")},
        {"http://x/kb": tmp_path / "kb.nt"},
        RunOptions(compiled=False, analyze=True),
    )
    assert not any(job.rows())
    assert job.zero_rows()[0].endswith("matches A; 2 events come to GRAPH <http://x/kb>, and none passes")
    job.close()


def test_a_run_with_a_row_says_nothing(tmp_path: Path) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 2:b=1")
    job = Job([parse(query("A ; B")), parse(query("A ; C"))], {"S": path})
    assert [len(rows) for rows in job.rows() if rows] == [1]
    assert job.zero_rows() == []


def test_a_run_that_has_not_ended_says_nothing(tmp_path: Path) -> None:
    job = Job([parse(query("A ; B"))], {"S": stream(tmp_path / "S.trig", "1:a=1")})
    assert job.zero_rows() == []


def test_several_queries_have_a_line_each_and_five_in_all(tmp_path: Path) -> None:
    path = stream(tmp_path / "S.trig", "1:a=1 2:b=2")
    job = Job([parse(query("A ; B"), f"q{n}") for n in range(7)], {"S": path})
    assert not any(job.rows())
    lines = job.zero_rows()
    assert [line.split(":")[0] for line in lines] == [
        *(f"no row of 'q{n}'" for n in range(4)),
        "no row of 3 more queries",
    ]


def test_the_command_line_says_it_on_stderr_and_exits_with_0(tmp_path: Path) -> None:
    from click.testing import CliRunner

    (tmp_path / "q.rq").write_text(query("A ; B"), encoding="utf-8")
    path = stream(tmp_path / "S.trig", "1:a=1 50:b=1")
    done = CliRunner().invoke(main, ["run", str(tmp_path / "q.rq"), "--stream", f"S={path}", "--format", "ndjson"])
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines()[0].startswith("no row of 'q': no B that fits A lies within a sliding window")
    assert len(done.stderr.splitlines()) == 3


# --- what is kept of the events ---------------------------------------------------------------------


def slices(count: int, size: int, solutions: Sequence[int]) -> Observed:
    """Observations of a query after slices of `size` events, each of which solves the symbols named."""
    observed = Observed([[0], [0]], Unseen([], Dictionary()), {})
    at = np.arange(size, dtype=np.int64)
    none = SymbolSolutions(at[:0], {0: at[:0]})
    for number in range(count):
        tables = {s: SymbolSolutions(at, {0: at + 1}) if s in solutions else none for s in (0, 1)}
        observed.on_slice(Events(at + number * size, at * 0), tables)
    return observed


def test_a_short_stream_is_kept_as_a_whole() -> None:
    observed = slices(3, 100, (0, 1))
    assert observed.whole and len(observed.parts()) == 3
    assert (observed.events[0], observed.solutions[0]) == (300, 300)


def test_of_a_long_stream_a_bounded_part_is_kept() -> None:
    for solutions in ((0, 1), (0,)):
        observed = slices(60, 1_000, solutions)
        parts = observed.parts()
        assert not observed.whole and sum(part.size for part in parts) <= 3 * 4_096
        assert (observed.events[0], observed.solutions[0]) == (60_000, 60_000)
        times = np.concatenate([part.events.times for part in parts])
        assert (np.diff(times) == 1).all()
        assert times[0] == 0 if len(solutions) == 2 else times[-1] == 59_999


def test_one_large_slice_is_cut() -> None:
    observed = slices(1, 50_000, (0, 1))
    assert not observed.whole and sum(part.size for part in observed.parts()) < 4 * 4_096


def test_the_most_similar_names_go_by_their_local_part() -> None:
    seen = ["http://y/value", "http://x/other", "http://x/vale"]
    assert most_similar("http://x/vlaue", seen) == ("http://y/value", "http://x/vale", "http://x/other")


def test_where_nothing_is_known_nothing_is_said() -> None:
    known = ZeroRows("q", {"S": 1}, {})
    assert zero_rows_lines([known], 1)[0] == "no row of 'q': its steps have solutions, and no match has all of them"


# --- random queries ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(60))
def test_random_queries_without_rows_have_a_reason_and_a_longer_window_has_matches_where_it_says_so(
    number: int, tmp_path: Path
) -> None:
    pair = pairs.drawn(11, number)
    if pair is None:
        return
    names = [declared.name for declared in pair.query.streams]
    arrivals = {name: tuple(e[1:] for e in pair.arrived if e[0] == name) for name in names}
    for name in names:
        (tmp_path / f"{name}.trig").write_text(to_trig(arrivals[name]), encoding="utf-8")
    job = Job([build(pair.query)], {name: str(tmp_path / f"{name}.trig") for name in names})
    found = sum(len(rows) for rows in job.rows()) > 0
    lines = job.zero_rows()
    assert bool(lines) is not found and len(lines) <= 5
    whole = re.match(r"no row of 'q': no (.*) (?:that fits .* )?lies within .* window of", lines[0]) if lines else None
    if whole and pair.query.text.count("!") == 0 and "matches of" not in lines[1]:
        endless = rewindowed(pair.query.text, "100000 DAYS SLIDING")
        assert evaluate(parse(endless), arrivals)
