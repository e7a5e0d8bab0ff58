"""Prepared files made from many small runs: the columns that the definition of the format says, and bounded memory."""

from __future__ import annotations

import itertools
import tracemalloc
from pathlib import Path
from random import Random

import numpy as np
import pytest

from kb import prepared_build, prepared_merge
from kb.errors import KnowledgeBaseError
from kb.prepared_build import build
from kb.prepared_file import PreparedFile, hash_of
from sparql_gpm.numeric import float64
from sparql_gpm.term_text import term_of

PREDICATES = ("<http://x/p>", "<http://x/q>", "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>")
OBJECTS = ('"14.0"^^<http://www.w3.org/2001/XMLSchema#double>', '""', '"é"@en', '"a \\"b\\"\\\\"', f'"{"long" * 60}"')


def some_triples(dice: Random, size: int) -> list[tuple[str, str, str]]:
    nodes = [f"<http://x/{number}>" for number in range(dice.randint(1, 40))] + ["_:b1", "_:b2"]
    objects = [*nodes, *OBJECTS, *(f'"{number}"' for number in range(20))]
    return [(dice.choice(nodes), dice.choice(PREDICATES), dice.choice(objects)) for _ in range(size)]


def written(folder: Path, dice: Random) -> set[tuple[str, ...]]:
    """Up to three files in a folder, and the triples that they state, with the labels of a first reading."""
    stated = set()
    for number in range(dice.randint(1, 3)):
        triples = some_triples(dice, dice.choice([0, 1, 60]))
        (folder / f"{number}.nt").write_text("".join(f"{' '.join(triple)} .\n" for triple in triples), encoding="utf-8")
        stated |= {tuple(node.replace("_:", f"_:kb{number}x") for node in triple) for triple in triples}
    return stated


def columns_of(stated: set[tuple[str, ...]], weak_hash: bool) -> dict[str, list[object]]:
    """The columns of a prepared file, by the text of its format."""
    texts = {term.encode() for triple in stated for term in triple}
    hash_for = weak if weak_hash else hash_of
    terms = sorted(texts, key=lambda text: (hash_for(text), text))
    ids = {text: number for number, text in enumerate(terms, start=1)}
    rows = sorted((ids[p.encode()], ids[s.encode()], ids[o.encode()]) for s, p, o in stated)
    columns: dict[str, list[object]] = {
        "texts": list(b"".join(terms)),
        "offsets": [0, *itertools.accumulate(map(len, terms))],
        "hashes": [hash_for(text) for text in terms],
        "numbers": [float("nan"), *(float64(term_of(text)) for text in terms)],
    }
    return columns | {name: [row[n] for row in rows] for n, name in enumerate(("predicates", "subjects", "objects"))}


def weak(text: bytes) -> int:
    return hash_of(text) % 3


@pytest.mark.parametrize("seed", range(60))
def test_any_division_into_runs_and_parts_gives_the_file_of_the_format(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = Random(seed)
    weak_hash = dice.random() < 0.3
    if weak_hash:
        monkeypatch.setattr(prepared_merge, "hash_of", weak)
    monkeypatch.setattr(prepared_build, "_QUADS_AT_ONCE", dice.choice([1, 7, 1024]))
    monkeypatch.setattr(prepared_build, "RUN_BYTES_MAX", dice.choice([0, 3_000, 1 << 20]))
    monkeypatch.setattr(prepared_merge, "_SAMPLE_BYTES", dice.choice([24, 100, 1 << 16]))
    monkeypatch.setattr(prepared_merge, "PART_BYTES_MAX", dice.choice([0, 1_000, 1 << 20]))
    (tmp_path / "in").mkdir()
    stated = written(tmp_path / "in", dice)
    expected = columns_of(stated, weak_hash)
    counted = build([str(tmp_path / "in")], tmp_path / "out.kb")
    assert counted == (len(stated), len(expected["hashes"]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out.kb"]
    found = PreparedFile(tmp_path / "out.kb")
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], np.array(column, dtype=found[name].dtype), name)


def test_memory_does_not_grow_with_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_build, "RUN_BYTES_MAX", 100_000)
    monkeypatch.setattr(prepared_build, "_QUADS_AT_ONCE", 64)
    monkeypatch.setattr(prepared_merge, "PART_BYTES_MAX", 100_000)
    monkeypatch.setattr(prepared_merge, "_SAMPLE_BYTES", 1_000)
    peaks = []
    for size in (1_000, 8_000):
        lines = (f'<http://x/s{number}> <http://x/p> "{number}" .\n' for number in range(size))
        (tmp_path / "kb.nt").write_text("".join(lines), encoding="utf-8")
        tracemalloc.start()
        build([str(tmp_path / "kb.nt")], tmp_path / "kb.kb")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0], peaks


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "kb.nt").write_text("<http://x/s> <http://x/p> <http://x/o> .\n", encoding="utf-8")
    with pytest.raises(KnowledgeBaseError, match="absent: No such file or directory") as caught:
        build([str(tmp_path / "kb.nt")], tmp_path / "absent" / "kb.kb")
    assert caught.value.hint == "it could not be written"
