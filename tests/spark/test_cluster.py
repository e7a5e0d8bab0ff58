"""A job finds SPAseq on a cluster: as a wheel, or in a packed environment; executors are other processes.

Nothing lies beside the job, and the Python that the wheel is for has no SPAseq.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import spaseq.spark
from arrays.jit import COMPILED
from spaseq.cli import main
from spaseq.errors import InputError
from tests.spark.clusters import LOCAL_CLUSTER, spark_home, submitted
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


def test_an_unpacked_environment_runs_where_it_lies_and_finds_its_own_spaseq(tmp_path: Path) -> None:
    """The job on a standalone cluster is in long_cluster.py: it takes minutes."""
    python(tmp_path / "env", whole=True)
    with tarfile.open(packed(tmp_path / "env", tmp_path / "env.tar.gz")) as archived:
        archived.extractall(tmp_path / "driver" / "env", filter="fully_trusted")
    program = "import spaseq.runtime.spark.daemon, spaseq; print(spaseq.__file__)"
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(tmp_path / "driver" / "env" / "bin" / "python"), "-c", program]
    told = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path, check=True).stdout
    assert Path(told.strip()).is_relative_to(tmp_path / "driver" / "env")


def test_a_driver_without_the_python_of_the_archive_is_told_so(
    java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", "./env/bin/python")
    with pytest.raises(InputError, match=r"PYSPARK_PYTHON is ./env/bin/python, which the driver has not") as caught:
        spaseq.spark.require()
    assert "mkdir env && tar -xzf env.tar.gz -C env" in caught.value.hint
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    spaseq.spark.require()
