"""The configuration of Zensical: the sections of the site in order, and nothing that asks another host."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from docs.site.assembly import Page
from docs.site.cookbook_pages import VOCABULARIES

SECTIONS = (
    ("Tutorials", "tutorials/"),
    ("How-to guides", "how-to/"),
    ("Cookbook", "cookbook/"),
    ("Reference", "reference/"),
    ("Explanation", "explanation/"),
    ("Project", "project/"),
)
"""The sections by the folders of their pages (Diátaxis: https://diataxis.fr)."""

FIRST = (
    "tutorials/first-match.md", "tutorials/knowledge-base.md", "tutorials/live.md", "cookbook/index.md",
    *(f"cookbook/{name}.md" for name in VOCABULARIES),
    "reference/language.md", "reference/grammar.md", "reference/specification.md", "reference/cli.md",
    "reference/api.md", "reference/http.md", "reference/errors.md",
    "explanation/semantics.md", "explanation/evaluators.md", "explanation/choosing.md", "explanation/reliability.md",
    "explanation/papers.md",
    "project/architecture.md", "project/changelog.md",
)  # fmt: skip
"""Pages that come before others of their section, which follow by title."""

SETTINGS = """[project]
site_name = "SPAseq"
site_description = "Temporal patterns over streams of RDF graphs"
docs_dir = "pages"
site_dir = "site"
nav = {nav}

[project.theme]
language = "en"
font = false
features = [
    "content.code.copy",
    "navigation.footer",
    "navigation.indexes",
    "navigation.top",
    "search.highlight",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark colours"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light colours"

[project.markdown_extensions]
admonition = {{}}
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.inlinehilite = {{}}
pymdownx.superfences = {{}}
"""


def configuration_of(pages: Sequence[Page]) -> str:
    """The text of zensical.toml for these pages. Raises ValueError for a page that no section has."""
    sections = [(title, list(_ordered(folder, pages))) for title, folder in SECTIONS]
    nav = [*_top(pages), *(_section(title, entries) for title, entries in sections if entries)]
    placed = {page.path for page in pages if "/" not in page.path or page.path.startswith(_folders())}
    if lost := [page.path for page in pages if page.path not in placed]:
        raise ValueError(f"no section of the site has {', '.join(lost)}")
    return SETTINGS.format(nav="[" + ", ".join(nav) + "]")


def _folders() -> tuple[str, ...]:
    return tuple(folder for _, folder in SECTIONS)


def _top(pages: Sequence[Page]) -> Iterator[str]:
    """The pages outside of all sections; the front page first."""
    top = [page for page in pages if "/" not in page.path]
    yield from (_entry(page) for page in sorted(top, key=lambda page: (page.path != "index.md", page.title)))


def _ordered(folder: str, pages: Sequence[Page]) -> Iterator[str]:
    def place(page: Page) -> tuple[int, str]:
        return (FIRST.index(page.path) if page.path in FIRST else len(FIRST), page.title.lower())

    yield from (_entry(page) for page in sorted((p for p in pages if p.path.startswith(folder)), key=place))


def _section(title: str, entries: Sequence[str]) -> str:
    return f"{{ {json.dumps(title)} = [{', '.join(entries)}] }}"


def _entry(page: Page) -> str:
    return f"{{ {json.dumps(page.title, ensure_ascii=False)} = {json.dumps(page.path)} }}"
