"""The worked cases of docs/how-to/why-not.md: each a query, events, a command, and its answer as text and as JSON.

python -m tests.why_not_cases       writes the text into the page anew, and the JSON into tests/golden/why_not
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

import spaseq
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from spaseq.cli import main
from spaseq.inputs.given import GivenEvents
from spaseq.inputs.streams import open_stream

PAGE = Path(__file__).parents[1] / "docs/how-to/why-not.md"
GOLDEN = Path(__file__).parent / "golden/why_not"
INPUTS = {"sparql": "query.rq", "trig": "events.trig", "turtle": "kb.ttl"}
"""By the language of a block, the file that it is."""
_SECTION = re.compile(r"^#{2,3} (?P<title>[^\n]+)\n(?P<body>.*?)(?=^#{2,3} |\Z)", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """A worked case.

    title   of its section, which for each cause is the cause
    files   by name, the inputs
    text    the answer on the page
    """

    title: str
    files: dict[str, str]
    command: str
    text: str

    @property
    def golden(self) -> Path:
        """The file of the answer as JSON."""
        return GOLDEN / f"{self.title.replace(' ', '-')}.json"


def cases() -> Iterator[Case]:
    """The cases of the page, in its order."""
    for section in _SECTION.finditer(PAGE.read_text(encoding="utf-8")):
        blocks = dict(_BLOCK.findall(section["body"]))
        files = {INPUTS[language]: block for language, block in blocks.items() if language in INPUTS}
        if "console" in blocks:
            command, _, text = blocks["console"].removeprefix("$ spaseq ").partition("\n")
            yield Case(section["title"], files, command, text)
        elif "http" in blocks:
            yield Case(section["title"], files, blocks["http"], blocks["text"])


def answers(case: Case) -> tuple[str, str]:
    """What the command of a case gives, as text and as indented JSON."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in case.files.items():
            Path(name).write_text(text, encoding="utf-8")
        text, found = _asked(case.command) if case.command.startswith("POST ") else _run(case.command)
    return text, json.dumps(json.loads(found), ensure_ascii=False, indent=1) + "\n"


def _run(command: str) -> tuple[str, str]:
    done = [CliRunner().invoke(main, [*shlex.split(command), *form]) for form in ((), ("--format", "json"))]
    assert all(each.exit_code == 0 for each in done), done[0].output
    return done[0].stdout, done[1].stdout


def _asked(request: str) -> tuple[str, str]:
    """The answer of a service whose log has the events, and whose watermark is at the last of them."""
    _, body = request.split("\n", 1)
    query = spaseq.read_query("query.rq")

    def read(dictionary: Dictionary, _: object = None) -> Iterator[EventBatch]:
        return (batch.events for batch in open_stream("events.trig", "S", dictionary, _refused, ReadOptions()))

    last = max(int(batch.times.max()) for batch in read(Dictionary()))
    found = spaseq.why_not(query, {"S": GivenEvents(read, last)}, **json.loads(body))
    return str(found), found.to_json()


def _refused(source: str, fault: Malformed) -> None:
    raise AssertionError((source, fault))


def _replaced(page: str, case: Case, text: str) -> str:
    """The page with another answer of a case."""
    section, title, rest = page.partition(f"# {case.title}\n")
    is_run = not case.command.startswith("POST ")
    opening = f"```console\n$ spaseq {case.command}\n" if is_run else "```text\n"
    return f"{section}{title}{rest.replace(f'{opening}{case.text}```', f'{opening}{text}```', 1)}"


def write() -> None:
    """Write every answer anew."""
    page = PAGE.read_text(encoding="utf-8")
    for case in cases():
        text, found = answers(case)
        page = _replaced(page, case, text)
        case.golden.write_text(found, encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write()
