"""The tutorial of the service and the example of its connectors are run: their files, commands and answers."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.docs.test_pages_run import DOCS, blocks, commands
from tests.waiting import PATIENCE_S, waited

ROOT = Path(__file__).parents[2]
PAGES = {"tutorials/live.md": 9, "how-to/connectors.md": 2}
"""The number of questions on each."""


def answer(command: str, port: int, folder: Path) -> str:
    """The answer to a command of curl, or what a file has, as it stands on the page."""
    if command.startswith("cat "):
        file = folder / command.split()[1]
        return file.read_text(encoding="utf-8") if file.exists() else ""
    words = iter(shlex.split(command)[1:])
    method, headers, body, address, quiet = None, dict[str, str](), None, "", False
    for word in words:
        match word:
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d" | "--data-binary":
                data = next(words)
                body = (folder / data[1:]).read_bytes() if data.startswith("@") else data.encode()
            case "-o":
                quiet = next(words) == "/dev/null"
            case _:
                address = word.replace(":7373", f":{port}")
    method = method or ("GET" if body is None else "POST")
    answered = httpx2.request(method, address, headers=headers, content=body, trust_env=False, timeout=PATIENCE_S)
    answered.raise_for_status()
    return "" if quiet else answered.text.rstrip("\n") + "\n"


def serving(command: str, port: int, folder: Path) -> subprocess.Popen[str]:
    """The service that a command of the page starts, once it is ready, on a port of its own."""
    words = [*shlex.split(command)[1:], "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "spaseq.cli", *words], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == f"listening on http://127.0.0.1:{port}\n"
    return process


@pytest.mark.parametrize("page", PAGES)
def test_the_service_answers_as_the_page_says(page: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process: subprocess.Popen[str] | None = None
    asked = 0
    try:
        for block in blocks(DOCS / page):
            if block.file:
                (tmp_path / block.file).write_text(block.text, encoding="utf-8")
            for command, expected in commands(block.text) if block.language == "console" else ():
                if command.startswith("spaseq serve"):
                    process = serving(command, port, tmp_path)
                    continue
                if _kind(command) == "GET":
                    waited(lambda: answer(command, port, tmp_path) == expected, pause_s=0.02)  # noqa: B023 -- at once
                else:
                    assert answer(command, port, tmp_path) == expected, command
                asked += 1
    finally:
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_S)
    assert process is not None and (process.returncode, asked) == (0, PAGES[page])


def _kind(command: str) -> str:
    """GET of what is asked without a body: rows may not be there yet."""
    return "POST" if re.search(r" (-d|--data-binary) ", command) else "GET"
