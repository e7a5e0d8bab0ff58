from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from automata.plan.expression import Span
from spaseq.errors import InputError, QueryError, SPAseqError, render_problems
from spaseq.lang.codes import Code
from spaseq.lang.parse import check, parse
from spaseq.lang.query_files import read_query
from spaseq.lang.report import Report
from tests.lang.texts import query_of, text_of

GOLDEN = Path(__file__).parent.parent / "golden" / "errors"
PAPER = Path(__file__).parent / "paper"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.rq")), ids=lambda path: path.stem)
def test_the_report_of_a_faulty_query_is_the_golden_one(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    query, problems = check(text, path.stem)
    report = render_problems(problems, text, path.name) + "\n"
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(report, encoding="utf-8")
    assert report == golden.read_text(encoding="utf-8")
    assert (query is None) == any(problem.severity == "error" for problem in problems)
    assert problems


@pytest.mark.parametrize("path", sorted(PAPER.glob("*.rq")), ids=lambda path: path.stem)
def test_the_queries_of_the_paper_parse_as_printed(path: Path) -> None:
    query, problems = check(path.read_text(encoding="utf-8"), path.stem)
    assert query is not None
    unbound = {"query2": 4, "query5": 3}.get(path.stem, 0)
    assert [problem.severity for problem in problems] == ["warning"] * unbound


def test_all_problems_are_reported_in_order_of_position() -> None:
    text = (
        text_of("A ; Zed{2,1}", form="SELECT ?a ?a", header="WITHIN 0 DAYS", bodies={"Zed": "?s ex:p ?z"}) + "LIMIT 0"
    )
    _, problems = check(text)
    places = [(problem.line, problem.column) for problem in problems]
    assert places == sorted(places) == [(2, 11), (4, 8), (6, 14), (8, 29), (10, 7)]


def test_a_syntax_error_in_one_gpm_hides_no_other_problem() -> None:
    _, problems = check(text_of("A ; B ; C", bodies={"A": "?s :p", "B": "?s ?p ?o FILTER(", "C": "?s ex:p ?o"}))
    assert [problem.line for problem in problems] == [8, 9, 10]


def test_an_error_says_where_and_what_and_how_to_go_on() -> None:
    with pytest.raises(QueryError) as caught:
        parse(text_of("A ; Wnd").replace("GPM Wnd", "GPM Wind"), "smart")
    error = caught.value
    assert isinstance(error, SPAseqError)
    assert (error.line, error.column, error.hint) == (7, 11, "did you mean 'Wind'?")
    assert str(error).splitlines()[:3] == [
        "smart:7:11: error[SQ018]: no DEFINE for pattern 'Wnd'",
        "    SEQ(A ; Wnd)",
        "            ^^^",
    ]
    assert all(problem.severity == "error" for problem in error.problems)


def test_warnings_do_not_stop_a_query() -> None:
    query = query_of("A", form="SELECT ?a ?nothing")
    assert [problem.message for problem in query.warnings] == ["nothing binds ?nothing; it stays unbound"]


ACCEPTED = [
    ("A ; N! ; B", {"N": "?s :p ?n FILTER(?n > ?b)"}),
    ("A ; (N ; M)! ; B", {"M": "?s :q ?m FILTER(?m > ?n)"}),
    ("N! ; A ; M!", {"N": "?s :p ?same", "M": "?s :q ?same"}),
    ("A ; N! ; B", {"B": "?s :n ?n", "A": "?s :p ?a FILTER(?n > 1)"}),
    ("A ; B+ ; C", {"C": "?s :p ?c FILTER(?c > AVG(?b) && BOUND(LAST(?b)))"}),
    ("A ; B+", {"A": "?s :p ?a FILTER(?a > MAX(?b))"}),
    ("A ; (B ; (C ; D+)!)+", {"D": "?s :p ?d FILTER(COALESCE(?d > PREV(?d), true) && ?d > FIRST(?b))"}),
    ("ALL(A, B) : C", {}),
    ("A : (B | ALL(C, D)) : E", {}),
    ("ALL(A, (B : C)+)", {"A": "?s1 :p ?a FILTER(?a < LAST(?b))"}),
    ("A ; (B | (C ; D))+ , E", {}),
    ("(A & (B | C))+", {}),
    ("A{1,1}", {}),
    ("A ; B", {"A": "?s :p ?a FILTER NOT EXISTS { ?a :q ?own }"}),
    ("A ; B", {"A": "{ SELECT ?s (COUNT(?o) AS ?a) (SUM(?x + 1) AS ?t) { ?s :p ?o ; :q ?x } GROUP BY ?s }"}),
]


@pytest.mark.parametrize(("sequence", "bodies"), ACCEPTED)
def test_what_only_resembles_a_mistake_is_accepted(sequence: str, bodies: dict[str, str]) -> None:
    assert check(text_of(sequence, bodies=bodies))[1] == ()


PARTITIONS = [
    ("A ; B", True),
    ("A ; B?", True),
    ("A ; N! ; B", True),
    ("A ; T", False),
    ("A | T", False),
    ("A ; T*", False),
]


@pytest.mark.parametrize(("sequence", "accepted"), PARTITIONS)
def test_every_positive_step_must_bind_the_partition(sequence: str, accepted: bool) -> None:
    bodies = {"N": "?other :p ?n", "T": "?t :p ?x FILTER(?s != ?x)"}
    query, problems = check(text_of(sequence, header="PARTITION BY ?s", bodies=bodies))
    assert (query is not None) is accepted
    assert [problem.column for problem in problems] == ([] if accepted else [14])


def test_a_query_file_is_named_after_its_stem(tmp_path: Path) -> None:
    path = tmp_path / "my.query.rq"
    path.write_bytes(b"\xef\xbb\xbf" + text_of("A").encode())
    assert read_query(path).name == "my.query"


def test_an_error_in_a_file_names_its_path(tmp_path: Path) -> None:
    path = tmp_path / "bad.rq"
    path.write_text(text_of("A ; A{0}"), encoding="utf-8")
    with pytest.raises(QueryError) as caught:
        read_query(path)
    assert str(caught.value).startswith(f"{path}:7:12: error[")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file"), (b"", None), (b"SELECT \xff", "byte 7 is not UTF-8"), ("d", "directory")],
)
def test_a_file_that_is_no_query_is_refused_with_its_reason(
    tmp_path: Path, content: bytes | str | None, reason: str | None
) -> None:
    path = tmp_path / "query.rq"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.mkdir()
    with pytest.raises(QueryError if reason is None else InputError) as caught:
        read_query(path)
    assert str(path) in str(caught.value)
    assert reason is None or reason in str(caught.value)


