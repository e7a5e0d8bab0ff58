"""The workbench is tested in Chromium, and its bundle compared with its sources, where there are what this takes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.waiting import PATIENCE_S
from tests.web.serving import Served, served

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
PACKAGES = Path(__file__).parents[2] / "web" / "node_modules"
WAIT_MS = 1000 * PATIENCE_S

collect_ignore = []
if not CHROMIUM:
    print("there is no Chromium (apt-get install chromium): the workbench is not tested in a browser", file=sys.stderr)
    collect_ignore += ["test_workbench.py", "long_workbench.py", "long_accessibility.py"]
if shutil.which("node") is None or not PACKAGES.is_dir():
    print(
        "there is no node, or no web/node_modules (make web): the workbench's bundle is not compared, nor read by axe",
        file=sys.stderr,
    )
    collect_ignore += ["test_sources.py", "long_accessibility.py"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while it is open this thread has an event loop, in which others cannot start theirs."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a context of its own; no script failed in it, and it asked no other host."""
    context = browser.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    found = context.new_page()
    found.set_default_timeout(WAIT_MS)
    faults: list[str] = []
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
    found.on("request", lambda asked: None if is_own(asked.url) else faults.append(asked.url))
    yield found
    context.close()
    assert faults == []


def is_own(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "blob:"))
