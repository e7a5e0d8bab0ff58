"""How queries are divided among shards, and why not; that it changes no row is in test_stages.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import spaseq.spark
from spaseq.algebra.build import build
from spaseq.algebra.distribution import distribution
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.runtime.spark.shard_partitioner import stable_hash

DEFINES = """DEFINE GPM A ON S1 { ?x :a ?p } DEFINE GPM B ON S1 { ?x :b ?q } DEFINE GPM C ON S1 { ?x :c ?r }
DEFINE GPM N ON S1 { ?s :n ?t }"""


def _query(sequence: str, form: str = "SELECT ?x", within: str = "60 SECONDS", more: str = "", tail: str = "") -> str:
    return f"""PREFIX : <http://ex.org/> {form} WITHIN {within} {more} FROM STREAM S1 <http://ex.org/s1>
    WHERE {{ SEQ({sequence}) {DEFINES} }} {tail}"""


@pytest.mark.parametrize(
    "text",
    [
        _query("A ; B"),
        _query("A ; B;+ ; C"),
        _query("A : (B | C)"),
        _query("A ; B? ; C"),
        _query("A ; N! ; B"),
        _query("A & B ; C"),
        _query("ALL(A, B)"),
        _query("A ; B", within="60 SECONDS SLIDING", form="SELECT DISTINCT ?x ?p"),
    ],
)
def test_a_variable_that_every_step_joins_is_the_key(text: str) -> None:
    decision = distribution(build(parse(text)))
    assert decision.key == ("x",) and not decision.whole_order, decision


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_query("A ; N"), "no variable is joined by every step"),
        (_query("A;+ ; B"), "no variable is joined by every step"),
        (_query("(A ; B);+"), "no variable is joined by every step"),
        (_query("A , B"), "the very next event"),
        (_query("A ; B+"), "the very next event"),
        (_query("A ; B", within="9 EVENTS"), "counts the events of every key"),
        (_query("A ; B", form="SELECT MAX ?x"), "selector MAX"),
        (_query("A ; B", tail="AFTER MATCH SKIP PAST LAST EVENT"), "AFTER MATCH SKIP PAST LAST EVENT"),
        (_query("A ; B", tail="LIMIT 1"), "LIMIT"),
        (_query("A ; B", form="SELECT DISTINCT ?p"), "DISTINCT"),
        (_query("A ; B", form="CONSTRUCT { ?x :is ?p }"), "CONSTRUCT"),
    ],
)
def test_what_sees_more_than_its_key_is_one_shard(text: str, reason: str) -> None:
    decision = distribution(build(parse(text)))
    assert decision.key == () and reason in decision.reason, decision


@pytest.mark.parametrize("sequence", ["A , B", "A;+ ; B", "A ; B+"])
def test_partition_by_is_always_the_key_of_a_selection(sequence: str) -> None:
    decision = distribution(build(parse(_query(sequence, more="PARTITION BY ?x", within="9 EVENTS", tail="LIMIT 2"))))
    assert decision.key == ("x",) and decision.reason == "PARTITION BY"


def test_events_without_a_solution_are_kept_only_for_what_counts_them() -> None:
    kept = {text: distribution(build(parse(_query(text)))).whole_order for text in ("A , B", "A ; N", "A ; B;+")}
    assert kept == {"A , B": True, "A ; N": False, "A ; B;+": False}


def test_explain_says_the_key_or_why_there_is_one_shard() -> None:
    explained = "q: sharded by ?x: every step joins it; in each shard"
    query = parse(_query("A ; B"), "q")
    assert spaseq.spark.explain(query) == f"{explained} complex event automata with tECS"
    assert spaseq.spark.explain(query, compiled=False) == f"{explained} run-based NFA^scep"


def test_the_hash_of_a_key_is_the_same_in_every_process() -> None:
    assert stable_hash([b"<http://ex.org/x>", b'"1"']) == 1310780097


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="needs Java 17 or newer, and there is no java on the PATH") as caught:
        spaseq.spark.require()
    assert "openjdk-17-jre-headless" in str(caught.value.hint)


def test_everything_but_the_spark_runtime_imports_without_pyspark() -> None:
    program = """
import sys
sys.modules.update({name: None for name in ("pyspark", "pandas", "pyarrow", "confluent_kafka")})
import spaseq.cli, spaseq.engine, spaseq.spark
try:
    spaseq.spark.require()
except spaseq.InputError as error:
    print(error.hint)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert 'pip install "spaseq[spark]"' in ran.stdout, ran.stderr


def test_the_runtime_is_an_attribute_of_the_package_and_pyspark_is_imported_when_it_is_used() -> None:
    program = "import sys, spaseq; spaseq.spark.run; print('pyspark' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.split() == ["False"]
