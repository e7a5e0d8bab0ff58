"""SIGTERM and Ctrl-C end the process within `grace`, with the exit code 0, whatever it does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from spaseq.service.http.process import SUPERVISED_PART
from tests.service.http.holding import HELD, HOLDS
from tests.service.listening import address_said
from tests.waiting import PATIENCE_S

GRACE_S = 2.0


def started(folder: Path, how: str) -> subprocess.Popen[str]:
    """A service, one of whose threads will hold it up."""
    (folder / "c.toml").write_text(f'[limits]\ngrace = "{GRACE_S:g}s"\n[streams.s]\niri = "urn:s"\n')
    arguments = ["serve", "--config", str(folder / "c.toml"), "--data", str(folder / "data"), "--port", "0"]
    command = [sys.executable, "-m", "tests.service.http.holding", how, *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("how", "number"), [*zip(HOLDS, (signal.SIGTERM, signal.SIGINT), strict=True)])
def test_a_thread_that_never_asks_does_not_keep_the_process_from_ending(tmp_path: Path, how: str, number: int) -> None:
    with started(tmp_path, how) as process:
        try:
            assert process.stderr is not None
            address, said = address_said(process)
            assert address, said
            with suppress(httpx2.TransportError):  # there is no answer while the lock is held
                httpx2.get(f"{address}/v1/kb", timeout=1.0, trust_env=False)
            while HELD not in said:
                said = process.stderr.readline()
            begun = time.monotonic()
            for _ in range(2):  # a second signal changes nothing
                process.send_signal(number)
            assert process.wait(PATIENCE_S) == 0
            assert time.monotonic() - begun >= SUPERVISED_PART * GRACE_S * 0.9
        finally:
            process.kill()
