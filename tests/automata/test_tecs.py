"""tECS: what its operations mean, and what always holds of it (C Sections 4.1-4.2)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from automata.cea.enumeration import (
    DONE,
    FOUND,
    OUTPUT_FULL,
    WORK_FULL,
    WRITTEN,
    Found,
    deeper,
    enumerate_roots,
    new_found,
    new_work,
)
from automata.cea.tecs import (
    DEPTH_MAX,
    HEAD,
    LEFT,
    RIGHT,
    TAIL,
    TOP,
    Arena,
    extend,
    grown,
    insert,
    is_safe,
    merge,
    new_arena,
    new_bottom,
    output_depth,
    part,
    top_of,
)

Open = tuple[int, tuple[int, ...]]
"""(start, labels)."""


def enumerated(arena: Arena, node: int, low: int = 0, limit: int = 1 << 30) -> list[tuple[int, ...]]:
    """The labels of what is under a node, in the order of enumeration."""
    return taken_away(arena, node, low, limit, new_found(1 << 14, 1 << 12))


def taken_away(arena: Arena, node: int, low: int, limit: int, found: Found) -> list[tuple[int, ...]]:
    """The same, taken away whenever `found` is full, or the work has to become deeper."""
    work, progress, status = new_work(1), np.zeros(3, dtype=np.int64), OUTPUT_FULL
    taken: list[tuple[int, ...]] = []
    while status != DONE:
        status = enumerate_roots(arena, np.array([node]), np.array([low]), limit, work, found, progress)
        ends = found.ends[: progress[FOUND]].tolist()
        taken += [tuple(found.labels[a:b].tolist()) for a, b in zip([0, *ends], ends, strict=False)]
        progress[FOUND] = progress[WRITTEN] = 0
        if status == WORK_FULL:
            work = deeper(work)
    return taken


def check(arena: Arena) -> None:
    """Time-ordered and 3-bounded, every node of it."""
    for node in range(int(arena.marks[TAIL]), int(arena.marks[HEAD])):
        assert output_depth(arena, node) <= DEPTH_MAX
        if part(arena, node, RIGHT) >= 0:
            left, right = part(arena, node, LEFT), part(arena, node, RIGHT)
            assert top_of(arena, left) >= top_of(arena, right)
            assert part(arena, node, TOP) == top_of(arena, left)


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[int, list[tuple[int, int]]]]:
    """For each event a start moment (they never fall) and the moves of Algorithm 1 between a few states."""
    steps, start = [], 0
    for _ in range(draw(st.integers(1, 14))):
        start += draw(st.integers(0, 2))
        steps.append((start, draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=5, unique=True))))
    return steps


def play(script: list[tuple[int, list[tuple[int, int]]]], arena: Arena) -> tuple[Arena, list[tuple[int, set[Open]]]]:
    """Algorithm 1 with any marking moves: every event marks along the moves drawn; all states skip to themselves.

    Gives the merged node of each state at the end, and what must be under it.
    """
    lists = np.zeros((4, 64), dtype=np.int64)
    active: dict[int, tuple[list[int], set[Open]]] = {}
    for label, (start, moves) in enumerate(script):
        if len(arena.nodes) - int(arena.marks[HEAD] - arena.marks[TAIL]) < 256:
            arena = grown(arena)
        fresh: dict[int, tuple[list[int], set[Open]]] = {}
        for state in [0, *active]:
            nodes, meant = active.get(state, ([new_bottom(arena, start)], {(start, ())}))
            lists[0, : len(nodes)] = nodes
            node = merge(arena, lists, 0, len(nodes))
            # one target at most: from one state to two, a complex event could come together again, twice
            for target in [t for s, t in moves if s == state][:1]:
                marked = {(begun, (*labels, label)) for begun, labels in meant}
                put(arena, fresh, target, [extend(arena, node, label)], marked)
            if state:
                put(arena, fresh, state, nodes, meant, node)
        active = fresh
    merged = []
    for nodes, meant in active.values():
        lists[0, : len(nodes)] = nodes
        merged.append((merge(arena, lists, 0, len(nodes)), meant))
    return arena, merged


def put(
    arena: Arena,
    table: dict[int, tuple[list[int], set[Open]]],
    state: int,
    nodes: list[int],
    meant: set[Open],
    node: int | None = None,
) -> None:
    """Add of C's Algorithm 1."""
    if state not in table:
        table[state] = (list(nodes), set(meant))
        return
    row = np.zeros((1, 64), dtype=np.int64)
    known, before = table[state]
    row[0, : len(known)] = known
    size = insert(arena, row, 0, len(known), nodes[0] if node is None else node)
    table[state] = (row[0, :size].tolist(), before | meant)


@given(scripts())
def test_a_node_enumerates_what_was_put_under_it_each_once(script: list[tuple[int, list[tuple[int, int]]]]) -> None:
    arena, merged = play(script, new_arena(512))
    for node, meant in merged:
        found = enumerated(arena, node)
        assert sorted(found) == sorted(labels for _, labels in meant)
        assert len(set(found)) == len(found)
        assert taken_away(arena, node, 0, 1 << 30, new_found(len(script), 1)) == found
        assert taken_away(arena, node, 0, 3, new_found(2 * len(script), 2)) == found[:3]


@given(scripts())
def test_every_node_is_time_ordered_and_three_bounded_and_merged_ones_are_safe(
    script: list[tuple[int, list[tuple[int, int]]]],
) -> None:
    arena, merged = play(script, new_arena(512))
    check(arena)
    for node, meant in merged:
        assert is_safe(arena, node)
        assert top_of(arena, node) == max(start for start, _ in meant)


@given(scripts(), st.integers(0, 20))
def test_enumeration_stops_at_the_window(script: list[tuple[int, list[tuple[int, int]]]], low: int) -> None:
    arena, merged = play(script, new_arena(512))
    for node, meant in merged:
        if top_of(arena, node) >= low:
            inside = sorted(labels for start, labels in meant if start >= low)
            assert sorted(enumerated(arena, node, low)) == inside


@given(scripts(), st.integers(1, 3))
def test_a_limit_stops_enumeration(script: list[tuple[int, list[tuple[int, int]]]], limit: int) -> None:
    arena, merged = play(script, new_arena(512))
    for node, meant in merged:
        assert len(enumerated(arena, node, limit=limit)) == min(limit, len(meant))


def test_a_larger_arena_holds_the_same_nodes() -> None:
    arena = new_arena(4)
    node = extend(arena, new_bottom(arena, 7), 3)
    arena.marks[TAIL] = 1
    larger = grown(arena)
    assert [part(larger, node, column) for column in range(4)] == [part(arena, node, column) for column in range(4)]
