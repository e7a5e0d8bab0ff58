"""The workbench in a real browser over a real service: the way of somebody who sees it for the first time."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.web.pages import write
from tests.web.serving import Served, event, integer

TEXT = """PREFIX : <http://example.org/>
SELECT ?sensor ?low ?high WITHIN 10 MINUTES SLIDING
FROM STREAM S <http://example.org/readings>
WHERE {
  SEQ(Low ; High)
  DEFINE GPM Low ON S { ?sensor :value ?low FILTER(?low < 10) }
  DEFINE GPM High ON S { ?sensor :value ?high FILTER(?high > 90) }
}"""
VALUE = "<http://example.org/value>"
EVENTS = "".join(
    event(f"http://example.org/e{second}", second, f"<http://example.org/s1> {VALUE} {integer(value)}")
    for second, value in enumerate([50, 3, 60, 95, 50])
)


def test_a_query_is_mended_finds_what_a_file_has_and_says_why_and_why_not(
    page: Page, service: Served, tmp_path: Path
) -> None:
    page.goto(service.address)
    page.get_by_label("Query name").fill("heat")
    write(page, TEXT.replace("SEQ(Low ; High)", "SEQ(Low ; Hihg)"))
    expect(page.get_by_text("no DEFINE for pattern 'Hihg'").first).to_be_visible()

    write(page, TEXT)
    expect(page.get_by_text("no DEFINE for pattern")).to_have_count(0)
    page.get_by_role("button", name="Declare the stream S").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="heat")).to_be_visible()

    (tmp_path / "readings.nq").write_text(EVENTS, encoding="utf-8")
    page.get_by_role("button", name="S 0/s").click()
    page.get_by_label("Drop files of events here").set_input_files(tmp_path / "readings.nq")
    expect(page.get_by_text("5 accepted")).to_be_visible()
    expect(page.get_by_text(":e4", exact=True)).to_be_visible()

    page.get_by_role("button", name="heat").click()
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text(":s1")
    expect(row).to_contain_text("95")

    memory = page.locator(".facts div").filter(has_text="memory").get_by_role("definition")
    expect(memory).to_have_text(re.compile(r"^[1-9]\d* B$|^\d+(\.\d)? kB$"))
    expect(page.get_by_role("button", name="heat")).to_contain_text(re.compile(r"1 rows .* k?B$"))

    row.click()
    expect(page.get_by_role("img", name="Timeline of match 1")).to_have_accessible_name(
        "Timeline of match 1: Low: :e1 on S, 2026-01-01 00:00:01; High: :e3 on S, 2026-01-01 00:00:03"
    )
    page.get_by_role("button", name="Why?", exact=True).click()
    expect(page.get_by_text("FILTER(?high > 90)", exact=True)).to_be_visible()

    page.get_by_role("tab", name="Automaton").click()
    expect(page.get_by_role("button", name="edge ; High 1")).to_be_visible()
    page.get_by_role("tab", name="Why not?").click()
    page.get_by_label("The match that is missing").fill("?sensor = :s2")
    page.get_by_role("button", name="Why not?", exact=True).click()
    expect(page.get_by_text("No match fits.")).to_be_visible()
