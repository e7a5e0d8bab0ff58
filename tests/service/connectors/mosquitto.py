"""Debian's mosquitto as a process, which can be stopped and started again."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
from pathlib import Path

from tests.waiting import PATIENCE_S, listens, waited

MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
_SETTINGS = """
user {user}
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {folder}/
autosave_interval 1
autosave_on_changes true
"""


class Mosquitto:
    """A broker on a port that stays the same, with the sessions of its folder."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._settings = folder / "mosquitto.conf"
        self._settings.write_text(_SETTINGS.format(port=self.port, folder=folder, user=getpass.getuser()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert MOSQUITTO is not None
        command = [MOSQUITTO, "-c", str(self._settings)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process = self._process
        waited(lambda: process.poll() is not None or listens(self.port))
        assert process.poll() is None

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)
            self._process = None
