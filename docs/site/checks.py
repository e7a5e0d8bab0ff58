"""Faults of a built site: links inside it that lead nowhere, and requests that a page makes to another host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
"""Elements that a browser loads without being told to, and the attribute that says what."""

ON_DEMAND = ("mermaid", "katex", "mathjax", "glightbox")
"""Classes for which the theme's script would load a library from another host."""

_IN_STYLES = re.compile(r"url\(\s*['\"]?(https?:)?//|@import\s+['\"](https?:)?//")


@dataclass
class Links(HTMLParser):
    """What a page refers to: `loads` by itself, `leads` to when somebody clicks; `anchors` that it has."""

    loads: list[str] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the references of one element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        self.classes.update(values.get("class", "").split())
        if tag == "a" and "href" in values:
            self.leads.append(values["href"])
        elif tag in LOADING and LOADING[tag] in values and values.get("rel") != "canonical":
            self.loads.append(values[LOADING[tag]])


def faults_of(site: Path) -> list[str]:
    """One line for each fault of the pages below `site`."""
    pages = {path: read(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    faults = [fault for path, links in pages.items() for fault in _faults(site, path, links, pages)]
    styles = [path for path in sorted(site.rglob("*.css")) if _IN_STYLES.search(path.read_text(encoding="utf-8"))]
    return faults + [f"{path.relative_to(site)}: loads from another host" for path in styles]


def read(path: Path) -> Links:
    """The references of one page."""
    links = Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def _faults(site: Path, path: Path, links: Links, pages: dict[Path, Links]) -> Iterator[str]:
    here = path.relative_to(site)
    for url in links.loads:
        if urlsplit(url).netloc:
            yield f"{here}: loads {url} from another host"
    yield from (f"{here}: the theme loads {name} from another host" for name in ON_DEMAND if name in links.classes)
    for url in (*links.loads, *links.leads):
        parts = urlsplit(url)
        if parts.scheme or parts.netloc:
            continue
        target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            yield f"{here}: {url} leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{here}: {url}: the page has no such heading"
