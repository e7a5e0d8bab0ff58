"""The inputs of a cell: a name on the right of `=` is a variable of the notebook, anything else a path or URL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kb.source import Source
from spaseq.algebra.nodes import TemporalQuery
from spaseq.cli.bindings import bind_knowledge, bind_streams
from spaseq.cli.knowledge import KnowledgeArguments, sources_of
from spaseq.cli.reporting import say_warning
from spaseq.engine.streams import PathLike
from spaseq.errors import InputError
from spaseq.inputs.graphs import is_graph
from spaseq.inputs.tables.options import is_table
from spaseq.notebook.datasets import events_file

_DATASET = "nquads"
"""The format of the file of a dataset."""


class Inputs:
    """The inputs of one run.

    variables   of the notebook, by name
    folder      for files that live as long as the run
    datasets    the IRIs of streams that are files of N-Quads, made of datasets, whose events are to be sorted
    """

    def __init__(self, variables: Mapping[str, Any], folder: Path) -> None:
        self._variables = variables
        self._folder = folder
        self.datasets: set[str] = set()

    def streams(self, query: TemporalQuery, assignments: Sequence[str]) -> dict[str, Any]:
        """A path or table for each stream by IRI; raises InputError for values that are neither, nor a dataset."""
        found = bind_streams([query], assignments)
        return {iri: self._stream(iri, text, number) for number, (iri, text) in enumerate(found.items())}

    def knowledge(
        self, query: TemporalQuery, assignments: Sequence[str], arguments: KnowledgeArguments
    ) -> dict[str, Any]:
        """A source or graph for each knowledge base by IRI; raises InputError."""
        texts, unused = bind_knowledge([query], assignments)
        for iri in unused:
            say_warning(f"the query does not use the knowledge base <{iri}>")
        values = {iri: self._value(text) for iri, text in texts.items()}
        graphs = {iri: value for iri, value in values.items() if is_graph(value) or isinstance(value, Source)}
        paths = {iri: self._path(value, texts[iri]) for iri, value in values.items() if iri not in graphs}
        return {**sources_of(paths, arguments), **graphs}

    def templates(self, given: Mapping[str, PathLike] | PathLike | None) -> Mapping[str, str] | str | None:
        """The paths of templates; the text of one in a variable is written to a file first."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            numbered = enumerate(given.items())
            return {name: self._template(os.fspath(text), str(number)) for number, (name, text) in numbered}
        return self._template(os.fspath(given), "")

    def formats(self, streams: Iterable[str], given: Mapping[str, str] | str | None) -> Mapping[str, str] | str | None:
        """The formats of inputs, where one for all does not hold for datasets; `streams` by IRI."""
        if not isinstance(given, str) or not self.datasets:
            return given
        return {iri: _DATASET if iri in self.datasets else given for iri in streams}

    def _stream(self, iri: str, text: str, number: int) -> Any:
        if text == "-":
            raise InputError("a notebook has no standard input", hint="give a variable or a path")
        value = self._value(text)
        if is_graph(value):
            self.datasets.add(iri)
            return str(events_file(value, self._folder / f"stream{number}.nq", text))
        return value if is_table(value) else self._path(value, text)

    def _template(self, text: str, number: str) -> str:
        value = self._value(text)
        if isinstance(value, str) and "\n" in value:
            file = self._folder / f"template{number}.trig"
            file.write_text(value, encoding="utf-8")
            return str(file)
        return self._path(value, text)

    def _value(self, text: str) -> Any:
        """The variable of this name, or the text; raises InputError for a name of neither a variable nor a file."""
        if not text.isidentifier():
            return text
        if text not in self._variables and not Path(text).exists():
            raise InputError(
                f"there is no variable {text}, and no file of this name", hint="run the cell that makes it"
            )
        return self._variables.get(text, text)

    @staticmethod
    def _path(value: Any, name: str) -> str:
        if isinstance(value, str | os.PathLike) and isinstance(path := os.fspath(value), str):
            return path
        kind = type(value).__name__
        hint = (
            "a stream is a path, a table of pandas, polars or Arrow, or a Dataset; a knowledge base a path or a graph"
        )
        raise InputError(f"the variable {name} is no input, but a value of type {kind}", hint=hint)
