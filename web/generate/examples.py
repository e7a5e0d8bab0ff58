"""The queries of examples/, which the workbench opens."""

from __future__ import annotations

import json
from pathlib import Path

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def examples() -> str:
    """The TypeScript source: title and text of each query."""
    queries = sorted(_EXAMPLES.glob("*/*.rq"))
    found = [{"title": _title(path), "text": path.read_text(encoding="utf-8")} for path in queries]
    entries = "".join(f"  {json.dumps(each, ensure_ascii=False)},\n" for each in found)
    return (
        "// Made by `make web` of the folder examples; do not edit.\n\n"
        "export interface Example {\n  title: string;\n  text: string;\n}\n\n"
        f"export const EXAMPLES: readonly Example[] = [\n{entries}];\n"
    )


def _title(path: Path) -> str:
    """The folder's name, with the file's where there are several."""
    words = path.parent.name if path.stem == "query" else f"{path.parent.name}: {path.stem}"
    return words.replace("_", " ")