@pytest.mark.parametrize("depth", [101, 5_000])
def test_deep_nesting_is_an_error_and_not_a_crash(depth: int) -> None:
    with pytest.raises(QueryError, match="nested more than 100 deep"):
        query_of("(" * depth + "A ; B" + ")" * depth)
    with pytest.raises(QueryError):
        query_of("A", bodies={"A": "{" * depth + "?s ?p ?o" + "}" * depth})
    with pytest.raises(QueryError):
        query_of("A", form=f"SELECT ({'(' * depth}?a{')' * depth} AS ?b)")


def test_a_long_sequence_is_read() -> None:
    query = query_of(" ; ".join(f"A{index}" for index in range(300)))
    assert len(query.defines) == 300


def test_of_many_problems_the_first_fifty_are_shown_with_the_line_cut_around_the_caret() -> None:
    unused = " ".join(f"DEFINE GPM U{index} ON S1 {{ ?s :p ?u }}" for index in range(1_000))
    query = text_of("A ; Wnd").replace("GPM Wnd", "GPM Wind").replace("DEFINE GPM A", f"{unused} DEFINE GPM A")
    text = query.replace("\n", " ")
    _, problems = check(text)
    assert len(problems) > 1_000
    report = render_problems(problems, text, "q").splitlines()
    assert report[-1] == f"q: {len(problems) - 50:,} more problems are not shown"
    assert sum(line.startswith("q:1:") for line in report) == 50
    assert any("error[SQ018]: no DEFINE for pattern 'Wnd'" in line for line in report)
    echoes = [(line, report[number + 1]) for number, line in enumerate(report) if "DEFINE GPM U" in line]
    assert all(len(line) <= 2 + 160 + 2 and line[carets.index("^")] in "UW" for line, carets in echoes)
    assert len(echoes) == 50


def test_a_long_name_is_cut_in_message_and_echo() -> None:
    text = text_of(f"A ; {'Z' * 100_000}")
    _, problems = check(text)
    assert len(render_problems(problems, text, "q")) < 2_000


class Counted(int):
    """A place in a text; its comparisons are counted."""

    comparisons = 0

    def _counted(self) -> int:
        Counted.comparisons += 1
        return int(self)

    def __lt__(self, other: int) -> bool:
        return self._counted() < int(other)

    def __le__(self, other: int) -> bool:
        return self._counted() <= int(other)

    def __gt__(self, other: int) -> bool:
        return self._counted() > int(other)

    def __ge__(self, other: int) -> bool:
        return self._counted() >= int(other)


def test_the_errors_of_a_span_are_found_without_a_look_at_all_of_them() -> None:
    draw, report = random.Random(8), Report("x" * 4_000)
    errors = draw.sample(range(4_000), 500)
    for place in errors:
        report.add(Code.WITHOUT_EVENT, Span(Counted(place), place + 1), "an error")
    for _ in range(300):
        start = draw.randrange(4_000)
        span = Span(start, start + draw.choice([0, 1, 5, 100]))
        Counted.comparisons = 0
        assert report.error_within(span) == any(span.start <= place <= span.end for place in errors)
        assert Counted.comparisons < 20
