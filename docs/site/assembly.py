"""The pages of the site in one folder: those of docs/, those of the project, and those made from the code."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from docs.site.api_page import api_page
from docs.site.cli_page import cli_page
from docs.site.colours import with_colours
from docs.site.cookbook_pages import cookbook_pages
from docs.site.errors_page import errors_page
from docs.site.grammar_page import grammar_page
from docs.site.http_page import http_page
from docs.site.pictures import with_pictures

GENERATED: Mapping[str, Callable[[], str]] = {
    "reference/grammar.md": grammar_page,
    "reference/cli.md": cli_page,
    "reference/api.md": api_page,
    "reference/http.md": http_page,
    "reference/errors.md": errors_page,
    **cookbook_pages(),
}
"""Pages made from the code, by their place on the site."""

PROJECT = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "*/README.md",
    "*/*/README.md",
    "*/*/*/README.md",
)
"""Pages of the repository that the site has as well, below project/."""

ELSEWHERE = ("docs", "out", "build", "dist", "node_modules")
PICTURES = (".svg", ".webp", ".png")

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^(```.*?^```|~~~.*?^~~~)[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its path on the site and its title."""

    path: str
    title: str


def assemble(root: Path, target: Path) -> list[Page]:
    """The pages, written below `target` with links that lead from page to page; pictures beside them.

    A link to a file that is no page becomes the path of the file, since the site has no repository to show it.
    """
    texts = {name: make() for name, make in GENERATED.items()}
    places = dict(_places(root))
    for source, place in places.items():
        texts[place] = (root / source).read_text(encoding="utf-8")
    sources = {place: source for source, place in places.items()} | {name: f"docs/{name}" for name in GENERATED}
    known = places | {f"docs/{name}": name for name in GENERATED} | dict(_pictures(root, target))
    for place, text in texts.items():
        page = target / place
        page.parent.mkdir(parents=True, exist_ok=True)
        shown = with_colours(with_pictures(relinked(root, text, sources[place], place, known)))
        page.write_text(shown, encoding="utf-8")
    return [Page(place, title_of(text, place)) for place, text in sorted(texts.items())]


def title_of(text: str, place: str) -> str:
    """The first heading of a page. Raises ValueError for a page without one."""
    found = _TITLE.search(_FENCE.sub("", text))
    if found is None:
        raise ValueError(f"{place} has no title: begin it with '# …'")
    return found[1].replace("`", "")


def relinked(root: Path, text: str, source: str, place: str, known: Mapping[str, str]) -> str:
    """The text of the page `source` with its links as they are at `place`; code blocks stay as they are.

    known    places on the site by path in the repository

    Raises ValueError for a link to a file that the repository does not have.
    """

    def link(found: re.Match[str]) -> str:
        mark, words, target, anchor = found[1], found[2], found[3], found[4] or ""
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = normpath(join(dirname(source), target))
        if path in known or f"{path}/README.md" in known:
            there = known.get(path) or known[f"{path}/README.md"]
            return f"{mark}[{words}]({relpath(there, dirname(place) or '.')}{anchor})"
        if not (root / path).exists():
            raise ValueError(f"{source}: {target} leads nowhere")
        return words if words.strip("`") in (path, target) else f"{words} (`{path}`)"

    pieces = _FENCE.split(text)
    return "".join(piece if piece.startswith(("```", "~~~")) else _LINK.sub(link, piece) for piece in pieces)


def _places(root: Path) -> Iterator[tuple[str, str]]:
    """Path in the repository and place on the site of each page that people write."""
    for path in sorted((root / "docs").rglob("*.md")):
        yield str(path.relative_to(root)), str(path.relative_to(root / "docs"))
    for pattern in PROJECT:
        for path in sorted(root.glob(pattern)):
            source = path.relative_to(root)
            if not source.parts[0].startswith(".") and not set(source.parts) & set(ELSEWHERE):
                name = str(source.parent) if source.name == "README.md" else source.stem.lower()
                yield str(source), f"project/{name}.md"


def _pictures(root: Path, target: Path) -> Iterator[tuple[str, str]]:
    """The pictures of docs/, copied; path in the repository and place on the site."""
    for path in sorted((root / "docs").rglob("*")):
        if path.suffix in PICTURES:
            place = path.relative_to(root / "docs")
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / place)
            yield str(path.relative_to(root)), str(place)
