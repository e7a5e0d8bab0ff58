"""The knowledge about a document as the values of LSP, positions in the client's units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from lsprotocol import types as lsp

from spaseq.algebra.words import BETWEEN
from spaseq.editors.completion import Completion, Sort, completions
from spaseq.editors.document import Document, Names, Occurrence
from spaseq.editors.fixes import Edit, declaration, fixes
from spaseq.editors.folding import folds, outline
from spaseq.editors.formatting import formatted, hindrances
from spaseq.editors.hover import hover
from spaseq.editors.kinds import Kind
from spaseq.editors.positions import Encoding, Place, Places, span_of
from spaseq.editors.renaming import declaration_of, renamed
from spaseq.editors.sentences import defaults
from spaseq.errors import Problem

SOURCE = "spaseq"
TOKEN_TYPES = tuple(dict.fromkeys(kind.lsp for kind in Kind if kind.lsp))
TOKEN_MODIFIERS = (lsp.SemanticTokenModifiers.Declaration.value,)
_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
_SORTS = {
    Sort.KEYWORD: lsp.CompletionItemKind.Keyword,
    Sort.FUNCTION: lsp.CompletionItemKind.Function,
    Sort.VARIABLE: lsp.CompletionItemKind.Variable,
    Sort.GPM: lsp.CompletionItemKind.Class,
    Sort.STREAM: lsp.CompletionItemKind.Interface,
    Sort.PREFIX: lsp.CompletionItemKind.Module,
    Sort.TERM: lsp.CompletionItemKind.Value,
    Sort.OPERATOR: lsp.CompletionItemKind.Operator,
}


class Answers:
    """The answers about one text of a document."""

    def __init__(self, uri: str, text: str, encoding: Encoding) -> None:
        self.uri = uri
        self.document = Document(text)
        self._places = Places(text, encoding)

    def diagnostics(self) -> list[lsp.Diagnostic]:
        """The problems."""
        return [self._diagnostic(problem) for problem in self.document.problems]

    def actions(self, asked: lsp.Range) -> list[lsp.CodeAction]:
        """The quick fixes of the problems in a range."""
        start, end = self._offset(asked.start), self._offset(asked.end)
        found = []
        for problem in self.document.problems:
            first, last = span_of(problem, self.document.text)
            if first > end or last < start:
                continue
            for place, fix in enumerate(fixes(self.document, problem)):
                found.append(
                    lsp.CodeAction(
                        title=fix.title,
                        kind=lsp.CodeActionKind.QuickFix,
                        diagnostics=[self._diagnostic(problem)],
                        is_preferred=place == 0,
                        edit=self._changes(fix.edits),
                    )
                )
        return found

    def hover(self, position: lsp.Position) -> lsp.Hover | None:
        """The text over a token."""
        found = hover(self.document, self._offset(position))
        if found is None:
            return None
        shown = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text)
        return lsp.Hover(shown, self._range(found.start, found.end))

    def definition(self, position: lsp.Position) -> lsp.Location | None:
        """The place where the name at a position is declared."""
        occurrence = self._occurrence(position)
        found = occurrence and declaration_of(self.document, occurrence)
        return self._location(found) if found else None

    def references(self, position: lsp.Position, declarations: bool) -> list[lsp.Location]:
        """Every place of the name at a position."""
        occurrence = self._occurrence(position)
        same = self.document.same(occurrence) if occurrence else []
        return [self._location(found) for found in same if declarations or not found.declares]

    def highlights(self, position: lsp.Position) -> list[lsp.DocumentHighlight]:
        """The same in this text."""
        return [lsp.DocumentHighlight(location.range) for location in self.references(position, True)]

    def renaming(self, position: lsp.Position) -> lsp.PrepareRenamePlaceholder | None:
        """The name at a position, if it can be another; not the local part of a prefixed name."""
        found = self._occurrence(position)
        if found is None or self._offset(position) > found.end + 1:
            return None
        return lsp.PrepareRenamePlaceholder(self._range(found.start, found.end), found.name)

    def renamed(self, position: lsp.Position, name: str) -> lsp.WorkspaceEdit | None:
        """The changes that rename the name at a position; InputError for a name that it cannot have."""
        found = self._occurrence(position)
        return self._changes(renamed(self.document, found, name)) if found else None

    def completions(self, position: lsp.Position) -> lsp.CompletionList:
        """The words that may stand at a position, in their order."""
        found = completions(self.document, self._offset(position))
        return lsp.CompletionList(False, [self._completion(each, place) for place, each in enumerate(found)])

    def folds(self) -> list[lsp.FoldingRange]:
        """The parts that can be folded."""
        ranges = [(self._range(fold.start, fold.end), fold.kind) for fold in folds(self.document)]
        return [lsp.FoldingRange(place.start.line, place.end.line, kind=kind) for place, kind in ranges]

    def outline(self) -> list[lsp.DocumentSymbol]:
        """The streams and GPMs."""
        return [
            lsp.DocumentSymbol(
                name=entry.name,
                detail=entry.detail,
                kind=lsp.SymbolKind.Interface if entry.is_stream else lsp.SymbolKind.Class,
                range=self._range(entry.start, entry.end),
                selection_range=self._range(entry.name_start, entry.name_end),
            )
            for entry in outline(self.document)
        ]

    def inlay_hints(self, asked: lsp.Range) -> list[lsp.InlayHint]:
        """The contiguity in force before each quantifier in a range that is written without one."""
        start, end = self._offset(asked.start), self._offset(asked.end)
        sequence, text = self.document.sequence, self.document.text
        found = [] if sequence is None else sorted(defaults(sequence, text), key=itemgetter(0))
        return [
            lsp.InlayHint(
                position=self._range(place, place).start,
                label=contiguity.value,
                tooltip=f"between iterations {BETWEEN[contiguity]}",
            )
            for place, contiguity in found
            if start <= place <= end
        ]

    def semantic_tokens(self) -> lsp.SemanticTokens:
        """The kinds of all tokens, each place relative to the one before."""
        data: list[int] = []
        line = character = 0
        for start, end, kind, declares in self._coloured():
            place = self._places.place(start)
            character = place.character - (character if place.line == line else 0)
            length = self._places.length(start, end)
            data += [place.line - line, character, length, TOKEN_TYPES.index(kind), int(declares)]
            line, character = place.line, place.character
        return lsp.SemanticTokens(data)

    def formatting(self) -> list[lsp.TextEdit]:
        """The change that writes the text in the one format; none for a text that cannot be read."""
        text = self.document.text
        if hindrances(text) or (written := formatted(text)) == text:
            return []
        return [self._edit((0, len(text), written))]

    def _coloured(self) -> Iterator[tuple[int, int, str, bool]]:
        """The part of each token on each line, with its type, and whether it declares a name."""
        declared = {
            found.start for found in self.document.occurrences if found.declares and found.kind is not Names.PREFIX
        }
        for placed in self.document.tokens:
            token = placed.token
            for start, end in self._places.pieces(token.start, token.end) if token.kind.lsp else ():
                yield start, end, token.kind.lsp, token.start in declared

    def _diagnostic(self, problem: Problem) -> lsp.Diagnostic:
        hint = f"\nhint: {problem.hint}" if problem.hint else ""
        return lsp.Diagnostic(
            range=self._range(*span_of(problem, self.document.text)),
            message=problem.message + hint,
            severity=_SEVERITIES[problem.severity],
            code=problem.code,
            source=SOURCE,
            tags=[lsp.DiagnosticTag.Unnecessary] if problem.code == "SQ101" else None,
        )

    def _completion(self, found: Completion, place: int) -> lsp.CompletionItem:
        return lsp.CompletionItem(
            label=found.label,
            kind=_SORTS[found.sort],
            detail=found.detail or None,
            sort_text=f"{place:05}",
            filter_text=found.label,
            text_edit=self._edit((found.start, found.end, found.label)),
            additional_text_edits=[self._edit(edit) for edit in self._declarations(found)] or None,
        )

    def _declarations(self, found: Completion) -> list[Edit]:
        """The declaration of a prefix that a completion brings into the query."""
        prefix = found.label.partition(":")[0]
        if found.sort is not Sort.PREFIX or prefix in self.document.namespace.prefixes:
            return []
        edit = declaration(self.document, prefix)
        return [] if found.start <= edit[0] <= found.end else [edit]

    def _occurrence(self, position: lsp.Position) -> Occurrence | None:
        return self.document.occurrence_at(self._offset(position))

    def _changes(self, edits: Iterable[Edit]) -> lsp.WorkspaceEdit:
        return lsp.WorkspaceEdit(changes={self.uri: [self._edit(edit) for edit in edits]})

    def _edit(self, edit: Edit) -> lsp.TextEdit:
        start, end, written = edit
        return lsp.TextEdit(self._range(start, end), written)

    def _location(self, found: Occurrence) -> lsp.Location:
        return lsp.Location(self.uri, self._range(found.start, found.end))

    def _range(self, start: int, end: int) -> lsp.Range:
        first, last = self._places.place(start), self._places.place(end)
        return lsp.Range(lsp.Position(first.line, first.character), lsp.Position(last.line, last.character))

    def _offset(self, position: lsp.Position) -> int:
        return self._places.offset(Place(position.line, position.character))
