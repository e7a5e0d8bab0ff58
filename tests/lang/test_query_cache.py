"""Queries of texts that were seen before: the same as parsed ones, whatever is in the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spaseq.lang.parse
from spaseq.errors import InputError, QueryError
from spaseq.lang import query_cache
from spaseq.lang.parse import check, parse
from spaseq.lang.plain import from_json, to_json
from spaseq.lang.query_files import check_text, read_query
from tests.lang.texts import text_of

ROOT = Path(__file__).parents[2]
PATHS = sorted(path for folder in ("tests", "examples") for path in (ROOT / folder).rglob("*.rq"))
TEXT = text_of("A ; (B , C?);+ WITHIN 5 MINUTES : ALL(D, SEQ(E : F)) : N!", form="SELECT ?a (AVG(?b) AS ?m) ?z")


def whole(value: Any) -> Any:
    """A tree with everything that it holds: some spans are no part of the value of their node."""
    if isinstance(value, tuple):
        return [whole(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), *(whole(getattr(value, field.name)) for field in fields(value)))
    return value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(query_cache.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that were parsed in spite of the cache."""
    parsed: list[str] = []
    monkeypatch.setattr(spaseq.lang.parse, "check", lambda text, name: parsed.append(text) or check(text, name))
    yield parsed


def test_a_query_is_the_same_after_json() -> None:
    read = 0
    for path in PATHS[::3]:
        query, _ = check(path.read_bytes().decode("utf-8-sig"), path.stem)
        if query is not None:
            assert whole(from_json(to_json(query))) == whole(query), path
            read += 1
    assert read > 100


@given(st.data())
def test_json_that_holds_no_query_is_refused(data: st.DataObject) -> None:
    text = to_json(parse(TEXT))
    start = data.draw(st.integers(0, len(text) - 1))
    end = min(len(text), start + data.draw(st.integers(0, 9)))
    piece = data.draw(st.sampled_from(["", "[", "]", "null", "7", "1e99", '""', '"Span"', "[]", '["IRI","x"],', "{"]))
    try:
        found = from_json(text[:start] + piece + text[end:])
    except (ValueError, RecursionError):
        return
    assert_typed(found)


def assert_typed(value: Any) -> None:
    match value:
        case tuple():
            for each in value:
                assert_typed(each)
        case NoneType() | str() | bool() | int():
            pass
        case _ if is_dataclass(value):
            for field in fields(value):
                assert_typed(getattr(value, field.name))
        case _:
            assert type(value).__module__.startswith(("automata.plan", "spaseq.lang", "sparql_gpm")), value


def test_a_text_that_was_seen_before_is_not_parsed(folder: Path, unparsed: list[str]) -> None:
    first, problems = check_text(TEXT, "one")
    again, others = check_text(TEXT, "two")
    assert first is not None and again is not None and unparsed == [TEXT]
    assert whole(again) == whole(replace(first, name="two")) and problems == others and problems
    assert folder.stat().st_mode & 0o077 == 0


def test_a_text_with_errors_is_parsed_each_time(folder: Path, unparsed: list[str], tmp_path: Path) -> None:
    path = tmp_path / "q.rq"
    path.write_text(TEXT.replace("SEQ", "SEK"), encoding="utf-8")
    reports = []
    for _ in range(2):
        with pytest.raises(QueryError) as caught:
            read_query(path)
        reports.append(str(caught.value))
    assert reports[0] == reports[1] and len(unparsed) == 2 and not list(folder.glob("*"))
    with pytest.raises(InputError, match="cannot read query"):
        read_query(tmp_path / "absent.rq")


def damaged(content: bytes) -> Iterator[bytes]:
    half = len(content) // 2
    yield from (b"", content[:half], content + b" ", content[:half] + b"\xff" + content[half + 1 :], b"\n" + content)
    digest, _, body = content.partition(b"\n")
    yield digest.swapcase() + b"0\n" + body
    yield digest + b"\n" + body.replace(b"AVG", b"SUM")


def test_a_damaged_file_is_ignored_and_written_anew(folder: Path, unparsed: list[str]) -> None:
    first, _ = check_text(TEXT, "q")
    (path,) = folder.iterdir()
    content = path.read_bytes()
    for number, wrong in enumerate(damaged(content), start=2):
        path.write_bytes(wrong)
        assert whole(check_text(TEXT, "q")[0]) == whole(first) and len(unparsed) == number
        assert path.read_bytes() == content


def test_the_tree_of_another_text_or_installation_is_not_taken(
    folder: Path, unparsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = TEXT.replace("?a", "?x")
    check_text(TEXT, "q")
    (path,) = folder.iterdir()
    check_text(other, "q")
    (second,) = set(folder.iterdir()) - {path}
    second.write_bytes(path.read_bytes())
    query, _ = check_text(other, "q")
    assert query is not None and query.text == other and len(unparsed) == 3
    monkeypatch.setattr(query_cache, "_installation", lambda: b"another")
    check_text(TEXT, "q")
    assert len(unparsed) == 4 and len(list(folder.iterdir())) == 3


def test_the_least_recently_used_are_removed(
    folder: Path, unparsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_cache, "QUERIES_MAX", 3)
    texts = [TEXT + f"# {number}" for number in range(5)]
    for age, text in enumerate(texts[:3]):
        check_text(text, "q")
        (newest,) = (path for path in folder.iterdir() if path.stat().st_mtime > 1e9)
        os.utime(newest, (age, age))
    check_text(texts[0], "q")
    (folder / "stray.half").touch()
    os.utime(folder / "stray.half", (1, 1))
    for text in texts[3:]:
        check_text(text, "q")
    assert len(list(folder.iterdir())) == 3
    before = len(unparsed)
    check_text(texts[0], "q")
    assert len(unparsed) == before == 5


@pytest.mark.parametrize("chosen", ["off", "file", "file/below", "absent"])
def test_without_a_folder_texts_are_parsed(
    chosen: str, tmp_path: Path, unparsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(query_cache.VARIABLE, chosen)
    if chosen == "absent":
        monkeypatch.setattr(query_cache, "_SOURCES", {"absent_package": ("",)})
        query_cache._installation.cache_clear()
    for _ in range(2):
        assert check_text(TEXT, "q")[0] is not None
    monkeypatch.undo()
    query_cache._installation.cache_clear()
    assert len(unparsed) == 2 and os.listdir(tmp_path) == ["file"]


def test_without_the_variable_it_is_the_users_folder_for_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(query_cache.VARIABLE, "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check_text(TEXT, "q")
    assert len(list((tmp_path / "spaseq" / "queries").glob("*.query"))) == 1


def test_all_that_parses_a_text_is_looked_at_for_changes() -> None:
    program = (
        "import sys, spaseq.lang.parse as p; p.parse(sys.argv[1])\n"
        "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program, TEXT], cwd=ROOT, capture_output=True, text=True, check=True)
    seen = query_cache._installation().decode()
    own = [path for path in done.stdout.split() if path.startswith(str(ROOT)) and "site-packages" not in path]
    assert len(own) > 30 and all(f"'{path}'" in seen.replace("//", "/") for path in own)
    assert "lark/lark.py" in seen and "lark/grammars" not in seen
