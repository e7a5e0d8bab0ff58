"""The workbench in a real browser, through what may happen to it; `make test-web` runs this file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from spaseq.service.settings.configuration import Auth, Configuration
from tests.web.conftest import WAIT_MS
from tests.web.pages import editor, write
from tests.web.serving import Served, event, integer, served

PAIRS = """SELECT ?a ?b WITHIN 1 HOUR SLIDING FROM STREAM S <urn:s>
WHERE { SEQ(A : B) DEFINE GPM A ON S { ?a <urn:a> ?x } DEFINE GPM B ON S { ?b <urn:b> ?y } }"""
EACH = "SELECT ?s ?v WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:v> ?v } }"
BUILT = """PREFIX : <http://example.org/>
CONSTRUCT { ?s :warm ?v } WITHIN 1 HOUR FROM STREAM S <urn:s>
WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:v> ?v } }"""
HOSTILE = '\\"><img src=x onerror=window.hit=1><script>window.hit=1</script>'


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Served]:
    """A service with one stream."""
    with served(tmp_path) as running:
        running.put_stream("s", "urn:s")
        yield running


@contextmanager
def flowing(service: Served) -> Iterator[None]:
    """An event every few milliseconds."""
    ended = threading.Event()

    def push() -> None:
        for number in range(100_000):
            if ended.wait(0.02):
                return
            service.push("s", event(f"urn:e{number}", number, f"<urn:x{number}> <urn:v> {integer(number)}"))

    thread = threading.Thread(target=push)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_query_is_replaced_while_events_flow_and_numbers_go_on(page: Page, fresh: Served) -> None:
    fresh.put_query("each", EACH)
    page.goto(f"{fresh.address}/#/queries/each")
    with flowing(fresh):
        expect(page.get_by_role("row").nth(5)).to_be_visible()
        write(page, EACH.replace("?s ?v WITHIN", "?s (?v * 1000 AS ?large) WITHIN"))
        page.get_by_role("button", name="Replace").click()
        expect(page.get_by_text("each is replaced")).to_be_visible()
        expect(page.get_by_role("columnheader", name="?large")).to_be_visible()
        before = fresh.rows("each")
        page.wait_for_function("() => document.querySelectorAll('[role=row]').length > 10")
    assert fresh.rows("each") >= before
    page.get_by_role("grid").focus()
    page.keyboard.press("End")
    last = page.get_by_role("row").last
    expect(last).to_contain_text("000")
    rows = fresh.lines("each")
    assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))
    assert len({row["bindings"]["s"]["value"] for row in rows}) == len(rows)


def test_the_page_goes_on_when_the_service_has_been_away(page: Page, fresh: Served) -> None:
    fresh.put_query("each", EACH)
    page.goto(f"{fresh.address}/#/queries/each")
    fresh.push("s", event("urn:e1", 1, "<urn:x1> <urn:v> <urn:one>") + event("urn:e2", 2))
    fresh.advance("s", "2026-01-01T00:00:10Z")
    expect(page.get_by_role("row").filter(has_text="<urn:one>")).to_be_visible()
    fresh.stop()
    expect(page.get_by_role("status").first).to_contain_text("away")
    fresh.start()
    expect(page.get_by_role("status").first).to_contain_text("connected")
    fresh.push("s", event("urn:e3", 13, "<urn:x3> <urn:v> <urn:three>"))
    fresh.advance("s", "2026-01-01T00:00:20Z")
    expect(page.get_by_role("row").filter(has_text="<urn:three>")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="<urn:one>")).to_have_count(1)


def test_a_hundred_thousand_matches_are_there_and_only_those_in_sight_exist(page: Page, fresh: Served) -> None:
    fresh.put_query("pairs", PAIRS)
    page.goto(f"{fresh.address}/#/queries/pairs")
    expect(page.get_by_role("grid")).to_be_visible()
    a = "".join(
        event(f"urn:a{number}", number, f"<urn:a{number}> <urn:a> 'x'".replace("'", '"')) for number in range(320)
    )
    b = "".join(event(f"urn:b{number}", 400 + number, f'<urn:b{number}> <urn:b> "x"') for number in range(320))
    fresh.push("s", a + b)
    fresh.advance("s", "2026-01-01T03:00:00Z")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", "102401", timeout=WAIT_MS)
    grid.focus()
    for key, number in (("Home", "1"), ("End", "102400"), ("Home", "1")):
        page.keyboard.press(key)
        expect(page.get_by_role("row", selected=True).get_by_role("gridcell").first).to_have_text(number)
        assert page.get_by_role("row").count() < 80
    grid.evaluate("element => { element.scrollTop = element.scrollHeight / 2 }")
    expect(page.get_by_role("gridcell", name="51210", exact=True)).to_be_visible()
    assert page.evaluate("() => document.querySelectorAll('*').length") < 3_000


def test_the_page_asks_for_a_token_and_says_what_one_does_not_allow(
    browser: Browser, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READ_TOKEN", "r-secret")
    monkeypatch.setenv("ADMIN_TOKEN", "a-secret")
    configuration = Configuration(auth=Auth(read="READ_TOKEN", admin="ADMIN_TOKEN"))
    with served(tmp_path, configuration, token="a-secret") as guarded:
        guarded.put_stream("s", "urn:s")
        guarded.put_query("each", EACH)
        page.goto(f"{guarded.address}/#/queries/each")
        dialog = page.get_by_role("dialog", name="This service asks for a token")
        for token in ("wrong", "r-secret"):
            expect(dialog).to_be_visible()
            dialog.get_by_role("textbox", name="Token").fill(token)
            page.get_by_role("button", name="Use", exact=True).click()
            if token == "wrong":
                expect(dialog.get_by_text("the token is not one of this service")).to_be_visible()
        expect(dialog).to_be_hidden()
        expect(editor(page)).to_contain_text("SELECT ?s ?v")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("the token does not allow this: it needs that of admin")).to_be_visible()
        assert "secret" not in page.content() + page.url
        page.get_by_role("button", name="Forget the token").click()
        expect(dialog).to_be_visible()


def test_what_streams_say_is_text_and_never_markup(page: Page, fresh: Served, tmp_path: Path) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    fresh.put_query("each", EACH)
    name = "urn:e'onerror=window.hit=1&lt;img&gt;%3Cscript%3E"
    fresh.push("s", event(name, 1, f'<urn:x> <urn:v> "{HOSTILE}"@en'))
    fresh.put_stream("t", "urn:t'onclick=window.hit=1;&lt;b&gt;")
    fresh.put_query("html", EACH.replace("?s ?v WITHIN", f'?s ("{HOSTILE}" AS ?bad) WITHIN'))
    (tmp_path / "bad.nq").write_text(f"<img src=x onerror=window.hit=1>\n{event('urn:e2', 2, '<urn:x> <urn:v> 1')}")
    for stream, time in (("s", "2026-01-01T00:01:00Z"), ("s", "2026-01-01T00:02:00Z")):
        fresh.advance(stream, time)
    for path in ("#/streams/s", "#/streams/t", "#/queries/html", "#/letters", "#/queries/each"):
        page.goto(f"{fresh.address}/{path}")
        expect(page.get_by_role("status").first).to_contain_text("connected")
        if path == "#/streams/s":
            page.get_by_label("Drop files of events here").set_input_files(tmp_path / "bad.nq")
            expect(page.get_by_text("onerror=window.hit=1>").first).to_be_visible()
    page.get_by_role("row").nth(1).click()
    expect(page.get_by_text("<script>window.hit=1</script>").first).to_be_visible()
    page.get_by_role("button", name="Why?", exact=True).click()
    expect(page.get_by_text("took")).to_be_visible()
    assert page.evaluate("() => window.hit") is None
    assert page.locator("img, main script, nav script").count() == 0


def test_keys_alone_are_enough(page: Page, fresh: Served) -> None:
    fresh.put_query("each", EACH)
    fresh.push("s", "".join(event(f"urn:e{n}", n, f"<urn:x{n}> <urn:v> {integer(n)}") for n in range(5)))
    fresh.advance("s", "2026-01-01T00:01:00Z")
    page.goto(f"{fresh.address}/#/queries/each")
    page.get_by_role("button", name="each").focus()
    page.keyboard.press("Enter")
    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-rowcount", "6")
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("() => (document.activeElement.getAttribute('role') || document.activeElement.tagName)")
        )
        if reached[-1] == "grid":
            break
    assert reached[-1] == "grid" and "tab" in reached
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="Match 1")).to_be_visible()
    page.get_by_role("tab", name="Matches").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Automaton")).to_be_focused()
    page.get_by_role("button", name="state A").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="A", exact=True)).to_be_visible()


def test_prefixes_are_offered_for_the_namespaces_that_the_streams_have(page: Page, fresh: Served) -> None:
    sosa, own = "http://www.w3.org/ns/sosa/", "http://example.org/Cold-Chain#"
    triples = (f"<urn:x> <{sosa}hasSimpleResult> <urn:y>", f"<urn:x> <{own}door> <{own}open>")
    fresh.push("s", event(f"{own}e", 1, *triples))
    page.goto(fresh.address)
    write(page, "# doors\n")
    page.keyboard.type("PRE")
    expect(page.get_by_role("option", name=f"PREFIX sosa: <{sosa}>")).to_contain_text("seen")
    expect(page.get_by_role("option", name="PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>")).to_be_visible()
    page.keyboard.type("FIX cha")
    expect(page.get_by_role("option", name=f"chain: <{own}>")).to_be_visible()
    page.wait_for_timeout(200)  # an Enter that was meant for the text is not taken for a choice
    page.keyboard.press("Enter")
    expect(editor(page)).to_contain_text(f"PREFIX chain: <{own}>")
    page.keyboard.type("\nSELECT * WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) ")
    page.keyboard.type("DEFINE GPM A ON S { ?d chain:do")
    expect(page.get_by_role("option", name="chain:door")).to_be_visible()
    page.keyboard.type("or ?state ; Simple")
    option = page.get_by_role("option", name="sosa:hasSimpleResult")
    expect(option).to_be_visible()
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    page.keyboard.type(" ?v ")
    lines = page.locator(".cm-line").all_inner_texts()
    assert lines[:3] == ["# doors", f"PREFIX chain: <{own}>", f"PREFIX sosa: <{sosa}>"], lines
    assert "chain:door ?state ; sosa:hasSimpleResult ?v" in lines[3]
    page.get_by_label("Query name").fill("doors")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("heading", name="doors")).to_be_visible()


def test_completion_knows_what_the_streams_have_and_a_text_is_formatted(page: Page, fresh: Served) -> None:
    fresh.push("s", event("http://example.org/e", 1, "<urn:x> <http://example.org/humidity> <urn:y>"))
    page.goto(fresh.address)
    write(page, "PREFIX ex: <http://example.org/>\nSELECT * WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) ")
    page.keyboard.type("DEFINE GPM A ON S { ?s ex:hum")
    expect(page.get_by_role("option", name="ex:humidity")).to_be_visible()
    page.wait_for_timeout(200)  # an Enter that was meant for the text is not taken for a choice
    page.keyboard.press("Enter")
    page.keyboard.type(" ?h")
    expect(editor(page)).to_contain_text("ex:humidity ?h")
    page.keyboard.type(" }")
    write(page, "SELECT * FROM STREAM S <urn:s> WHERE { DEFINE GPM Alpha ON S { ?s ?p ?o } ")
    page.keyboard.type("SEQ(Al")
    expect(page.locator(".editor").get_by_role("option")).to_have_text(["Alpha"])
    write(page, EACH)
    page.get_by_role("button", name="Format").click()
    page.wait_for_function("text => !document.querySelector('.editor').shadowRoot.textContent.includes(text)", arg=EACH)
    expect(editor(page)).to_contain_text("DEFINE GPM A ON S {")


def test_a_long_file_is_pushed_in_pieces_of_whole_events(page: Page, fresh: Served, tmp_path: Path) -> None:
    triples = [f'<urn:x{number}> <urn:v> "{"é" * 200}"' for number in range(20)]
    events = [event(f"urn:e{number}", number, *triples) for number in range(900)]
    (tmp_path / "long.nq").write_text("".join(events), encoding="utf-8")
    assert (tmp_path / "long.nq").stat().st_size > 1.5 * (4 << 20)
    page.goto(f"{fresh.address}/#/streams/s")
    page.get_by_label("Drop files of events here").set_input_files(tmp_path / "long.nq")
    expect(page.get_by_text("long.nq: 900 accepted", exact=False)).to_be_visible()
    expect(page.get_by_text("rejected")).to_have_count(0)
    expect(page.get_by_role("button", name="900 events")).to_be_visible()


def test_graphs_that_are_constructed_are_drawn(page: Page, fresh: Served) -> None:
    fresh.put_query("built", BUILT)
    fresh.push("s", event("urn:e1", 1, f"<http://example.org/x> <urn:v> {integer(7)}"))
    fresh.advance("s", "2026-01-01T00:01:00Z")
    page.goto(f"{fresh.address}/#/queries/built")
    page.get_by_role("row").filter(has_text="1 triples").click()
    expect(page.get_by_text("It constructs")).to_be_visible()
    expect(page.locator(".event-graph").first).to_contain_text(":warm")


def test_a_part_of_the_timeline_is_shown_by_dragging_and_by_keys(page: Page, fresh: Served) -> None:
    fresh.put_query("each", EACH)
    fresh.push("s", "".join(event(f"urn:e{n}", n, f"<urn:x{n}> <urn:v> {integer(n)}") for n in (0, 50)))
    fresh.advance("s", "2026-01-01T00:01:00Z")
    page.goto(f"{fresh.address}/#/queries/each")
    page.get_by_role("row").nth(2).click()
    period = page.locator(".timeline .faint")
    expect(period).to_contain_text("2025-12-31 23:59:57.500 … 2026-01-01 00:00:52.500")
    box = page.get_by_role("img", name="Timeline of match 2").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 60, steps=4)
    page.mouse.up()
    expect(period).not_to_contain_text("23:59:57")
    page.get_by_role("img", name="Timeline of match 2").focus()
    page.keyboard.press("0")
    expect(period).to_contain_text("2025-12-31 23:59:57.500 … 2026-01-01 00:00:52.500")
    page.get_by_role("button", name="Zoom in").click()
    expect(period).to_contain_text("2026-01-01 00:00:11.250 … 2026-01-01 00:00:38.750")


def test_a_state_shows_the_partial_matches_that_wait_there_and_until_when(page: Page, fresh: Served) -> None:
    fresh.put_query("pairs", PAIRS)
    page.goto(f"{fresh.address}/#/queries/pairs")
    page.get_by_role("tab", name="Automaton").click()
    page.get_by_role("button", name="state A").click()
    expect(page.get_by_text("0 partial matches wait here.")).to_be_visible()
    fresh.push("s", "".join(event(f"urn:e{n}", n, f"<urn:x{n}> <urn:a> {integer(n)}") for n in (1, 2)))
    fresh.advance("s", "2026-01-01T00:00:10Z")
    runs = page.get_by_role("list", name="Partial matches").get_by_role("listitem")
    expect(runs).to_have_count(2)
    expect(runs.first).to_contain_text("A = <urn:e2>")
    expect(runs.first).to_contain_text("?a = <urn:x2>, ?x = 2")
    expect(runs.first).to_contain_text("until 2026-01-01 01:00:02")
    fresh.advance("s", "2026-01-01T01:00:02Z")
    expect(runs).to_have_count(1)
    fresh.advance("s", "2026-01-01T02:00:00Z")
    expect(page.get_by_text("0 partial matches wait here.")).to_be_visible()
    expect(runs).to_have_count(0)


def test_late_events_are_shown_with_their_reason(page: Page, fresh: Served) -> None:
    fresh.push("s", event("urn:e9", 9) + event("urn:e1", 1))
    page.goto(f"{fresh.address}/#/letters")
    page.get_by_role("row").filter(has_text="late").click()
    expect(page.get_by_role("heading", name="Dead letter 1")).to_be_visible()
    expect(page.get_by_role("button", name="s 0/s")).to_contain_text("1 late or malformed")
