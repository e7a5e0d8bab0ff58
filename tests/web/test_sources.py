"""The bundle that is committed is what the sources of the workbench give."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_bundle_is_what_the_sources_give(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=ROOT / "web", check=True)
    for path in tmp_path.iterdir():
        built = ROOT / "spaseq" / "service" / "http" / "assets" / path.name
        assert path.read_bytes() == built.read_bytes(), f"{path.name} is out of date: make web"


def test_the_types_of_the_sources_are_right() -> None:
    done = subprocess.run(["npm", "run", "--silent", "check"], cwd=ROOT / "web", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
