"""Kills of one process of a Spark job at a time: of the driver, of its JVM, of an executor, of a worker."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.spark.clusters import LOCAL_CLUSTER, Standalone, await_end, descendants, end, kill
from tests.spark.conftest import BUSY

ROOT = Path(__file__).resolve().parents[2]
VICTIMS = {
    "local": ("all", "driver", "JVM", "Python worker"),
    "local-cluster": ("all", "driver", "JVM", "executor", "Python worker"),
    "standalone": ("all", "driver", "JVM", "executor", "worker", "Python worker"),
}
"""For each way to run, what is killed.

all             the driver with all that it has started
driver          its Python process; the JVM then ends by itself
JVM             of the driver
executor        one of those that run
worker          of a standalone cluster, with the executors that it has started; another worker takes its place
Python worker   a process that runs tasks, or the source or the state's schema on the driver
"""
_FATAL = ("all", "driver", "JVM")
_DAEMON = "spark.daemon"
_DRIVER_JVM = "org.apache.spark.deploy.SparkSubmit"
_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(slots=True)
class KilledRun:
    """Runs of one job in a folder, one after the other, of whose processes some are killed.

    way     one of VICTIMS
    home    Spark's
    """

    folder: Path
    name: str
    way: str
    home: Path
    cluster: Standalone | None
    dice: random.Random
    job: subprocess.Popen[bytes] | None = None

    def until_its_end(self, victims: list[str], told: Callable[[str], None] = lambda _: None) -> list[str]:
        """Kill these in turn, starting the job again where it has ended; those killed before it came to its end."""
        killed: list[str] = []
        while True:
            self._start()
            if self._kill(victims, killed, told):
                return killed

    def _kill(self, victims: list[str], killed: list[str], told: Callable[[str], None]) -> bool:
        """Kill until the job ends; True if it has come to its end, which it must unless something was killed."""
        assert self.job is not None
        before = len(killed)
        while len(killed) < len(victims) and self._await():
            victim = victims[len(killed)]
            if self._hit(victim):
                killed.append(victim)
                told(victim)
            if victim in _FATAL:
                break
        code, log = self.job.wait(), (self.folder / "log").read_text(errors="replace")
        assert code == 0 or len(killed) > before or BUSY in log[-5000:], log[-5000:]
        return code == 0

    def _start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "SPARK_LOCAL_IP": "127.0.0.1"}
        master = {"local": "local[2]", "local-cluster": LOCAL_CLUSTER}.get(self.way, "")
        environment["SPARK_HOME"] = str(self.home)
        if self.cluster is not None:
            master = self.cluster.url
        script = str(ROOT / "tests" / "spark" / "killed_job.py")
        command = [sys.executable, script, str(self.folder), self.name, master]
        with open(self.folder / "log", "ab") as log:
            self.job = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def _await(self) -> bool:
        """True when some more micro-batches have begun and a moment has passed; False if the job has ended."""
        assert self.job is not None
        begun, more = self._begun(), self.dice.randint(1, 4)
        while self._begun() - begun < more:
            if self.job.poll() is not None:
                return False
            time.sleep(0.02)
        time.sleep(self.dice.uniform(0, 3))
        return self.job.poll() is None

    def _begun(self) -> int:
        """The micro-batches that both queries have begun, by their logs of offsets."""
        return sum(
            1 for name in ("files", "table") for _ in (self.folder / f"checkpoint-{name}/offsets").glob("[0-9]*")
        )

    def _hit(self, victim: str) -> bool:
        """Kill one process, or several; False if there is none."""
        assert self.job is not None
        running = descendants(self.job.pid)
        workers = [] if self.cluster is None or self.cluster.worker is None else descendants(self.cluster.worker.pid)
        match victim:
            case "all":
                end(self.job.pid)
            case "driver":
                kill(self.job.pid)
                self.job.wait()
                await_end(running)
            case "worker":
                assert self.cluster is not None and self.cluster.worker is not None
                end(self.cluster.worker.pid)
                self.cluster.worker.wait()
                self.cluster.start_worker()
            case _:
                mark = {"JVM": _DRIVER_JVM, "executor": _EXECUTOR, "Python worker": _DAEMON}[victim]
                found = [each for each in (*running, *workers) if mark in each.command]
                if found:
                    kill(self.dice.choice(found).pid)
                return bool(found)
        return True
