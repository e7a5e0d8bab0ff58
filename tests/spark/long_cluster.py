"""A packed environment on a standalone cluster: some minutes, so `make thorough` runs it, and `make test` does not.

python -m pytest tests/spark/long_cluster.py
"""

from __future__ import annotations

import tarfile
from pathlib import Path

from arrays.jit import COMPILED
from spaseq.cli import main
from tests.spark.clusters import standalone, submitted
from tests.spark.packages import packed, python
from tests.spark.test_cluster import check, folder

__all__ = ["folder"]


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
