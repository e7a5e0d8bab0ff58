"""The first words of a service in a process of its own."""

from __future__ import annotations

import subprocess

_BEGIN = "listening on "


def address_said(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The address at which a service listens, "" if it has ended before, and all that it said until then."""
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        if line.startswith(_BEGIN):
            return line.removeprefix(_BEGIN).strip(), "".join(said)
    return "", "".join(said)
