"""The notebooks of docs/ run from their first to their last cell, and are kept without outputs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from tests.waiting import PATIENCE_S

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@cache
def executed() -> dict[str, Any]:
    """The notebooks with their outputs, by name; their kernels start together."""

    async def run(path: Path) -> Any:
        notebook = nbformat.read(path, as_version=4)
        client = nbclient.NotebookClient(notebook, timeout=int(PATIENCE_S), kernel_name="python3")
        return await client.async_execute(cwd=str(FOLDER))

    async def run_all() -> list[Any]:
        return await asyncio.gather(*map(run, NOTEBOOKS))

    return dict(zip((path.stem for path in NOTEBOOKS), asyncio.run(run_all()), strict=True))


def shown(name: str, media: str) -> list[str]:
    """The outputs of a notebook in one media type."""
    return list(_shown(name, media))


def _shown(name: str, media: str) -> Iterator[str]:
    for cell in executed()[name].cells:
        for output in cell.get("outputs", ()):
            if media in output.get("data", {}):
                yield output["data"][media]
            elif media == "text/plain" and output.output_type == "stream":
                yield output["text"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert [cell["id"] for cell in cells if cell["outputs"] or cell["execution_count"] is not None] == []


def test_the_smart_grid_shows_rows_funnel_automaton_and_reasons() -> None:
    html = shown("smart-grid", "text/html")
    assert any("spaseq-answer" in text and "<th>?house</th>" in text and "timeline of" in text for text in html)
    assert any("waited" in text and "<summary>funnel" in text for text in html)
    assert any("spaseq-funnel" in text and "A: events seen" in text for text in html)
    assert any("spaseq-explanation" in text and "http://smartgrid.org/db" in text for text in html)
    (svg,) = shown("smart-grid", "image/svg+xml")
    assert svg.startswith("<svg") and ">B<" in svg
    assert any(" events · " in text for text in shown("smart-grid", "text/plain"))


def test_the_cold_chain_finds_the_one_warm_reefer_in_a_table_and_the_same_readings_in_a_dataset() -> None:
    broken, peaks = (text for text in shown("cold-chain", "text/html") if "spaseq-answer" in text)
    assert "reefer/R1" in broken and "reefer/R2" not in broken and "<td>9.9</td>" in broken
    assert "reefer/R1" in peaks and "reefer/R2" in peaks
    assert len(shown("cold-chain", "image/svg+xml")) == 1


def test_the_live_service_answers_in_the_notebook() -> None:
    (found,) = (text for text in shown("live-service", "text/html") if "spaseq-answer" in text)
    assert "<td>:kitchen</td><td>33</td>" in found
    plain = "\n".join(shown("live-service", "text/plain"))
    assert "'accepted': 2" in plain and "http://example.org/e2" in plain
