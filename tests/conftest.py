"""Hypothesis profiles: `dev` by default, `ci` in continuous integration, `thorough` with new seeds (`make thorough`).

`dev` and `ci` draw the same examples every time. `thorough` draws new ones, five times as many (`make
thorough-properties`: three times); EXAMPLES=N draws N/40 times as many. Query files are parsed, not taken from the
cache of whoever runs the tests.

Except in `thorough`, LLVM optimises kernels less, which halves the time that compiling them takes. Their code is kept
apart, so that no other run of this checkout is slow.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.costs import SPEEDS, function
from tests.drawn import THOROUGH, USUAL
from tests.kb.servers import startable

_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")

_EXAMPLES = int(os.environ.get("EXAMPLES", THOROUGH))
_COMMON = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

for _name in ("dev", "ci"):
    settings.register_profile(
        _name, deadline=None, suppress_health_check=_COMMON, print_blob=True, derandomize=True, max_examples=USUAL
    )
settings.register_profile(
    "thorough", deadline=None, suppress_health_check=_COMMON, print_blob=True, max_examples=_EXAMPLES
)
settings.load_profile(_PROFILE)


os.environ["SPASEQ_QUERY_CACHE"] = "off"
if _PROFILE != "thorough":  # numba reads both when it is imported
    os.environ.setdefault("NUMBA_OPT", "1")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "kernels"))


def pytest_xdist_auto_num_workers() -> int:
    """A worker more than processors: while one waits for a process, a broker or a JVM, the others work."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests are marked with their speed; without `-m`, those marked `thorough` are left out."""
    speeds = {name: mark for mark, name in map(str.split, SPEEDS.read_text(encoding="utf-8").splitlines())}
    for item in items:
        if mark := speeds.get(function(item.nodeid)):
            item.add_marker(mark)
    if not config.option.markexpr:
        left = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_report_header() -> str:
    """The SPARQL servers that the tests start; Virtuoso is tested where Debian's package is installed."""
    servers = startable()
    missing = "" if "virtuoso" in servers else " (not virtuoso: virtuoso-t is not installed)"
    return f"SPARQL servers under test: {', '.join(servers)}{missing}"
