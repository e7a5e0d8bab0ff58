"""The papers' examples by name, through the reference and through the command line.

Where a paper's printed table contradicts its own definitions the comment says so; the definitions win.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.paper_examples import Example, Told, of_types, typed

POWER = ("S1", "?h :pow ?p . ?h :loc ?l")
WEATHER = ("S2", "?w :value ?v . ?w :loc ?l")
HPL = ("h", "p", "l")
ALL_FIVE = ("h", "p", "l", "w", "v")


def house(number: int, second: float, location: int) -> tuple[str, float, str]:
    return f"p{number}", second, f":H{number} :pow :Pw{number} ; :loc :L{location}"


def weather(name: str, second: float, station: int, location: int) -> tuple[str, float, str]:
    return name, second, f":W{station} :value :Vl{station} ; :loc :L{location}"


# G Examples 4 and 5: power at 10 and 25, weather at 10 and 20
CONCURRENT: dict[str, Told] = {
    "S1": [house(1, 10, 1), house(2, 25, 2)],
    "S2": [weather("w1", 10, 1, 1), weather("w2", 20, 2, 1)],
}
# G Example 6: power at 10 and 15 in L1, weather at 15 in L2, at 20 and 25 in L1
NEIGHBOURS: dict[str, Told] = {
    "S1": [house(1, 10, 1), house(2, 15, 1)],
    "S2": [weather("w1", 15, 1, 2), weather("w2", 20, 1, 1), weather("w3", 25, 2, 1)],
}
# G Example 11: two pairs, 10 and 15, 25 and 40
PAIRS: dict[str, Told] = {
    "S1": [house(1, 10, 1), house(2, 25, 2)],
    "S2": [weather("w1", 15, 1, 1), weather("w2", 40, 2, 2)],
}
TWO = {"A": POWER, "B": WEATHER}
FIGURE_1 = {"S1": typed("a1 b1 c1 a2 a3 b2 c2")}

# B Figure 1: (type, sensor, value) at positions 0..8
CEL_STREAM: dict[str, Told] = {
    "S1": [
        (f"e{position}", position, f"[] a :{kind} ; :id {sensor} ; :val {value}")
        for position, (kind, sensor, value) in enumerate(
            [
                *(("H", 2, 25), ("T", 0, 45), ("H", 0, 20), ("H", 1, 25), ("T", 1, 40)),
                *(("T", 0, 42), ("T", 1, 25), ("H", 1, 70), ("H", 0, 18)),
            ]
        )
    ]
}
PHI_1 = {
    "X": ("S1", "[] a :T ; :id 0 ; :val ?x FILTER(?x > 40)"),
    "Y": ("S1", "[] a :H ; :id 0 ; :val ?y FILTER(?y <= 25)"),
}
PHI_2 = PHI_1 | {"V": PHI_1["Y"], "U": PHI_1["X"]}
PHI_3 = {
    "X": ("S1", "[] a :H ; :id 1 ; :val ?x FILTER(?x < 30)"),
    "Y": ("S1", "[] a :T ; :id 1 ; :val ?y"),
    "Z": ("S1", "[] a :H ; :id 1 ; :val ?z FILTER(?z > 60)"),
}
# A Table 1: (type, id, value) at positions 0..5
RMA_STREAM: dict[str, Told] = {
    "S1": [
        (f"e{position}", position, f"[] a :{kind} ; :id {sensor} ; :val {value}")
        for position, (kind, sensor, value) in enumerate(
            [("T", 1, 22), ("T", 1, 24), ("T", 2, 32), ("H", 1, 70), ("H", 1, 68), ("T", 2, 33)]
        )
    ]
}
T_THEN_H = {"X": ("S1", "[] a :T ; :id ?i"), "Y": ("S1", "[] a :H ; :id ?i")}


def phi_1(selector: str) -> Example:
    return Example("X : Y", PHI_1, CEL_STREAM, selector=selector)


def phi_3(selector: str) -> Example:
    return Example("X : Y:+ : Z", PHI_3, CEL_STREAM, selector=selector)


EXAMPLES: dict[str, tuple[Example, list[str]]] = {
    "G Example 3: a GPM alone": (
        Example("A", {"A": POWER}, {"S1": [house(1, 10, 1), house(2, 15, 2)]}, HPL),
        ["A=p1 h=H1 p=Pw1 l=L1", "A=p2 h=H2 p=Pw2 l=L2"],
    ),
    "G Example 4: conjunction at one time": (
        Example("A & B", TWO, CONCURRENT, ALL_FIVE),
        ["A=p1 B=w1 h=H1 p=Pw1 l=L1 w=W1 v=Vl1"],
    ),
    # the paper's table has one more row at 15, where no event is
    "G Example 5: disjunction": (
        Example("A | B", TWO, CONCURRENT, ALL_FIVE),
        ["A=p1 h=H1 p=Pw1 l=L1", "A=p2 h=H2 p=Pw2 l=L2", "B=w1 l=L1 w=W1 v=Vl1", "B=w2 l=L1 w=W2 v=Vl2"],
    ),
    # the paper's last row names W1 and Vl1; the event at 25 is W2's
    "G Example 6: skip-till-any": (
        Example("A : B", TWO, NEIGHBOURS, ("h", "w")),
        ["A=p1 B=w2 h=H1 w=W1", "A=p1 B=w3 h=H1 w=W2", "A=p2 B=w2 h=H2 w=W1", "A=p2 B=w3 h=H2 w=W2"],
    ),
    "G Example 7: skip-till-next": (
        Example("A ; B", TWO, NEIGHBOURS, ("h", "w")),
        ["A=p1 B=w2 h=H1 w=W1", "A=p2 B=w2 h=H2 w=W1"],
    ),
    "G Example 8: strict contiguity": (
        Example("A , B", TWO, NEIGHBOURS, ("h", "w")),
        ["A=p2 B=w2 h=H2 w=W1"],
    ),
    "G Example 9: Kleene+ after a step, ?w and ?v afresh at each iteration": (
        Example(
            "A ; B+", TWO, {"S1": PAIRS["S1"], "S2": [weather("w1", 15, 1, 1), weather("w2", 20, 2, 1)]}, ("h", "w")
        ),
        ["A=p1 B=w1 h=H1 w=W1", "A=p1 B=w1,w2 h=H1 w=W2"],
    ),
    "G Example 10: GRAPH joins background knowledge": (
        Example(
            "A",
            {"A": ("S1", "?h :pow ?p . GRAPH <http://ex.org/db> { ?h :owner ?n ; :address ?a }")},
            {"S1": [house(1, 10, 1), house(3, 15, 1)]},
            ("h", "n", "a"),
            kb=":H1 :owner :john ; :address :paris . :H2 :owner :smith .",
        ),
        ["A=p1 h=H1 n=john a=paris"],
    ),
    "G Example 11: tumbling windows from the epoch": (
        Example("A ; B", TWO, PAIRS, ("h", "w"), window="50 SECONDS"),
        ["A=p1 B=w1 h=H1 w=W1", "A=p2 B=w2 h=H2 w=W2"],
    ),
    # the paper prints the first pair, which lies before the first window of its Definition 16
    "G Example 11: tumbling windows from 20": (
        Example("A ; B", TWO, PAIRS, ("h", "w"), window='50 SECONDS STARTING AT "2026-01-01T00:00:20Z"'),
        ["A=p2 B=w2 h=H2 w=W2"],
    ),
    # the paper's table omits a1 b1 c2, which Definition 10 admits
    "G Figure 1: skip-till-any": (
        Example("A : B : C", of_types("ABC"), FIGURE_1),
        ["A=a1 B=b1 C=c1", "A=a1 B=b1 C=c2", "A=a1 B=b2 C=c2", "A=a2 B=b2 C=c2", "A=a3 B=b2 C=c2"],
    ),
    "G Figure 1: skip-till-next": (
        Example("A ; B ; C", of_types("ABC"), FIGURE_1),
        ["A=a1 B=b1 C=c1", "A=a2 B=b2 C=c2", "A=a3 B=b2 C=c2"],
    ),
    # the paper's table omits a3 b2 c2, which follow each other without a gap
    "G Figure 1: strict contiguity": (
        Example("A , B , C", of_types("ABC"), FIGURE_1),
        ["A=a1 B=b1 C=c1", "A=a3 B=b2 C=c2"],
    ),
    # the paper lets a run skip from A to the second B, which its Definition 12 forbids
    "G Figure 23 and Example 14: A , B+ , C": (
        Example("A , B+ , C", of_types("ABC"), {"S1": typed("a1 b1 c1 b2 c2")}),
        ["A=a1 B=b1 C=c1"],
    ),
    "B φ1 under ALL": (phi_1("ALL"), ["X=e1 Y=e2", "X=e1 Y=e8", "X=e5 Y=e8"]),
    "B φ1 under STRICT": (phi_1("STRICT"), ["X=e1 Y=e2"]),
    "B φ1 under NEXT": (phi_1("NEXT"), ["X=e1 Y=e2", "X=e1 Y=e8"]),
    "B φ1 under LAST": (phi_1("LAST"), ["X=e1 Y=e2", "X=e5 Y=e8"]),
    "B φ1 under MAX": (phi_1("MAX"), ["X=e1 Y=e2", "X=e1 Y=e8", "X=e5 Y=e8"]),
    "B φ2: either order": (
        Example("((X : Y) | (V : U))", PHI_2, CEL_STREAM),
        ["V=e2 U=e5", "X=e1 Y=e2", "X=e1 Y=e8", "X=e5 Y=e8"],
    ),
    "B φ3 under ALL": (phi_3("ALL"), ["X=e3 Y=e4 Z=e7", "X=e3 Y=e4,e6 Z=e7", "X=e3 Y=e6 Z=e7"]),
    "B φ3 under NEXT": (phi_3("NEXT"), ["X=e3 Y=e4,e6 Z=e7"]),
    "B φ3 under LAST": (phi_3("LAST"), ["X=e3 Y=e4,e6 Z=e7"]),
    "B φ3 under MAX": (phi_3("MAX"), ["X=e3 Y=e4,e6 Z=e7"]),
    # the text says only {2,3} goes with the equality; {2,4} pairs two sensors as well
    "A Expression 1: T then H of one sensor": (
        Example("X : Y", T_THEN_H, RMA_STREAM, ("i",)),
        ["X=e0 Y=e3 i=1", "X=e0 Y=e4 i=1", "X=e1 Y=e3 i=1", "X=e1 Y=e4 i=1"],
    ),
    "A Expression 1 without the equality": (
        Example("X : Y", {"X": ("S1", "[] a :T"), "Y": ("S1", "[] a :H")}, RMA_STREAM),
        [f"X=e{x} Y=e{y}" for x in (0, 1, 2) for y in (3, 4)],
    ),
    "A Definition 6.4: a window of three positions": (
        Example("X : Y", T_THEN_H, RMA_STREAM, ("i",), window="3 EVENTS SLIDING"),
        ["X=e1 Y=e3 i=1"],
    ),
    "K 4.2: conjunction in any order": (
        Example("ALL(A, B, C)", of_types("ABC"), {"S1": typed("b1 a1 c1 a2")}),
        ["A=a1 B=b1 C=c1", "A=a2 B=b1 C=c1"],
    ),
    "K 4.3: partial sequences in any order": (
        Example("ALL(SEQ(A : B), SEQ(C : D), E)", of_types("ABCDE"), {"S1": typed("b0 c1 a1 e1 b1 d1 b2")}),
        ["A=a1 B=b1 C=c1 D=d1 E=e1", "A=a1 B=b2 C=c1 D=d1 E=e1"],
    ),
    "K 4.4: a negated event compared with a later one": (
        Example(
            "A : B! : C : D",
            of_types("AD") | {"B": ("S1", "[] a :B ; :x ?x FILTER(?x < ?y)"), "C": ("S1", "[] a :C ; :y ?y")},
            {
                "S1": [
                    *(("a1", 1, "[] a :A"), ("b1", 2, "[] a :B ; :x 5"), ("c1", 3, "[] a :C ; :y 4")),
                    *(("c2", 4, "[] a :C ; :y 9"), ("d1", 5, "[] a :D")),
                ]
            },
            ("y",),
        ),
        ["A=a1 C=c1 D=d1 y=4"],
    ),
    "K 4.4.1: a negated event at the end": (
        Example("A : B : C!", of_types("ABC"), {"S1": typed("a1 b1 c1 b2")}, window="100 SECONDS"),
        ["A=a1 B=b2"],
    ),
    "K 4.5.2: an aggregate over iterations compared with a later event": (
        Example(
            "A : B:+ : C",
            {
                "A": ("S1", "[] a :A"),
                "B": ("S1", "[] a :B ; :x ?x"),
                "C": ("S1", "[] a :C ; :y ?y FILTER(AVG(?x) < ?y)"),
            },
            {
                "S1": [
                    *(("a1", 1, "[] a :A"), ("b1", 2, "[] a :B ; :x 1"), ("b2", 3, "[] a :B ; :x 5")),
                    *(("b3", 4, "[] a :B ; :x 9"), ("c1", 5, "[] a :C ; :y 4")),
                ]
            },
        ),
        ["A=a1 B=b1 C=c1", "A=a1 B=b1,b2 C=c1"],
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_reference_gives_the_paper_s_matches(name: str, tmp_path: Path) -> None:
    example, expected = EXAMPLES[name]
    assert example.by_reference(tmp_path) == sorted(expected)


@pytest.mark.parametrize("evaluator", ["auto", "nfa"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_command_line_gives_the_paper_s_matches(name: str, evaluator: str, tmp_path: Path) -> None:
    example, expected = EXAMPLES[name]
    assert example.by_command_line(tmp_path, evaluator) == sorted(expected)
