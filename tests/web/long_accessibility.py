"""The pages of the workbench keep axe's rules, light and dark; `make test-web` runs this file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import PACKAGES
from tests.web.pages import write
from tests.web.serving import Served, event, integer, served

AXE = PACKAGES / "axe-core" / "axe.min.js"
EACH = "SELECT ?s ?v WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:v> ?v } }"
FAULTS = """async () => (await axe.run()).violations.map(
    each => `${each.id}: ${each.nodes.map(node => `${node.target} ${node.failureSummary}`).join("; ")}`
)"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("service")) as running:
        running.put_stream("s", "urn:s")
        running.put_query("each", EACH)
        events = (event(f"urn:e{n}", n, f"<urn:x{n}> <urn:v> {integer(n)}") for n in (1, 5, 3))
        running.push("s", "".join(events))
        running.advance("s", "2026-01-01T00:01:00Z")
        yield running


def check(page: Page, what: str) -> None:
    faults = page.evaluate(FAULTS)
    assert faults == [], what


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_breaks_a_rule_of_axe(page: Page, filled: Served, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(filled.address)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    write(page, EACH.replace("SEQ(A)", "SEQ(B)"))
    expect(page.get_by_text("no DEFINE for pattern 'B'").first).to_be_visible()
    check(page, "a query with an error")
    page.get_by_role("button", name="s 0/s").click()
    expect(page.get_by_text("<urn:e5>")).to_be_visible()
    page.get_by_text("Declare a stream").click()
    check(page, "a stream")
    page.get_by_role("button", name="Dead letters").click()
    page.get_by_role("row").nth(1).click()
    check(page, "dead letters")
    page.get_by_role("button", name="each").click()
    page.get_by_role("row").nth(1).click()
    page.get_by_role("button", name="Why?", exact=True).click()
    expect(page.get_by_text("took")).to_be_visible()
    check(page, "a match")
    page.get_by_role("tab", name="Automaton").click()
    page.get_by_role("button", name="edge A 2").click()
    page.get_by_role("button", name="Count the funnel").click()
    expect(page.get_by_text("events seen")).to_be_visible()
    check(page, "an automaton")
    page.get_by_role("tab", name="Why not?").click()
    page.get_by_role("button", name="Why not?", exact=True).click()
    expect(page.get_by_text("matches fit")).to_be_visible()
    check(page, "why not")
