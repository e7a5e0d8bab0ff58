"""Options that several commands share, and their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from spaseq.errors import InputError

DEBUG_KEY = "spaseq.debug"
EVALUATORS = ("auto", "nfa", "cea", "adaptive", "lazy", "tree")
QUERY = click.Path(path_type=Path)
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Folder(click.Path):
    """A folder here, or of another of Hadoop's file systems: the latter is left as it is written."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A path, or the text of one elsewhere."""
        from spaseq.inputs.paths import absolute, is_elsewhere

        text = str(value)
        if is_elsewhere(text):
            return text
        return super().convert(absolute(text) if text.lower().startswith("file:") else value, param, ctx)


class OutputFile(click.Path):
    """A file here; raises InputError for one of another file system."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A path."""
        from spaseq.inputs.paths import absolute, is_elsewhere

        text = str(value)
        if is_elsewhere(text):
            hint = "name a file here; jobs of 'spaseq submit' write to folders of Hadoop's file systems"
            raise InputError(f"'spaseq run' writes to files of this machine, and {text} is none", hint=hint)
        return super().convert(absolute(text) if text.lower().startswith("file:") else value, param, ctx)


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """The nanoseconds of `500ms`, `10s`, `5m`, `1h`, `2d`, `PT10S` or a number of seconds; None if it is not given."""
    from sparql_gpm.times import parse_duration

    try:
        return None if value is None else parse_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=context, param=parameter) from error


