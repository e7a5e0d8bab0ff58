"""A job finds SPAseq on a cluster: as a wheel, or in a packed environment; executors are other processes.

Nothing lies beside the job, and the Python that the wheel is for has no SPAseq. Some minutes, so `make thorough` runs
it, and `make test` does not:

    HYPOTHESIS_PROFILE=thorough python -m pytest tests/spark/long_cluster.py
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from arrays.jit import COMPILED
from spaseq.cli import main
from tests.spark.clusters import LOCAL_CLUSTER, spark_home, standalone, submitted
from tests.spark.packages import archive, packed, python
from tests.spark.test_submit import QUERY, rows, stream

PROBE = """    found = spark.sparkContext.range(4, numSlices=4).map(lambda _: __import__("spaseq").__file__).collect()
    print("executors import", *sorted(set(found)))
    spark.stop()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a job, and with all that it needs but SPAseq."""
    (tmp_path / "pairs.rq").write_text(QUERY, encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.nq").write_text(stream(60), encoding="utf-8")
    options = [f"--stream=S1={tmp_path / 'in'}", f"--output={tmp_path / 'out'}", "--shards=2", "--end-of-stream"]
    main(["submit", str(tmp_path / "pairs.rq"), *options, f"--job={tmp_path / 'job.py'}"], standalone_mode=False)
    job = (tmp_path / "job.py").read_text(encoding="utf-8")
    assert job.count("    spark.stop()\n") == 1 and "'compiled': False" in job
    changed = job.replace("    spark.stop()\n", PROBE).replace("'compiled': False", f"'compiled': {COMPILED}")
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "job.py").write_text(changed, encoding="utf-8")
    return tmp_path


def check(folder: Path) -> None:
    """The job has written what the embedded runtime finds."""
    embedded = str(folder / "embedded.ndjson")
    options = [f"--stream=S1={folder / 'in'}", "--format=ndjson", f"--output={embedded}"]
    main(["run", str(folder / "pairs.rq"), *options], standalone_mode=False)
    expected = rows(Path(embedded).read_text(encoding="utf-8"))
    written = (path.read_text(encoding="utf-8") for path in (folder / "out").glob("batch-*.ndjson"))
    assert rows("".join(written)) == expected and expected.total() == 30


@pytest.mark.parametrize("name", ["spaseq-0.1.0-py3-none-any.whl"])
def test_a_wheel_by_py_files_runs_where_python_has_no_spaseq(java: None, folder: Path, name: str) -> None:
    interpreter, home = python(folder / "bare", whole=False), spark_home(folder)
    arguments = ["--master", LOCAL_CLUSTER, "--py-files", str(archive(folder / name)), "job.py"]
    done = submitted(home, interpreter, arguments, folder / "driver", HOME=str(folder))
    check(folder)
    (found,) = [line for line in done.lines if line.startswith("executors import")]
    places = [Path(place) for place in found.split()[2:]]
    assert places and {place.parent.parent.name for place in places} == {name}


def test_a_packed_environment_by_archives_runs_and_brings_its_kernels(java: None, folder: Path) -> None:
    main(["warm"], standalone_mode=False)
    python(folder / "env", whole=True)
    path = packed(folder / "env", folder / "env.tar.gz")
    with tarfile.open(path) as archived:  # as YARN and Kubernetes do for a driver that they start, else a user
        archived.extractall(folder / "driver" / "env", filter="fully_trusted")
    arguments = ["--archives", f"{path}#env", "--conf", "spark.python.daemon.module=spaseq.runtime.spark.daemon"]
    settings = {"HOME": str(folder), "NUMBA_DEBUG_CACHE": "1"}
    with standalone(folder / "cluster", **settings) as cluster:
        arguments += ["--master", cluster.url, "job.py"]
        done = submitted(cluster.home, Path("./env/bin/python"), arguments, folder / "driver", **settings)
        check(folder)
    (found,) = [line for line in done.lines if line.startswith("executors import")]
    assert all(Path(place).is_relative_to(folder / "cluster" / "work") for place in found.split()[2:]), found
    told = "".join(path.read_text(errors="replace") for path in (folder / "cluster" / "work").rglob("stderr"))
    assert not COMPILED or "[cache] data loaded from" in told
    assert "[cache] data saved to" not in told
