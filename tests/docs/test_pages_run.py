"""Commands on the pages of docs/ give the answers that are printed; queries and data on them can be read.

A block with a title is a file; the commands of `console` blocks run in a folder with the files that stand before them.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from docs.site.cli_page import commands as every_command
from spaseq.cli import main
from spaseq.lang.parse import check
from spaseq.service.settings.toml import read_configuration

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```([\w-]+)(?: title=\"([^\"]+)\")?(?: \w+)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = {"why-not.md", "testing.md", "live.md", "connectors.md"}
"""Pages whose commands have tests of their own."""
GROUPS = {"kb", "spark"}
SOURCES, SINKS = ("kafka", "mqtt", "sse", "websocket", "files"), ("kafka", "webhook", "file")
DATA = {"trig": ox.RdfFormat.TRIG, "turtle": ox.RdfFormat.TURTLE, "nquads": ox.RdfFormat.N_QUADS}
PREFIXES = "".join(
    f"@prefix {name}: <urn:{name or 'x'}:> .\n" for name in ("", "s", "var", "step", "prov", "xsd", "sosa", "ex")
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its language, the file that it is, and its text."""

    language: str
    file: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(found[1], found[2] or "", found[3])


def with_commands() -> list[Path]:
    """The pages whose commands have their files on the page."""
    return [page for page in PAGES if page.name not in ELSEWHERE and any(block.file for block in blocks(page))]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console and what is printed below it."""
    for piece in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, answer = piece.partition("\n")
        yield command, answer


@pytest.mark.parametrize("page", with_commands(), ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = 0
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.language == "console":
            for command, answer in commands(block.text):
                program, *words = shlex.split(command)
                assert program == "spaseq", command
                assert CliRunner().invoke(main, words).output == answer, command
                ran += 1
    assert ran


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_queries_and_data_on_a_page_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "sparql" and block.text.lstrip().startswith(("PREFIX", "SELECT", "CONSTRUCT", "REGISTER")):
            query, problems = check(block.text)
            assert query is not None, problems
        if block.language in DATA:
            stated = re.findall(r"@prefix (\w*):", block.text)
            known = [line for line in PREFIXES.splitlines() if line.split()[1][:-1] not in stated]
            head = "\n".join(known) if block.language != "nquads" else ""
            assert list(ox.parse(f"{head}\n{block.text}", DATA[block.language]))


def test_the_tutorials_and_guides_are_run() -> None:
    names = {page.stem for page in with_commands()}
    assert names >= {"first-match", "knowledge-base", "out-of-order", "contiguity", "formats"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_settings_and_documents_on_a_page_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "toml":
            assert tomllib.loads(block.text)
        if block.language == "json":
            assert all(json.loads(line) for line in block.text.splitlines() if block.file) or json.loads(block.text)
        if block.language == "python" and ">>>" not in block.text:
            compile(block.text, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_source_and_sink_on_the_page_of_connectors_is_one(tmp_path: Path) -> None:
    (tmp_path / "cheap.rq").write_text("SELECT …", encoding="utf-8")
    (tmp_path / "edits.trig").touch()
    kinds = set[tuple[str, str]]()
    for block in blocks(DOCS / "how-to" / "connectors.md"):
        if block.language != "toml" or block.file:
            continue
        table = next((head for head in ("source", "sinks") if block.text.startswith(f"{head} = ")), "")
        head = {"source": '[streams.s]\niri = "urn:s"\n', "sinks": '[queries.q]\nfile = "cheap.rq"\n', "": ""}[table]
        text = block.text.replace("[streams.power.source]", '[streams.power]\niri = "urn:s"\n[streams.power.source]')
        (tmp_path / "spaseq.toml").write_text(head + text, encoding="utf-8")
        read = read_configuration(tmp_path / "spaseq.toml")
        made = [stream.source for stream in read.streams.values()]
        kinds |= {("source", kind) for source in made for kind in SOURCES if getattr(source, kind, None)}
        sinks = [sink for query in read.queries.values() for sink in query.sinks]
        kinds |= {("sink", kind) for sink in sinks for kind in SINKS if getattr(sink, kind)}
    assert kinds == {*(("source", kind) for kind in SOURCES), *(("sink", kind) for kind in SINKS)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_commands_on_a_page_have_options_that_there_are(page: Path) -> None:
    """Every `spaseq …` in a block of sh or console, or in one without a language, names commands and options."""
    known = {context.command_path: command for command, context in every_command(main, click.Context(main))}
    for words in named_commands(page.read_text(encoding="utf-8")):
        paths = [" ".join(words[:length]) for length in (3, 2) if " ".join(words[:length]) in known]
        assert paths or words[1].startswith("-") or words[1] in GROUPS, words
        options = {name for path in paths for each in known[path].params for name in (*each.opts, *each.secondary_opts)}
        used = {word.split("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)} if paths else set()
        assert used <= options | {"--help", "-h"}, (page.name, words, used - options)


def named_commands(text: str) -> Iterator[list[str]]:
    """The words of each command that a page names, without what is in brackets."""
    for block in re.findall(r"^```(?:sh|console|bash)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines = re.sub(r"\\\n", " ", block).splitlines()
        for line in lines:
            plain = re.sub(r"#.*|[\[\]]|&|\|.*", " ", line).removeprefix("$ ").strip()
            if plain.startswith("spaseq "):
                yield plain.replace("'", "").replace('"', "").split()
