"""`python -m spaseq.cli`, for a checkout that is not installed."""

from __future__ import annotations

from spaseq.cli import main

if __name__ == "__main__":
    main(prog_name="spaseq")
