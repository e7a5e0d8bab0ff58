"""The formats and templates of streams, as options give them: one for all streams, or one by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sparql_gpm.reading.json_contexts import context_of
from spaseq.engine.options import RunOptions
from spaseq.errors import InputError
from spaseq.inputs.event_times import TimeReading
from spaseq.inputs.formats import check_format
from spaseq.inputs.reading import StreamFormat
from spaseq.inputs.tables.options import ROWS_MAX, TableOptions
from spaseq.inputs.tables.template import Template, parse_template


def stream_format(options: RunOptions, names: Iterable[str], time: TimeReading) -> StreamFormat:
    """The format of the stream with these names; raises InputError for a template or format that cannot be used."""
    known = tuple(names)
    template, name = _of(options.template, known), _of(options.input_format, known)
    if name is not None:
        check_format(name)
    rows_max = options.batch_events or ROWS_MAX
    table = TableOptions(tuple(options.columns), options.delimiter, rows_max, options.max_line)
    return StreamFormat(name, None if template is None else _template(template, time), table, options.follow)


def known_by(options: RunOptions, names: Iterable[str]) -> tuple[str | None, bool]:
    """The format that is given for the stream with these names, and True if it has a template."""
    known = tuple(names)
    return _of(options.input_format, known), _of(options.template, known) is not None


def contexts_of(options: RunOptions) -> dict[str, Any]:
    """The contexts of JSON-LD by URL; raises InputError for a file that is none."""
    found = {}
    for url, path in options.contexts.items():
        try:
            found[url] = context_of(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read the context {path}: {error.strerror}", hint="check the path") from error
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is no JSON-LD context: {error}", hint='it is JSON: {"@context": …}') from error
    return found


def check_names(options: RunOptions, names: Iterable[str]) -> None:
    """Raises InputError for a template or format of a stream that there is not."""
    known = set(names)
    for option, given in (("template", options.template), ("input format", options.input_format)):
        if isinstance(given, Mapping) and (unknown := next((each for each in given if each not in known), None)):
            hint = f"the streams are {', '.join(sorted(known))}"
            raise InputError(f"the {option} is that of a stream '{unknown}', which there is not", hint=hint)


def _of(given: Any, names: tuple[str, ...]) -> Any:
    if isinstance(given, Mapping):
        return next((given[name] for name in names if name in given), None)
    return given


def _template(path: str | os.PathLike[str], time: TimeReading) -> Template:
    name = os.fspath(path)
    try:
        text = Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read the template {name}: {error.strerror}", hint="check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no UTF-8: {error.reason}", hint="a template is TriG, in UTF-8") from error
    return parse_template(text, name, time.predicates)
