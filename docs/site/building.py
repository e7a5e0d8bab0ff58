"""The site, built by Zensical from the assembled pages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from docs.site.assembly import assemble
from docs.site.checks import faults_of
from docs.site.configuration import configuration_of


def build(root: Path, out: Path) -> list[str]:
    """The faults of the site that is built in `out`/site, from the pages in `out`/pages; none: it is whole."""
    shutil.rmtree(out, ignore_errors=True)
    pages = assemble(root, out / "pages")
    (out / "zensical.toml").write_text(configuration_of(pages), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    built = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    if built.returncode:
        return [built.stdout + built.stderr.partition("Traceback")[0]]
    return faults_of(out / "site")
