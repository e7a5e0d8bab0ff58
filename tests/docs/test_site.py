"""The site of the documentation: it is built without a warning, links lead somewhere, and no page asks another host."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from docs.site.assembly import relinked
from docs.site.building import build
from docs.site.checks import faults_of
from docs.site.cli_page import cli_page, commands
from docs.site.configuration import Page, configuration_of
from spaseq.cli import main

ROOT = Path(__file__).parents[2]


def test_the_site_is_whole(tmp_path: Path) -> None:
    assert build(ROOT, tmp_path) == []
    assert len(list((tmp_path / "site").rglob("index.html"))) > 30


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="../b/">', "../b/ leads nowhere"),
        ('<a href="#gone">', "#gone: the page has no such heading"),
        ('<script src="https://example.org/x.js">', "loads https://example.org/x.js from another host"),
        ('<img src="//example.org/x.png">', "loads //example.org/x.png from another host"),
        ('<link rel="stylesheet" href="https://example.org/x.css">', "loads https://example.org/x.css from"),
        ('<pre class="mermaid">', "the theme loads mermaid"),
    ],
)
def test_a_fault_of_a_page_is_found(tmp_path: Path, page: str, fault: str) -> None:
    (tmp_path / "index.html").write_text(f'<h1 id="here"></h1><a href="#here"></a>{page}')
    (found,) = faults_of(tmp_path)
    assert found.startswith(f"index.html: {fault}")


def test_a_style_that_loads_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.css").write_text("@font-face { src: url(https://example.org/font.woff2) }")
    assert faults_of(tmp_path) == ["x.css: loads from another host"]


def test_links_follow_their_pages_and_files_are_named() -> None:
    known = {"docs/a.md": "a.md", "kb/README.md": "project/kb.md"}
    text = "[a](../docs/a.md#x) [kb](../kb) [`Makefile`](../Makefile) [it](../Makefile)\n```\n[a](b)\n```\n"
    told = relinked(ROOT, text, "kb/README.md", "project/kb.md", known)
    assert told == "[a](../a.md#x) [kb](kb.md) `Makefile` it (`Makefile`)\n```\n[a](b)\n```\n"
    with pytest.raises(ValueError, match=r"kb/README\.md: gone\.md leads nowhere"):
        relinked(ROOT, "[a](gone.md)", "kb/README.md", "project/kb.md", known)


def test_a_page_outside_of_all_sections_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no section of the site has elsewhere/a\.md"):
        configuration_of([Page("elsewhere/a.md", "A")])


def test_the_page_of_the_command_line_has_every_command_and_option() -> None:
    page = cli_page()
    for command, context in commands(main, click.Context(main)):
        section = page.split(f"\n## {context.command_path}\n")[1].split("\n## ")[0]
        names = [name for each in command.params if isinstance(each, click.Option) for name in each.opts]
        assert [name for name in names if name not in section] == []
