"""`python -m docs.site`: make the site; exit code 1 and the faults on stderr if it is not whole."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.site.building import build

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Make the site in the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Make the site of the documentation.")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "docs", help="where pages and site are written")
    out = parser.parse_args().out.absolute()
    faults = build(ROOT, out)
    if faults:
        sys.exit("\n".join(faults))
    print(f"the site is in {out / 'site'}; see it with: python -m http.server --directory {out / 'site'}")


main()
