"""Windows longer than the times of events: sums of times and windows saturate in every evaluator."""

from __future__ import annotations

from pathlib import Path

import pytest

import spaseq

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
EX = "http://ex.org/"
YEARS = ("1900", "2026", "2260")
WINDOWS = ("90000 DAYS SLIDING", "106751 DAYS SLIDING", "106750 DAYS", f"{2**63 - 1} EVENTS SLIDING")
EVALUATORS = ("auto", "nfa", "lazy", "tree", "adaptive", "cea")


def events(kinds: str) -> str:
    return "".join(
        f'<urn:e{n}> <{STAMP}> "{year}-01-01T00:00:0{n}Z"^^<{DATE_TIME}> .\n'
        f"<urn:n{n}> <{TYPE}> <{EX}{kind}> <urn:e{n}> .\n"
        for n, (year, kind) in enumerate(zip(YEARS, kinds, strict=False))
    )


def rows(folder: Path, sequence: str, window: str, evaluator: str, batch: int, kinds: str) -> int:
    path = folder / "events.nq"
    path.write_text(events(kinds))
    defines = " ".join(f"DEFINE GPM {name} ON S {{ ?{name} a :{name} }}" for name in "ABC" if name in sequence)
    query = spaseq.parse(
        f"PREFIX : <{EX}> SELECT * WITHIN {window} FROM STREAM S <{EX}s> WHERE {{ SEQ({sequence}) {defines} }}"
    )
    options = {"evaluator": evaluator, "batch_events": batch, "compiled": evaluator in ("auto", "cea")}
    return len(list(spaseq.run(query, {"S": path}, **options)))


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(
    "window", ["90000 DAYS SLIDING", "106751 DAYS SLIDING", "106750 DAYS", f"{2**63 - 1} EVENTS SLIDING"]
)
def test_a_window_that_ends_after_all_times_holds_all_events(
    tmp_path: Path, window: str, evaluator: str, batch: int
) -> None:
    assert rows(tmp_path, "A : B", window, evaluator, batch, "CAB") == 1


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("evaluator", [name for name in EVALUATORS if name != "cea"])
@pytest.mark.parametrize(
    ("sequence", "kinds", "found"),
    [
        ("A : B!", "CAC", 1), ("A : B!", "CAB", 0), ("B! : A", "BCA", 1), ("B! : A", "CBA", 0), ("ALL(A, B)", "CBA", 1),
        ("A : C : B!", "ACC", 1), ("A : B:+", "CAB", 1),
    ],
)  # fmt: skip
def test_negations_and_all_look_at_the_whole_of_such_a_window(
    tmp_path: Path, evaluator: str, batch: int, sequence: str, kinds: str, found: int
) -> None:
    assert rows(tmp_path, sequence, "90000 DAYS SLIDING", evaluator, batch, kinds) == found
