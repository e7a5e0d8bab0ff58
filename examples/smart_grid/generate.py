"""The smart grid, made by the module that `spaseq demo` has it from."""

from __future__ import annotations

import sys
from pathlib import Path

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import main
from spaseq.demo.smart_grid import EXAMPLE, knowledge

__all__ = ["EXAMPLE", "knowledge"]

if __name__ == "__main__":
    main(EXAMPLE)
