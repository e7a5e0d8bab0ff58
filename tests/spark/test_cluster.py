"""A packed environment finds its own SPAseq, and a driver without one is told so; long_cluster.py has the jobs."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import spaseq.spark
from spaseq.errors import InputError
from tests.spark.packages import packed, python


def test_an_unpacked_environment_runs_where_it_lies_and_finds_its_own_spaseq(tmp_path: Path) -> None:
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
