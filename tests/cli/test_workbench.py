"""`spaseq workbench` as users run it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from spaseq.cli import main
from tests.waiting import PATIENCE_S, waited
from tests.web.serving import event

TEXT = """SELECT ?s ?a ?b WITHIN 1 HOUR FROM STREAM S <urn:s> FROM STREAM T <urn:t> FROM NAMED KB <urn:kb>
WHERE {
  SEQ(A ; B ; C!)
  DEFINE GPM A ON S { ?s <urn:a> ?a GRAPH <urn:kb> { ?s <urn:in> <urn:room> } }
  DEFINE GPM B ON T { ?s <urn:b> ?b }
  DEFINE GPM C ON S { ?s <urn:c> ?c }
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "watch it.rq").write_text(TEXT, encoding="utf-8")
    (tmp_path / "kb.nt").write_text("<urn:x> <urn:in> <urn:room> .\n", encoding="utf-8")
    s = [event(f"urn:s{second}", second, f'<urn:x> <urn:a> "{second}"') for second in (1, 9)]
    (tmp_path / "s.nq").write_text("".join(s), encoding="utf-8")
    (tmp_path / "t.trig").write_text(
        '<urn:t5> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:05Z"^^'
        '<http://www.w3.org/2001/XMLSchema#dateTime> . <urn:t5> { <urn:x> <urn:b> "5" }',
        encoding="utf-8",
    )
    return tmp_path


def test_the_workbench_has_the_rows_of_a_run_and_leaves_nothing(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    query, streams = str(folder / "watch it.rq"), ["--stream", f"S={folder}/s.nq", "--stream", f"T={folder}/t.trig"]
    given = [query, *streams, "--kb", f"urn:kb={folder}/kb.nt"]
    with pytest.raises(SystemExit):
        main(["run", *given, "--format", "ndjson"])
    expected = capfd.readouterr().out.splitlines()
    assert len(expected) == 1

    temporary = folder / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "spaseq.cli", "workbench", *given, "--no-open"]
    environment = {"PATH": "", "HOME": str(folder), "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if line.startswith("the workbench is at "))
        address = said.removeprefix("the workbench is at ").partition("/#")[0]
        try:
            assert rows(address, "watch-it", len(expected)) == [row.replace("watch it", "watch-it") for row in expected]
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert list(temporary.iterdir()) == []


def rows(address: str, query: str, number: int) -> list[str]:
    """The rows without their numbers, when there are so many."""
    with httpx2.Client(base_url=address, timeout=PATIENCE_S, trust_env=False) as client:
        path, headers = f"/v1/queries/{query}/matches", {"Accept": "application/x-ndjson"}
        waited(lambda: client.get(path, headers=headers).text.count("\n") >= number, pause_s=0.01)
        found = client.get(path, headers=headers).text
        page = client.get("/")
        assert page.status_code == 200 and "workbench.js" in page.text
    return ["{" + line.partition(", ")[2] for line in found.splitlines()]


def test_what_is_missing_is_said_before_anything_is_started(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["workbench", str(folder / "watch it.rq"), "--stream", f"S={folder}/s.nq", "--no-open"])
    assert end.value.code == 2
    assert "--stream 'T=PATH'" in capsys.readouterr().err
