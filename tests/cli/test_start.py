"""What a run of every length pays: what it imports, and how often it looks for garbage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from examples.event_files import write_example
from examples.smart_grid.generate import EXAMPLE
from spaseq.lang import query_cache
from spaseq.lang.query_files import read_query

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from spaseq.cli import main
try:
    main({arguments!r})
except SystemExit as end:
    assert end.code in (0, None), end.code
print("\\n".join(sys.modules), file=sys.stderr)
"""
ELSEWHERE = {
    "an endpoint": {"httpx2", "tenacity", "asyncio", "kb.bind_join", "kb.protocol"},
    "a terminal": {"rich.console", "rich.progress", "spaseq.cli.progress"},
    "long input": {
        "numba",
        "arrays.jit",
        "automata.cea.cea_evaluator",
        "automata.registers.register_evaluator",
    },
    "shifted rates": {"automata.lazy.lazy_evaluator", "automata.lazy.replay"},
    "an explanation": {"spaseq.explain.description", "spaseq.physical.describe", "spaseq.engine.described"},
    "pushed events": {"spaseq.engine.live"},
    "a text that was not seen before": {"rdflib", "lark", "pyparsing", "spaseq.lang.parse", "sparql_gpm.parse"},
    "Spark": {"pyspark", "pyarrow", "pandas"},
    "the service": {"starlette", "uvicorn", "anyio", "prometheus_client", "spaseq.service", "spaseq.cli.serve"},
}
"""Where they are needed."""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a short run over files has imported at its end; the text of its query was seen before."""
    folder = tmp_path_factory.mktemp("grid")
    write_example(EXAMPLE, 100, 1, folder)
    streams = (("S1", "power"), ("S2", "weather"), ("S3", "storage"))
    arguments = ["--output", str(folder / "rows")]
    arguments += [f"--stream={name}={folder / file}.nq" for name, file in streams]
    arguments += [f"--kb=http://smartgrid.org/db={folder / 'kb.ttl'}"]
    query = ROOT / "examples/smart_grid/query.rq"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(query_cache.VARIABLE, str(folder / "queries"))
        read_query(query)
        program = PROGRAM.format(arguments=["run", str(query), *arguments])
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("needed_by", ELSEWHERE)
def test_a_short_run_over_files_does_not_import_what_is_for(needed_by: str, imported: set[str]) -> None:
    assert imported & ELSEWHERE[needed_by] == set()
    assert {"spaseq.engine.job", "automata.runs.columns.run_evaluator", "kb.loaded"} <= imported


def test_a_query_is_read_without_another_parser_of_sparql() -> None:
    program = PROGRAM.format(arguments=["validate", str(ROOT / "examples/smart_grid/query.rq")])
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"lark", "sparql_gpm.parse"} <= {*done.stderr.split()}
    assert [name for name in done.stderr.split() if name.startswith(("rdflib", "pyparsing"))] == []


@pytest.mark.parametrize("call", ["main()", "main(['--version'])"])
def test_garbage_is_looked_for_seldom_in_a_process_that_is_the_commands_own(call: str) -> None:
    program = (
        "import atexit, gc, sys\nfrom spaseq.cli import main\nusual = gc.get_threshold()\n"
        "atexit.register(lambda: print(gc.get_threshold()[0] > 10 * usual[0], gc.get_freeze_count() > 1000))\n" + call
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    own = call == "main()"
    assert done.stdout.splitlines()[-1] == f"{own} {own}"
