"""A real client of LSP and `spaseq lsp` over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner
from lsprotocol import types as lsp
from pygls.lsp.client import BaseLanguageClient

from spaseq.cli import main
from spaseq.editors.answers import Answers
from spaseq.editors.formatting import formatted
from tests.waiting import PATIENCE_S

URI = "file:///query.rq"
TEXT = """# 😀 é: positions are counted in UTF-16
PREFIX : <http://x/>
SELECT ?a ("😀" AS ?n)
WITHIN 1 HOUR FROM STREAM S <http://x/s>
WHERE {
  SEQ(A ; ALL(B, C) : A{2})
  DEFINE GPM A ON S { ?s :p ?a ; :q "😀" ; :r ?r }
  DEFINE GPM B ON S {
    ?s ex:b ?b
  }
  DEFINE GPM C ON S { ?s :c ?c }
}
"""
_Answer = TypeVar("_Answer")


class Client(BaseLanguageClient):
    """A client that keeps the problems which it is sent."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        item = lsp.TextDocumentItem(URI, "spaseq", 1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return list((await self.published.get()).diagnostics)


def with_client(use: Callable[[Client], Awaitable[_Answer]]) -> _Answer:
    """What a function makes of a client of a server that has been started for it."""

    async def run() -> _Answer:
        client = Client()
        await client.start_io(sys.executable, "-m", "spaseq.cli", "lsp")
        async with asyncio.timeout(PATIENCE_S):
            capabilities = lsp.ClientCapabilities(general=lsp.GeneralClientCapabilities(position_encodings=None))
            await client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
            client.initialized(lsp.InitializedParams())
            try:
                return await use(client)
            finally:
                await client.shutdown_async(None)
                client.exit(None)
                await client.stop()

    return asyncio.run(run())


