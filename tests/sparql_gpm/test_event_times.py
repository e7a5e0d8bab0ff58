"""The time of an event: inside the graph, along a path, one of several, and numbers in other units."""

from __future__ import annotations

import pytest

from sparql_gpm.rdf_io import PROV_TIME, ReadOptions
from sparql_gpm.reading.event_times import TimeRule
from tests.sparql_gpm.rdf_events import PREFIXES, Event, read, stamp

XSD = "http://www.w3.org/2001/XMLSchema#"
AT = "http://www.w3.org/ns/sosa/resultTime"
SECOND = 10**9
FORMATS = {"nquads": False, "kernels": True, "trig": None}


def at(predicate: str, second: int, subject: str = "urn:s") -> str:
    return f'<{subject}> <{predicate}> "1970-01-01T00:00:{second:02}Z"^^<{XSD}dateTime>'


def in_form(form: str, graphs: dict[str, list[str]], default: str = "") -> tuple[str, str]:
    """The graphs as text, and its format."""
    if form == "trig":
        return PREFIXES + default + "".join(
            f"<{g}> {{ {' . '.join(triples)} }}\n" for g, triples in graphs.items()
        ), form
    lines = "".join(f"{triple} <{g}> .\n" for g, triples in graphs.items() for triple in triples)
    filler = "".join(stamp(f"<urn:f{n}>", 1) for n in range(400)) if form == "kernels" else ""
    return filler + default + lines, "nquads"


def taken(
    form: str, graphs: dict[str, list[str]], options: ReadOptions, default: str = ""
) -> tuple[list[Event], list[str]]:
    text, rdf_format = in_form(form, graphs, default)
    how = ReadOptions(options.time_predicates, compiled=FORMATS[form], time_rule=options.time_rule)
    events, reports = read(text, rdf_format, how)
    return [event for event in events if not event.name.startswith("urn:f")], [
        each.reason for each in reports if each.kind != "default graph"
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_the_value_inside_the_graph_gives_the_time_whatever_its_subject(form: str) -> None:
    graphs = {
        "urn:g": [at(AT, 5)],
        "urn:h": ["<urn:s> <urn:p> 7" if form == "trig" else "<urn:s> <urn:p> <urn:o>", at(AT, 6, "urn:x")],
    }
    events, reasons = taken(form, graphs, ReadOptions((AT,)))
    assert [(event.name, event.time, len(event.triples)) for event in events] == [
        ("urn:g", 5 * SECOND, 1), ("urn:h", 6 * SECOND, 2),
    ]  # fmt: skip
    assert reasons == []


@pytest.mark.parametrize("form", FORMATS)
def test_a_triple_about_the_name_of_the_graph_comes_first(form: str) -> None:
    events, reasons = taken(
        form, {"urn:g": [at(PROV_TIME, 5), at(PROV_TIME, 6)]}, ReadOptions(), at(PROV_TIME, 9, "urn:g") + " .\n"
    )
    assert ([event.time for event in events], reasons) == ([9 * SECOND], [])


@pytest.mark.parametrize("form", FORMATS)
def test_several_values_that_differ_are_malformed_unless_a_choice_is_made(form: str) -> None:
    graphs = {"urn:g": [at(AT, 7), at(AT, 5), at(AT, 6, "urn:x")]}
    events, reasons = taken(form, graphs, ReadOptions((AT,)))
    shown = "1970-01-01T00:00:05Z and 1970-01-01T00:00:06Z"
    assert (events, reasons) == ([], [f"graph <urn:g> has two different timestamps, {shown}"])
    for choice, second in (("earliest", 5), ("latest", 7)):
        events, reasons = taken(form, graphs, ReadOptions((AT,), time_rule=TimeRule(choice=choice)))
        assert ([event.time for event in events], reasons) == ([second * SECOND], [])


@pytest.mark.parametrize("form", FORMATS)
def test_a_path_is_followed_from_any_subject(form: str) -> None:
    rule = TimeRule((("urn:phenomenonTime", "urn:in"),))
    graph = ["<urn:o> <urn:phenomenonTime> <urn:t>", at("urn:in", 8, "urn:t"), at("urn:in", 9, "urn:other")]
    events, reasons = taken(form, {"urn:g": graph, "urn:h": graph[1:]}, ReadOptions((), time_rule=rule))
    assert [(event.name, event.time) for event in events] == [("urn:g", 8 * SECOND)]
    assert reasons == ["graph <urn:h> has no timestamp, but dateTime values of <urn:in>"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("unit", "factor"), [(1, 1), (1000, 1000), (10**6, 10**6), (SECOND, SECOND)])
def test_numbers_count_units_from_an_origin(form: str, unit: int, factor: int) -> None:
    inside = f'<urn:s> <{AT}> "25"^^<{XSD}integer>'
    rule = TimeRule(unit_ns=unit, origin_ns=100 * SECOND)
    default = f'<urn:h> <{AT}> "2.5"^^<{XSD}decimal> .\n'
    events, reasons = taken(form, {"urn:g": [inside]}, ReadOptions((AT,), time_rule=rule), default)
    assert [(each.name, each.time - 100 * SECOND) for each in sorted(events, key=lambda each: each.name)] == [
        ("urn:g", 25 * factor), ("urn:h", 25 * factor // 10),
    ]  # fmt: skip
    assert reasons == []


@pytest.mark.parametrize("form", FORMATS)
def test_the_report_names_properties_that_have_a_time(form: str) -> None:
    _, reasons = taken(form, {"urn:g": [at("urn:seen", 1), at(AT, 2), at(AT, 3)]}, ReadOptions())
    assert reasons == [f"graph <urn:g> has no timestamp, but dateTime values of <urn:seen> and <{AT}>"]


def test_a_value_inside_that_is_no_time_is_a_bad_timestamp() -> None:
    _, reports = read(f'<urn:s> <{AT}> "soon" <urn:g> .\n', options=ReadOptions((AT,)))
    assert [(report.kind, report.whole_event) for report in reports] == [("bad timestamp", True)]
