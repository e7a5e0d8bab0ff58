"""The displays that a shell of IPython gets for values of SPAseq, by the names of their classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spaseq.notebook.pictures import description_svg, funnel_html, query_svg


def _query_text(query: Any, printer: Any, cycle: bool) -> None:
    printer.text(query.text)


def _description_text(description: Any, printer: Any, cycle: bool) -> None:
    from spaseq.explain.render import render

    printer.text(render(description, "text"))


_DISPLAYS: Mapping[tuple[str, str], Mapping[str, Callable[..., Any]]] = {
    ("spaseq.lang.ast", "Query"): {"image/svg+xml": query_svg, "text/plain": _query_text},
    ("spaseq.explain.description", "Description"): {
        "image/svg+xml": description_svg,
        "text/plain": _description_text,
    },
    ("spaseq.explain.funnel", "Funnel"): {"text/html": funnel_html},
}
"""Module and name of a class → what shows it, by media type."""


def register_displays(formatter: Any) -> None:
    """Register all of them with the display formatter of a shell."""
    for (module, name), shown in _DISPLAYS.items():
        for media, function in shown.items():
            formatter.formatters[media].for_type_by_name(module, name, function)
