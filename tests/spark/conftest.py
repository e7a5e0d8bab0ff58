"""One Spark session for the whole run of pytest: starting one takes ten seconds."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_SPARK = ("conftest.py", "test_stages.py", "test_distribution.py")
"""What needs no Java."""
BUSY = "Python worker failed to connect back"
"""Spark gives a worker ten seconds to start, which a busy machine may not have: such a job is started again."""
STARTS_MAX = 5

if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    print("there is no Java here: what needs a Spark session is not tested", file=sys.stderr)
    collect_ignore = [path.name for path in Path(__file__).parent.glob("*.py") if path.name not in WITHOUT_SPARK]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A local session with two threads and two shuffle partitions, set as the command line sets its own."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    from pyspark.sql import SparkSession

    from spaseq.runtime.spark.session import LOCAL_SETTINGS, SETTINGS

    own = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark") / "warehouse"),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in {**SETTINGS, **LOCAL_SETTINGS, **own}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the session comes first: `--dist worksteal` steals from the end, so one worker alone starts a JVM.

    A test of a job that has found the machine busy is run again.
    """
    for item in items:
        if item.path.parent == Path(__file__).parent or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=STARTS_MAX - 1, only_rerun=BUSY))
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def java() -> None:
    """For tests whose Spark runs in processes of their own: where there is no Java, they are not collected."""
    assert shutil.which("java") is not None or "JAVA_HOME" in os.environ
