"""The speed table of the README and its plot, both made from the figures in `speed.json`.

    python benchmarks/speed.py            # writes the table into README.md and docs/speed.svg

To measure anew, write the figures with their commands into `speed.json` and run this script. The plot
needs matplotlib: `pip install -e ".[bench]"`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIGURES = Path(__file__).with_name("speed.json")
README = ROOT / "README.md"
PLOT = ROOT / "docs" / "speed.svg"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
_HEAD = ("| what | SPAseq | beside it, in the same run | ratio | command |", "|---|---|---|---|---|")


def figures() -> dict[str, Any]:
    """The note and the groups of rows; a row's ratio is SPAseq's speed over that of what stands beside it, or null."""
    read: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return read


def table(measured: dict[str, Any]) -> str:
    """The figures as one Markdown table with a line above each group."""
    lines = [measured["note"], "", *_HEAD]
    for group in measured["groups"]:
        lines.append(f"| **{group['title']}** | | | | |")
        for row in group["rows"]:
            ratio = "" if row["ratio"] is None else f"**{row['ratio']:g}×**"
            lines.append(f"| {row['what']} | {row['here']} | {row['beside']} | {ratio} | `{row['command']}` |")
    return "\n".join(lines)


def with_table(page: str, measured: dict[str, Any]) -> str:
    """The page with the table between its two marks."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(measured)}\n{END}{after}"


def draw(measured: dict[str, Any], path: Path) -> None:
    """A bar for each row that has a ratio, on a logarithmic axis; the same bytes for the same figures."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "spaseq", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    rows = [row for group in measured["groups"] for row in group["rows"] if row["ratio"] is not None]
    figure, axes = pyplot.subplots(figsize=(10, 0.45 * len(rows) + 0.9))
    axes.barh([row["what"] for row in rows], [row["ratio"] for row in rows], color="#2f6f9f")
    for place, row in enumerate(rows):
        axes.annotate(
            f" {row['ratio']:g}× {row['beside'].replace('`', '')}", (row["ratio"], place), va="center", fontsize=8
        )
    axes.set_xscale("log")
    axes.set_xlim(0.1, 2000)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel("speed of SPAseq over what stands beside it, in one run")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Rewrites the table of the README and the plot."""
    measured = figures()
    README.write_text(with_table(README.read_text(encoding="utf-8"), measured), encoding="utf-8")
    draw(measured, PLOT)


if __name__ == "__main__":
    main()