def position(text: str, piece: str, after: int = 0, nth: int = 0) -> lsp.Position:
    """The place of the nth occurrence of a piece, in units of UTF-16, counted by the test itself."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(piece, offset + 1)
    before = text[: offset + after]
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), sum(2 if ord(character) > 0xFFFF else 1 for character in line))


def taken(text: str, place: lsp.Range) -> str:
    """The piece of text at a range."""
    encoded = [line.encode("utf-16-le") for line in text.splitlines(keepends=True)]
    if place.start.line == place.end.line:
        return encoded[place.start.line][2 * place.start.character : 2 * place.end.character].decode("utf-16-le")
    first = encoded[place.start.line][2 * place.start.character :]
    last = encoded[place.end.line][: 2 * place.end.character] if place.end.line < len(encoded) else b""
    return b"".join([first, *encoded[place.start.line + 1 : place.end.line], last]).decode("utf-16-le")


def changed(text: str, edits: list[lsp.TextEdit]) -> str:
    """The text after the edits of an answer."""
    lines = text.splitlines(keepends=True)

    def offset(place: lsp.Position) -> int:
        line = lines[place.line].encode("utf-16-le") if place.line < len(lines) else b""
        return sum(map(len, lines[: place.line])) + len(line[: 2 * place.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_a_client_gets_problems_fixes_and_an_answer_for_every_feature() -> None:
    async def use(client: Client) -> dict[str, Any]:
        document = lsp.TextDocumentIdentifier(URI)
        problems = await client.open(TEXT)
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
        context = lsp.CodeActionContext(diagnostics=problems)
        seen = position(TEXT, ":r ?r", 4)
        found: dict[str, Any] = {"problems": problems}
        found["actions"] = await client.text_document_code_action_async(lsp.CodeActionParams(document, whole, context))
        found["hover"] = await client.text_document_hover_async(lsp.HoverParams(document, position(TEXT, "; ALL")))
        at_use = position(TEXT, "A ; ALL")
        found["definition"] = await client.text_document_definition_async(lsp.DefinitionParams(document, at_use))
        references = lsp.ReferenceParams(lsp.ReferenceContext(True), document, position(TEXT, "?s ", 1))
        found["references"] = await client.text_document_references_async(references)
        highlights = lsp.DocumentHighlightParams(document, at_use)
        found["highlights"] = await client.text_document_document_highlight_async(highlights)
        found["prepared"] = await client.text_document_prepare_rename_async(lsp.PrepareRenameParams(document, seen))
        found["renamed"] = await client.text_document_rename_async(lsp.RenameParams(document, seen, "rate"))
        try:
            await client.text_document_rename_async(lsp.RenameParams(document, seen, "a"))
        except Exception as error:
            found["refused"] = str(error)
        place = position(TEXT, "?s ex", 1)
        found["completion"] = await client.text_document_completion_async(lsp.CompletionParams(document, place))
        found["folds"] = await client.text_document_folding_range_async(lsp.FoldingRangeParams(document))
        found["outline"] = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        found["tokens"] = await client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
        found["hints"] = await client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
        formatting = lsp.DocumentFormattingParams(document, lsp.FormattingOptions(2, True))
        found["formatting"] = await client.text_document_formatting_async(formatting)
        end = position(TEXT, "ALL(B, C)", 0)
        edit = lsp.TextDocumentContentChangePartial(lsp.Range(end, position(TEXT, "ALL(B, C)", 9)), "B : C")
        version = lsp.VersionedTextDocumentIdentifier(2, URI)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(version, [edit]))
        found["changed"] = (await client.published.get()).diagnostics
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        found["closed"] = (await client.published.get()).diagnostics
        return found

    found = with_client(use)
    codes = [(problem.code, taken(TEXT, problem.range)) for problem in found["problems"]]
    assert codes == [("SQ035", ";"), ("SQ013", "ex:b")]
    fixed = TEXT
    for action in found["actions"]:
        fixed = changed(fixed, action.edit.changes[URI]) if action.title == "write ':' for ';'" else fixed
    assert "SEQ(A : ALL(B, C) : A{2})" in fixed
    assert [action.title for action in found["actions"]] == [
        "write ':' for ';'",
        "declare PREFIX ex: <http://example.org/ex#>",
    ]
    assert found["hover"].contents.value.startswith("`;` skip-till-next")
    assert found["definition"].range.start == position(TEXT, "GPM A", 4)
    assert [taken(TEXT, each.range) for each in found["references"]] == ["s", "s", "s"]
    assert [taken(TEXT, each.range) for each in found["highlights"]] == ["A", "A", "A"]
    assert found["prepared"].placeholder == "r"
    assert changed(TEXT, found["renamed"].changes[URI]) == TEXT.replace("?r ", "?rate ")
    assert "the query has a variable 'a' already" in found["refused"]
    assert [item.label for item in found["completion"].items] == ["?a", "?n", "?s", "?r", "?b", "?c"]
    assert [(fold.start_line, fold.end_line) for fold in found["folds"]] == [(7, 9), (4, 11)]
    assert [symbol.name for symbol in found["outline"]] == ["S", "A", "B", "C"]
    hints = [(hint.label, hint.position) for hint in found["hints"]]
    assert hints == [(",", position(TEXT, "A{2}", 1))]
    assert len(found["tokens"].data) % 5 == 0
    assert changed(TEXT, found["formatting"]) == formatted(TEXT) != TEXT
    assert [problem.code for problem in found["changed"]] == ["SQ013"]
    assert list(found["closed"]) == []


def test_a_client_that_counts_in_code_points_gets_code_points() -> None:
    answers = [Answers(URI, TEXT, encoding).diagnostics() for encoding in ("utf-8", "utf-16", "utf-32")]
    line = TEXT.splitlines()[8]
    text = TEXT.replace("?s ex:b", '"😀" ex:b')
    found = [
        Answers(URI, text, encoding).diagnostics()[-1].range.start.character
        for encoding in ("utf-8", "utf-16", "utf-32")
    ]
    assert [each[-1].range.start.character for each in answers] == [line.index("ex:")] * 3
    assert found == [11, 9, 8]


def test_without_pygls_the_way_to_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "spaseq.editors.server", raising=False)
    monkeypatch.setitem(sys.modules, "pygls.exceptions", None)
    result = CliRunner().invoke(main, ["lsp"])
    assert result.exit_code == 2
    assert "the language server needs pygls" in result.stderr and "pip install 'spaseq[lsp]'" in result.stderr
