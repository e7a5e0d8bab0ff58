"""Spark with executors in other processes, on this machine alone: `local-cluster`, and a standalone master."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from tests.spark.conftest import BUSY, STARTS_MAX
from tests.waiting import waited

LOCAL_CLUSTER = "local-cluster[2,1,1024]"
"""Two workers of one core and 1024 MB each, in the driver's JVM; each executor is a process."""
QUICK = "-XX:TieredStopAtLevel=1"
"""For a JVM whose short life does not pay for more compiling."""
_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"


def spark_home(folder: Path) -> Path:
    """pip's Spark as a folder that can be written: local-cluster puts the folders of its executors there.

    pyspark is a folder in place of its archive, of which each new process would compile every module that it imports.
    """
    home, spark = folder / "spark", Path(pyspark.__file__).parent
    library = home / "python" / "lib"
    (library / "pyspark.zip").mkdir(parents=True)
    (library / "pyspark.zip" / "pyspark").symlink_to(spark)
    for path in (spark / "python" / "lib").glob("py4j*.zip"):
        (library / path.name).symlink_to(path)
    for name in ("bin", "jars"):
        (home / name).symlink_to(spark / name)
    return home


@dataclass(slots=True)
class Standalone:
    """A master and a worker, each a process of its own; both on loopback.

    settings    of the environment; the worker hands them to its executors
    """

    folder: Path
    home: Path
    settings: Mapping[str, str]
    url: str = ""
    master: subprocess.Popen[bytes] | None = None
    worker: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start both."""
        arguments = ["master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self.master, told = self._started("master", arguments, _URL.pattern)
        found = _URL.search(told)
        assert found is not None
        self.url = found[1]
        self.start_worker()

    def start_worker(self) -> None:
        """Start a worker of two cores; one that has been killed is replaced so."""
        arguments = ["worker.Worker", "--host", "127.0.0.1", "--cores", "2", "--memory", "2g", "--webui-port", "0"]
        arguments += ["--work-dir", str(self.folder / "work"), self.url]
        self.worker, _ = self._started("worker", arguments, _REGISTERED)

    def stop(self) -> None:
        """End both, and the executors."""
        for process in (self.worker, self.master):
            if process is not None:
                end(process.pid)
                process.wait()

    def _started(self, name: str, arguments: list[str], until: str) -> tuple[subprocess.Popen[bytes], str]:
        log = self.folder / f"{name}-{time.monotonic_ns()}.log"
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
        environment = {**os.environ, **self.settings, "SPARK_HOME": str(self.home), "SPARK_DAEMON_JAVA_OPTS": QUICK}
        with open(log, "ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, start_new_session=True)
        waited(lambda: process.poll() is not None or re.search(until, log.read_text(errors="replace")), pause_s=0.2)
        told = log.read_text(errors="replace")
        assert re.search(until, told), told[-2000:]
        return process, told


@contextmanager
def standalone(folder: Path, **settings: str) -> Iterator[Standalone]:
    """A running master with a worker; `settings` are of the environment of what executors run."""
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Standalone(folder, spark_home(folder), {"SPARK_LOCAL_IP": "127.0.0.1", **settings})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine."""

    pid: int
    parent: int
    command: str


def descendants(pid: int) -> list[Process]:
    """The processes that a process has started, and those that they have, in order of age."""
    every = sorted(filter(None, map(_process, Path("/proc").glob("[0-9]*"))), key=lambda process: process.pid)
    known, found = {pid}, []
    for _ in every:
        more = [process for process in every if process.parent in known and process.pid not in known]
        if not more:
            break
        known |= {process.pid for process in more}
        found += more
    return found


def end(pid: int) -> None:
    """Kill a process with all that it has started."""
    for process in [pid, *(each.pid for each in descendants(pid))]:
        kill(process)


def kill(pid: int) -> None:
    """Kill one process with -9, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def await_end(processes: list[Process]) -> None:
    """Wait until processes that end by themselves have ended."""
    waited(lambda: all(_process(Path("/proc") / str(each.pid)) != each for each in processes), pause_s=0.1)


def _process(path: Path) -> Process | None:
    """The process of a folder of /proc; None if it has ended."""
    try:
        stat = (path / "stat").read_text()
        command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    state, parent = stat.rpartition(")")[2].split()[:2]
    return None if state == "Z" else Process(int(path.name), int(parent), command)


@dataclass(frozen=True, slots=True)
class Submitted:
    """What a job has written on its standard output, as lines."""

    lines: list[str]


def submitted(home: Path, python: Path, arguments: list[str], cwd: Path, **settings: str) -> Submitted:
    """A job that spark-submit has brought to its end; Python finds what it has itself, and nothing of this checkout."""
    own: dict[str, Any] = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    own |= {"SPARK_HOME": str(home), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    own |= {"PYTHONWARNINGS": "ignore", **settings}
    quick = [f"--conf=spark.{each}.extraJavaOptions={QUICK}" for each in ("driver", "executor")]
    command = [str(home / "bin" / "spark-submit"), "--conf=spark.ui.enabled=false", *quick, *arguments]
    for _ in range(STARTS_MAX):
        done = subprocess.run(command, capture_output=True, text=True, env=own, cwd=cwd, check=False)
        if BUSY not in done.stderr:
            break
    told = [line for line in done.stderr.splitlines() if " INFO " not in line and not line.startswith("\tat ")]
    assert done.returncode == 0, "\n".join(told)[-6000:]
    return Submitted(done.stdout.splitlines())


assert sys.platform.startswith("linux"), "processes are found in /proc"
