"""The bundle that is committed asks no other host, and its sources know all requests of the service."""

from __future__ import annotations

import gzip
from pathlib import Path

from web.generate.__main__ import stale

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "spaseq" / "service" / "http" / "assets"
COMPRESSED_BYTES_MAX = 250_000


def test_the_generated_sources_are_what_the_engine_gives() -> None:
    assert stale() == [], "make web"


def test_the_bundle_is_small_and_asks_no_other_host() -> None:
    bundle = b"".join((ASSETS / name).read_bytes() for name in ("index.html", "workbench.js", "workbench.css"))
    assert len(gzip.compress(bundle)) < COMPRESSED_BYTES_MAX
    assert b"eval(" not in bundle and b"new Function" not in bundle and b"@import" not in bundle