def quiet(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """The seconds of a duration, at least a millisecond; 0 for `off`."""
    if value == "off":
        return 0
    found = duration(context, parameter, value)
    if found is None or found < 1_000_000:
        raise click.BadParameter(f"'{value}' is less than 1ms; off is no end", ctx=context, param=parameter)
    return found / 1e9


def size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """The bytes of `64MiB`, `64M`, `512K`, `1G` or a number of bytes; None if it is not given."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,12})\s*(?:([KMG])(?:i?B)?|B)?", value.strip(), re.IGNORECASE)
    if found is None or not int(found[1]):
        raise click.BadParameter(f"'{value}' is no size; write it like 64MiB or 512K", ctx=context, param=parameter)
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[(found[2] or "").upper()]


def predicates(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The properties and paths of `--time-predicate`, as written; raises InputError for anything else."""
    from spaseq.inputs.event_times import is_path

    for text in values:
        if not is_path(text):
            hint = "write http://www.w3.org/ns/sosa/resultTime, a path <IRI1>/<IRI2>, or prefixed names of the query"
            raise InputError(f"--time-predicate '{text}' is neither an IRI nor a path", hint=hint)
    return values


def by_name(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | str | None:
    """VALUE for all streams, or the values by NAME of NAME=VALUE; raises InputError for both."""
    found: dict[str, str] = {}
    for text in values:
        name, equals, value = text.rpartition("=")
        if name in found or (found and not equals) or (equals and not value) or "" in found:
            option = parameter.opts[0]
            raise InputError(
                f"{option} '{text}' comes after another", hint=f"{option} VALUE once, or NAME=VALUE for each"
            )
        found[name] = value
    return found.get("", found) if found else None


def contexts(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | None:
    """The files by URL; raises InputError for a value without both."""
    found: dict[str, str] = {}
    for text in values:
        url, _, path = text.rpartition("=")
        if not url or not path or url in found:
            raise InputError(f"--context '{text}' is malformed or given twice", hint="--context URL=FILE")
        found[url] = path
    return found or None


def names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(name.strip() for name in value.split(",")) if value else ()


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.meta[DEBUG_KEY] = True


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or context.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("spaseq")
    except PackageNotFoundError:
        number = "(not installed)"
    click.echo(f"spaseq {number}")
    context.exit()


def _all(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Several options, which `--help` shows in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


_eager = partial(click.option, is_flag=True, is_eager=True, expose_value=False)


def _stream_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    from spaseq.cli.completion import stream_names

    return list(stream_names(context, parameter, incomplete))


_repeated = partial(click.option, multiple=True)
stream_option = partial(_repeated, "--stream", "streams", metavar="NAME=PATH", shell_complete=_stream_names)
kb_option = partial(_repeated, "--kb", "knowledge", metavar="IRI=PATH_OR_URL")
debug_option = _eager("--debug", callback=_set_debug, help="Show the traceback of an internal error.")
version_option = _eager("--version", callback=_show_version, help="Print the version and exit.")
knowledge_options = _all(
    _repeated(
        "--kb-failure",
        metavar="[IRI=]POLICY",
        help="When an endpoint fails: wait until it is back (but fail after 10 invalid answers to one request), "
        "skip (and count) or fail.  [default: wait]",
    ),
    _repeated(
        "--kb-refresh",
        metavar="[IRI=]DURATION",
        help="Look for changed files this often; believe an endpoint's answers this long.  [default: never; 5m]",
    ),
    _repeated("--kb-timeout", metavar="[IRI=]DURATION", help="For an answer of an endpoint.  [default: 30s]"),
    _repeated(
        "--entail",
        "kb_entail",
        metavar="[IRI=]rdfs",
        help="Apply subclasses, subproperties, domains and ranges of the knowledge base to it and to all events, "
        "whether a query names it or not. A prepared file built with --entail rdfs needs no option.",
    ),
    _repeated(
        "--allow-host",
        "allow_hosts",
        metavar="HOST",
        help="Ask endpoints on these hosts only.  [default: those that the query and --kb name]",
    ),
)
"""The options of knowledge bases: each for all of them, or as IRI=VALUE for one."""
_max_line_option = click.option(
    "--max-line",
    metavar="SIZE",
    callback=size,
    help="The longest line, TriG statement or graph block, or file of one event; longer ones are dead letters."
    "  [default: 64MiB]",
)
limit_options = _all(
    _max_line_option,
    click.option(
        "--max-runs",
        metavar="N",
        type=click.IntRange(min=1),
        help="The most partial matches of one query; one that needs more is stopped (exit 1), the others go on."
        "  [default: 10,000,000]",
    ),
    click.option(
        "--max-solutions",
        metavar="N",
        type=click.IntRange(min=1),
        help="Solutions of one pattern in one event; an event with more is a dead letter.  [default: 1,000,000]",
    ),
    click.option(
        "--max-event-seconds",
        metavar="S",
        type=click.FloatRange(min=0, min_open=True),
        help="CPU time of matching one pattern in one event; an event that takes more is a dead letter."
        "  [default: any]",
    ),
)
"""Bounds on what one input, event or query may take."""
analyze_options = _all(
    click.option(
        "--analyze",
        "funnel_table",
        is_flag=True,
        help="Show on stderr how many events each part of each step left over, and what became of them.",
    ),
    click.option(
        "--analyze-output",
        "funnel_output",
        metavar="PATH",
        type=OutputFile(),
        help="Write the same to this file as JSON, one line a query.",
    ),
)
"""The funnel of each query."""
evaluator_option = click.option(
    "--evaluator",
    type=click.Choice(EVALUATORS),
    default="auto",
    show_default=True,
    metavar="[auto|nfa|cea|lazy|tree]",
    help="How sequences are evaluated; every evaluator gives the same rows. 'adaptive' exchanges nfa, lazy and tree "
    "as rates are measured.",
)
queries_argument = click.argument("queries", metavar="QUERY…", nargs=-1, required=True, type=QUERY)
max_delay_option = click.option(
    "--max-delay",
    "max_delay_ns",
    metavar="DURATION",
    callback=duration,
    default="0s",
    help="How late an event may come, in event time: 500ms, 10s, 5m, 1h, 2d.  [default: 0s]",
)
warnings_option = click.option(
    "-W",
    "warnings",
    type=click.Choice(["error"]),
    help="Take warnings about a query for errors: exit with 2 and run nothing.",
)
strict_option = click.option("--strict", is_flag=True, help="Stop at the first late event or malformed input.")
time_options = _all(
    _repeated(
        "--time-predicate",
        "time_predicates",
        metavar="IRI",
        callback=predicates,
        help="The property that gives an event's time, of the graph's name or inside the graph, in place of "
        "prov:generatedAtTime: an IRI, a path <IRI1>/<IRI2>, or prefixed names of the query. Repeat it to "
        "accept several.",
    ),
    click.option(
        "--time-choice",
        type=click.Choice(["earliest", "latest"]),
        help="The time of a graph inside which several values differ.  [default: it is malformed]",
    ),
    click.option(
        "--time-unit",
        type=click.Choice(["s", "ms", "us", "ns"]),
        help="What a time that is a number counts.  [default: s]",
    ),
    click.option("--time-origin", metavar="DATETIME", help="When such numbers begin.  [default: 1970-01-01]"),
)
"""The time of an event."""
template_option = _repeated(
    "--template",
    metavar="[NAME=]FILE",
    callback=by_name,
    help="What a row of CSV, TSV, Parquet or NDJSON means: TriG with <{column}>, <http://x/{column}>, "
    '"{column}" and ?column.',
)
format_options = _all(
    _repeated(
        "--input-format",
        "input_format",
        metavar="[NAME=]FORMAT",
        callback=by_name,
        help="The format of the inputs, or of stream NAME.  [default: their suffixes say it]",
    ),
    template_option,
    _repeated(
        "--context",
        "contexts",
        metavar="URL=FILE",
        callback=contexts,
        help="A context of JSON-LD, in place of its URL. None is ever fetched.",
    ),
    click.option(
        "--columns",
        metavar="A,B,…",
        callback=names,
        help="The columns of CSV and TSV without a header.",
    ),
    click.option("--delimiter", metavar="C", help="The character between the cells of CSV.  [default: ,]"),
)
"""The formats of inputs."""
inputs_argument = click.argument("inputs", metavar="INPUT…", nargs=-1, required=True)
events_output_option = click.option(
    "-o",
    "--output",
    metavar="OUTPUT",
    type=OutputFile(),
    required=True,
    help="The file to write; its suffix says the format: .nq, .trig or .jelly, plain or with .gz or .zst.",
)
event_options = _all(
    format_options,
    time_options,
    click.option(
        "--dead-letter", metavar="PATH", type=OutputFile(), help="Write malformed input to this file, as NDJSON."
    ),
    strict_option,
    _max_line_option,
)
"""How events are read where there is no query."""
why_options = _all(
    stream_option(help="A stream, as for 'spaseq run'."),
    kb_option(help="A knowledge base, as for 'spaseq run'."),
    click.option("--query", "name", metavar="NAME", help="The query that is asked about, of several."),
    max_delay_option,
    time_options,
    format_options,
    limit_options,
    knowledge_options,
    warnings_option,
)
"""A query and its input, as `spaseq run` had them."""
answer_option = partial(click.option, "--format", default="text", show_default=True)
asked_options = _all(
    _repeated("--bind", metavar="NAME=TERM", help="A variable of the match, and its term as in the query."),
    _repeated("--event", "events", metavar="STEP=GRAPH", help="A graph that is an event of this step."),
    click.option("--from", "since", metavar="T", help="No event of the match is before this xsd:dateTime."),
    click.option("--to", "until", metavar="T", help="No event of the match is after this xsd:dateTime."),
)
"""The match that is missing."""
