"""Pictures of the workbench for the documentation: python -m tests.web.screenshots, in an environment with Chromium."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE
from tests.web.conftest import CHROMIUM
from tests.web.pages import editor

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "images"
QUERY = ROOT / "examples" / "smart_grid" / "query_partitioned.rq"
STREAMS = {"S1": "power.nq", "S2": "weather.nq", "S3": "storage.nq"}
BYTES_MAX = 60_000
WIDTH, HEIGHT = 1200, 750
EVENTS = 2_000


def main() -> None:
    """Take every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, workbench(Path(folder)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(address)
        take_all(page)
        browser.close()


def take_all(page: Page) -> None:
    """The way through the workbench, a picture at each place."""
    expect(page.get_by_role("row").nth(5)).to_be_visible(timeout=60_000)
    take(page, "matches")
    page.get_by_role("row").nth(4).click()
    expect(page.locator(".timeline .mark").first).to_be_visible()
    shown(page, ".match")
    take(page, "timeline")
    page.get_by_role("button", name="Why?", exact=True).click()
    expect(page.get_by_text("took").first).to_be_visible(timeout=60_000)
    shown(page, ".why")
    take(page, "why")
    page.get_by_role("tab", name="Automaton").click()
    page.get_by_role("button", name="edge ; B").click()
    page.get_by_role("button", name="Count the funnel").click()
    expect(page.get_by_text("events seen")).to_be_visible(timeout=60_000)
    shown(page, ".tabs")
    take(page, "automaton")
    page.get_by_role("tab", name="Why not?").click()
    page.get_by_label("The match that is missing").fill("?house = :H1\n?fr2 = 3")
    page.get_by_role("button", name="Why not?", exact=True).click()
    expect(page.get_by_text("The attempts that came furthest")).to_be_visible(timeout=120_000)
    shown(page, ".tabs")
    take(page, "why-not")
    page.locator("main").evaluate("element => { element.scrollTop = 0 }")
    misspelt(page)
    take(page, "problem")
    page.get_by_role("button", name="S1 ").click()
    expect(page.locator(".events li").first).to_be_visible()
    take(page, "stream")


def misspelt(page: Page) -> None:
    """A mistake on the line of the sequence."""
    page.get_by_text("SEQ", exact=True).first.click()
    page.keyboard.press("End")
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("D")
    expect(page.get_by_text("no DEFINE for pattern").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(editor(page)).to_be_focused()


def shown(page: Page, selector: str) -> None:
    """A part of the page at the top of what is in sight."""
    page.locator(selector).first.evaluate("element => element.scrollIntoView({ block: 'start' })")


def take(page: Page, name: str) -> None:
    """A picture in WebP, of the best quality that is small enough."""
    page.wait_for_timeout(300)
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    for quality in range(90, 20, -10):
        packed = io.BytesIO()
        image.save(packed, "WEBP", quality=quality, method=6)
        if packed.tell() <= BYTES_MAX:
            break
    (FOLDER / f"workbench-{name}.webp").write_bytes(packed.getvalue())


@contextmanager
def workbench(folder: Path) -> Iterator[str]:
    """The address of the workbench over a smart grid."""
    write_example(EXAMPLE, EVENTS, 1, folder)
    streams = [f"--stream={name}={folder / file}" for name, file in STREAMS.items()]
    command = [sys.executable, "-m", "spaseq.cli", "workbench", str(QUERY), *streams, "--no-open"]
    command.append(f"--kb=http://smartgrid.org/db={folder / 'kb.ttl'}")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if line.startswith("the workbench is at "))
        try:
            yield said.removeprefix("the workbench is at ").partition(";")[0]
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
