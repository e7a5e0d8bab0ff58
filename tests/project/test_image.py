"""The image for Kubernetes: its file is sound, takes what the wheel has, and starts what Spark asks for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spaseq.cli import main
from tests.spark.packages import ROOT, packages

IMAGE = ROOT / "docker" / "Dockerfile"
SERVICE = ROOT / "docker" / "serve.Dockerfile"
UNIT = ROOT / "docker" / "spaseq.service"
ENTRY = ROOT / "docker" / "entrypoint.sh"
LINTER = Path(sys.executable).with_name("hadolint")
EXECUTOR = {
    "SPARK_HOME": "/spark", "SPARK_EXECUTOR_MEMORY": "1g", "SPARK_DRIVER_URL": "spark://d:1", "SPARK_EXECUTOR_ID": "7",
    "SPARK_EXECUTOR_CORES": "2", "SPARK_APPLICATION_ID": "app", "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
    "SPARK_RESOURCE_PROFILE_ID": "0", "SPARK_EXECUTOR_POD_NAME": "pod", "SPARK_JAVA_OPT_0": "-Da=b c",
    "SPARK_JAVA_OPT_2": "-Dthird", "SPARK_JAVA_OPT_10": "-Dlast", "SPARK_CLASSPATH": "/more/*",
}  # fmt: skip


def instructions(image: Path) -> list[str]:
    """The instructions of a file, each in one line."""
    text = re.sub(r"^#.*\n", "", image.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip()]


def started(folder: Path, *arguments: str, **settings: str) -> list[str]:
    """The command that the entry point hands to tini."""
    (folder / "tini").write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    (folder / "tini").chmod(0o755)
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", **settings}
    done = subprocess.run(["bash", str(ENTRY), *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    first, second, *command = done.stdout.splitlines()
    assert (first, second) == ("-s", "--")
    return command


@pytest.mark.parametrize(("image", "user"), [(IMAGE, "185"), (SERVICE, "7373")], ids=["Spark", "service"])
def test_every_instruction_is_known_and_every_copied_file_is_there(image: Path, user: str) -> None:
    known = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT"}
    words = [line.split() for line in instructions(image)]
    assert {each[0] for each in words} == known
    copied = [part for each in words if each[0] == "COPY" and "--from=build" not in each for part in each[1:-1]]
    copied = [part for part in copied if not part.startswith("--")]
    assert set(packages()) < set(copied)
    assert [part for part in copied if not (ROOT / part).exists()] == []
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert sent >= set(copied)
    assert words[-2] == ["USER", user]


def test_the_unit_and_the_image_start_a_service_with_options_that_it_has() -> None:
    (unit,) = (line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart="))
    (entry,) = (line for line in instructions(SERVICE) if line.startswith("ENTRYPOINT"))
    for command in (unit.split()[1:], json.loads(entry.removeprefix("ENTRYPOINT "))[1:]):
        assert command[0] == "serve"
        main.make_context("spaseq", ["serve", *command[1:], "--help"], resilient_parsing=True)
        known = {option for each in main.commands["serve"].params for option in each.opts}
        assert {word for word in command if word.startswith("--")} <= known


def test_an_executor_is_started_with_its_settings(tmp_path: Path) -> None:
    command = started(tmp_path, "executor", **EXECUTOR)
    assert command[:6] == ["java", "-Da=b c", "-Dthird", "-Dlast", "-Xms1g", "-Xmx1g"]
    assert command[6:9] == [
        "-cp", "/more/*:/spark/jars/*", "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    ]  # fmt: skip
    given = dict(zip(command[9::2], command[10::2], strict=True))
    assert given == {
        "--driver-url": "spark://d:1", "--executor-id": "7", "--cores": "2", "--app-id": "app",
        "--hostname": "10.0.0.1", "--resourceProfileId": "0", "--podName": "pod",
    }  # fmt: skip


def test_a_driver_is_started_in_client_mode_and_anything_else_as_it_is(tmp_path: Path) -> None:
    command = started(tmp_path, "driver", "local:///j b.py", SPARK_HOME="/spark", SPARK_DRIVER_BIND_ADDRESS="10.0.0.2")
    assert command[0] == "/spark/bin/spark-submit" and command[-3:] == ["--deploy-mode", "client", "local:///j b.py"]
    assert "spark.driver.bindAddress=10.0.0.2" in command
    assert started(tmp_path, "echo", "a b") == ["echo", "a b"]


if LINTER.exists():

    @pytest.mark.parametrize("image", [IMAGE, SERVICE], ids=["Spark", "service"])
    def test_the_linter_has_nothing_to_say(image: Path) -> None:
        done = subprocess.run([str(LINTER), str(image)], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout


if shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True).returncode == 0:

    def test_the_image_is_built_and_finds_its_kernels() -> None:
        name = "spaseq-spark:test"
        subprocess.run(["docker", "build", "-f", str(IMAGE), "-t", name, str(ROOT)], check=True)
        code = (
            "from spaseq.cli import main; from arrays.jit import is_kept; from sparql_gpm.reading import nquads_kernel"
        )
        code += "; assert is_kept(nquads_kernel.scan)"
        subprocess.run(["docker", "run", "--rm", name, "python", "-c", code], check=True)
