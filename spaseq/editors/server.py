"""The language server: `spaseq lsp` speaks LSP 3.17 over standard input and output."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from spaseq.editors.answers import SOURCE, TOKEN_MODIFIERS, TOKEN_TYPES, Answers
from spaseq.editors.positions import Encoding
from spaseq.errors import InputError

_TRIGGERS = ["?", "$", ":"]


class Server(LanguageServer):
    """The server, with the answers about the last text of each open document."""

    def __init__(self) -> None:
        super().__init__(SOURCE, _version())
        self._answers: dict[str, Answers] = {}

    def about(self, uri: str) -> Answers:
        """The answers about the present text of a document."""
        text = self.workspace.get_text_document(uri).source
        known = self._answers.get(uri)
        if known is None or known.document.text != text:
            encoding = cast(Encoding, str(getattr(self.workspace.position_encoding, "value", "utf-16")))
            known = self._answers[uri] = Answers(uri, text, encoding)
        return known

    def publish(self, uri: str) -> None:
        """Send the problems of a document."""
        found = self.about(uri).diagnostics()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))

    def forget(self, uri: str) -> None:
        """Let go of a document that is closed."""
        self._answers.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _version() -> str:
    try:
        return version("spaseq")
    except PackageNotFoundError:
        return "(not installed)"


def language_server() -> Server:
    """A server with all features, which has not been started."""
    server = Server()
    _follow(server)
    _look_up(server)
    _change(server)
    _show(server)
    return server


def _follow(server: Server) -> None:
    """Documents are opened, changed and closed."""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _look_up(server: Server) -> None:
    """The meaning of a name or token, and its places."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        return server.about(params.text_document.uri).hover(params.position)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams) -> lsp.Location | None:
        return server.about(params.text_document.uri).definition(params.position)

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def referred(params: lsp.ReferenceParams) -> list[lsp.Location]:
        declarations = params.context.include_declaration
        return server.about(params.text_document.uri).references(params.position, declarations)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlighted(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        return server.about(params.text_document.uri).highlights(params.position)


def _change(server: Server) -> None:
    """Changes of the text."""

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def fixed(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return server.about(params.text_document.uri).actions(params.range)

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=_TRIGGERS))
    def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        return server.about(params.text_document.uri).completions(params.position)

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepared(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        return server.about(params.text_document.uri).renaming(params.position)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        try:
            return server.about(params.text_document.uri).renamed(params.position, params.new_name)
        except InputError as error:
            raise JsonRpcInvalidParams(f"{error.message}: {error.hint}") from None

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return server.about(params.text_document.uri).formatting()


def _show(server: Server) -> None:
    """Colours, folds, the outline, and what is not written."""

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        return server.about(params.text_document.uri).folds()

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hinted(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        return server.about(params.text_document.uri).inlay_hints(params.range)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outlined(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        return server.about(params.text_document.uri).outline()

    legend = lsp.SemanticTokensLegend(list(TOKEN_TYPES), list(TOKEN_MODIFIERS))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend)
    def coloured(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        return server.about(params.text_document.uri).semantic_tokens()


def serve() -> None:
    """Answer a client until it leaves."""
    language_server().start_io()
