"""Displays in notebooks: escaped, bounded, and registered without importing what they show."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from IPython.core.formatters import DisplayFormatter

import spaseq
from sparql_gpm.terms import IRI, Literal
from spaseq.engine.options import Statistics
from spaseq.explain.funnel import FilterCount, Funnel, PatternCount, StepCount
from spaseq.notebook.answer import Answer
from spaseq.notebook.displays import register_displays
from spaseq.notebook.pictures import funnel_html
from spaseq.notebook.progress import CellProgress
from spaseq.notebook.rows_html import ROWS_SHOWN_MAX
from spaseq.notebook.timeline import ROWS_DRAWN_MAX, timeline_svg
from spaseq.outputs.rows import Row

QUERY = spaseq.parse("""
PREFIX : <http://x/>
SELECT ?a WITHIN 1 HOUR FROM STREAM S <http://x/s> WHERE { SEQ(A) DEFINE GPM A ON S { ?s :p ?a } }""")
MINUTE = 60_000_000_000
HOSTILE = "<script>alert(1)</script>\"'&\u202e\x00</td></table><img src=x onerror=alert(1)>"


def rows(count: int, text: str = "x") -> list[Row]:
    return [
        Row("query", (i + 1) * MINUTE, i * MINUTE, (("a", Literal(text)),), (("A", (f"http://x/{i}", "http://x/<b>")),))
        for i in range(count)
    ]


def test_no_term_and_no_name_is_read_as_html() -> None:
    made = Row("query", MINUTE, 0, (("a", Literal(HOSTILE)),), (("A<b>", (HOSTILE,)), ("A", (HOSTILE, HOSTILE))))
    html = Answer(QUERY, [made, *rows(2, HOSTILE)], reasons=[HOSTILE])._repr_html_()
    none = Answer(QUERY, [], reasons=[HOSTILE])._repr_html_()
    part = PatternCount(HOSTILE, 1, 1, 1)
    step = StepCount(HOSTILE, 2, (part,), (FilterCount(HOSTILE, 1, 1),), (), 0, 1)
    for text in (html, none, funnel_html(Funnel(HOSTILE, (step,), (), 1, 1, {HOSTILE: 1}))):
        root = ElementTree.fromstring(text)
        assert {element.tag.rpartition("}")[2] for element in root.iter()}.isdisjoint({"script", "img", "b"})
        assert "onerror=alert(1)&gt;" in text and "\u202e" not in text and "\x00" not in text


def test_a_construct_row_shows_its_graph() -> None:
    query = spaseq.parse(QUERY.text.replace("SELECT ?a", "CONSTRUCT { ?a :q <http://x/b> }"))
    row = Row("query", MINUTE, 0, (), (("A", ("http://x/e",)),), "http://x/g", ((IRI("http://x/<i>"),) * 3,))
    html = Answer(query, [row])._repr_html_()
    assert "<td>:g</td>" in html and "<i>" not in html


@pytest.mark.parametrize("count", [ROWS_SHOWN_MAX, 10 * ROWS_SHOWN_MAX])
def test_a_display_is_bounded_and_says_what_is_beyond(count: int) -> None:
    html = Answer(QUERY, rows(count, "y" * 5000))._repr_html_()
    assert html.count("<tr>") == ROWS_SHOWN_MAX + 1 and html.count("<rect") == ROWS_DRAWN_MAX
    assert len(html) < 100_000
    assert (f"and {count - ROWS_SHOWN_MAX} more rows" in html) == (count > ROWS_SHOWN_MAX)
    assert f"{count} rows" in html


def test_bars_stand_where_their_time_is() -> None:
    root = ElementTree.fromstring(timeline_svg(rows(4)))
    bars = [element for element in root if element.tag.endswith("rect")]
    assert [float(bar.attrib["x"]) for bar in bars] == [10, 185, 360, 535]
    assert {float(bar.attrib["width"]) for bar in bars} == {175}
    assert timeline_svg([]) == ""
    ElementTree.fromstring(timeline_svg([Row("query", MINUTE, MINUTE)]))


def test_a_query_and_its_description_show_the_automaton_and_a_funnel_its_bars() -> None:
    formatter = DisplayFormatter()
    formatter.active_types = formatter.format_types
    register_displays(formatter)
    for value in (QUERY, spaseq.describe(QUERY)):
        shown, _ = formatter.format(value)
        assert shown["image/svg+xml"].startswith('<svg style="background: #fff"') and shown["text/plain"].strip()
    assert formatter.format(QUERY)[0]["text/plain"] == QUERY.text
    shown, _ = formatter.format(Funnel("query", (), (), 7))
    assert "<td>7</td>" in shown["text/html"]


def test_progress_is_one_display_that_is_written_again_a_few_times_a_second() -> None:
    written: list[str] = []
    displays: list[str] = []
    now = [0.0]

    def show(value: object) -> SimpleNamespace:
        displays.append(repr(value))
        return SimpleNamespace(update=lambda line: written.append(repr(line)))

    progress, counted = CellProgress(show, lambda: now[0]), Statistics()
    for each in range(100):
        now[0], counted.events = each / 100, 10 * each
        progress.update(counted)
    counted.events, now[0] = 1000, 1.0
    progress.finish(counted)
    assert len(displays) == 1 and 2 <= len(written) <= 5
    assert written[-1] == "1,000 events · 1,000 events/s · 0 matches · lag 0 s · 1 s"
