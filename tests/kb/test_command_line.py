"""Knowledge bases from the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.prepared_file import PreparedFile
from kb.source import Source
from spaseq.cli.knowledge import KnowledgeArguments, sources_of
from spaseq.errors import InputError
from tests.kb.servers import Proxy, failing, oxigraph
from tests.kb.test_endpoint import DB, data, events, query

ROOT = Path(__file__).parents[2]
BODY = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"


def spaseq_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spaseq.cli", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("command")
    (folder / "kb.nt").write_text(data())
    (folder / "events.nq").write_text(events(60))
    (folder / "q.rq").write_text(query(BODY).text)
    return folder


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with oxigraph(data()) as url:
        yield url


def rows(folder: Path, location: object, *more: str) -> subprocess.CompletedProcess[str]:
    stream, kb = f"S={folder / 'events.nq'}", f"{DB}={location}"
    return spaseq_command("run", folder / "q.rq", "--stream", stream, "--kb", kb, "--format", "ndjson", *more)


def test_files_prepared_files_and_endpoints_give_the_same_output(folder: Path, endpoint: str) -> None:
    built = spaseq_command("kb", "build", folder / "kb.nt", "-o", folder / "kb.kb")
    assert built.returncode == 0, built.stderr
    assert "triples" in built.stderr
    found = [rows(folder, location) for location in (folder / "kb.nt", folder / "kb.kb", endpoint)]
    assert [done.returncode for done in found] == [0, 0, 0], [done.stderr for done in found]
    assert len(found[0].stdout.splitlines()) == 60
    assert len({tuple(sorted(done.stdout.splitlines())) for done in found}) == 1
    assert json.loads(found[0].stdout.splitlines()[0])["bindings"]["room"]["type"] == "uri"


def test_rows_that_were_skipped_are_counted_at_the_end(folder: Path, endpoint: str) -> None:
    with Proxy(endpoint, lambda n: failing) as proxy:
        done = rows(folder, proxy.url, "--kb-failure", "skip")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"warning: 60 rows were joined with nothing: <{DB}> failed" in done.stderr


def test_an_endpoint_that_fails_ends_the_run_with_one_line(folder: Path, endpoint: str) -> None:
    with Proxy(endpoint, lambda n: failing) as proxy:
        done = rows(folder, proxy.url, "--kb-failure", f"{DB}=fail")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {proxy.url}: HTTP status 500")
    assert "Traceback" not in done.stderr


def test_a_host_that_is_not_allowed_is_a_usage_error(folder: Path, endpoint: str) -> None:
    done = rows(folder, endpoint, "--allow-host", "kb.example")
    assert done.returncode == 2
    assert "may not be asked" in done.stderr


def test_rdfs_is_applied_when_preparing(folder: Path) -> None:
    text = "@prefix r: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://x/> . :a r:subClassOf :b . :i a :a ."
    (folder / "o.ttl").write_text(text)
    done = spaseq_command("kb", "build", folder / "o.ttl", "-o", folder / "o.kb", "--entail", "rdfs")
    assert done.returncode == 0, done.stderr
    file = PreparedFile(folder / "o.kb")
    assert (file.entailed, file.length("subjects")) == (True, 3)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("missing.ttl", "-o", "x.kb"), "No such file"),
        (("missing.ttl", "-o", "x.db"), "does not end in .kb"),
        (("missing.ttl",), "missing option"),
    ],
)
def test_what_cannot_be_prepared_is_exit_code_2(arguments: tuple[str, ...], part: str) -> None:
    done = spaseq_command("kb", "build", *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert part in done.stderr


def test_a_progress_bar_shows_on_a_terminal_and_goes(folder: Path) -> None:
    main_end, terminal = pty.openpty()
    command = [sys.executable, "-m", "spaseq.cli", "kb", "build", str(folder / "kb.nt"), "-o", str(folder / "p.kb")]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(command, cwd=ROOT, stderr=terminal, env=environment, check=False)
    os.close(terminal)
    shown = os.read(main_end, 1 << 16).decode()
    os.close(main_end)
    assert done.returncode == 0
    assert "reading kb.nt" in shown
    assert "triples" in shown.splitlines()[-1]


def test_an_option_is_for_all_knowledge_bases_or_for_one() -> None:
    one, other, remote = "http://x/1", "http://x/2?a=b", "http://x/3"
    arguments = KnowledgeArguments(("skip", f"{other}=fail"), (f"<{one}>=30s",), ("2s",), ("rdfs",))
    found = sources_of({one: "a.nt", other: "b.nt", remote: "http://h/q"}, arguments)
    assert found[one] == Source("a.nt", "skip", 30.0, True, 2.0)
    assert found[other] == Source("b.nt", "fail", None, True, 2.0)
    assert found[remote] == Source("http://h/q", "skip", None, False, 2.0)


@pytest.mark.parametrize(
    "arguments",
    [
        KnowledgeArguments(failure=("perhaps",)),
        KnowledgeArguments(refresh=("soon",)),
        KnowledgeArguments(timeout=("0s",)),
        KnowledgeArguments(entail=("owl",)),
        KnowledgeArguments(failure=("http://x/other=skip",)),
    ],
)
def test_an_option_that_says_nothing_known_is_refused_with_a_hint(arguments: KnowledgeArguments) -> None:
    with pytest.raises(InputError) as caught:
        sources_of({"http://x/1": "a.nt"}, arguments)
    assert caught.value.hint
