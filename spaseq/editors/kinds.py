"""The kinds of tokens that an editor tells apart, and the kind of each token of the lexers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from sparql_gpm.syntax.signs import Use
from spaseq.lang import signs
from spaseq.lang.lexemes import KEYWORDS, PUNCTUATION
from spaseq.lang.signs import SEQUENCE_SIGNS


class Kind(Enum):
    """A kind of token with its names: a tag of CodeMirror, a scope of TextMate, a token of Pygments, a type of LSP."""

    COMMENT = "comment", "comment.line.number-sign", "Comment.Single", "comment"
    KEYWORD = "keyword", "keyword.control", "Keyword", "keyword"
    FUNCTION = "variableName.function", "support.function", "Name.Builtin", "function"
    CONSTANT = "bool", "constant.language", "Keyword.Constant", "keyword"
    NAME = "className", "entity.name.type", "Name.Class", "class"
    VARIABLE = "variableName", "variable.other", "Name.Variable", "variable"
    IRI = "url", "string.other.iri", "Name.Namespace", "namespace"
    PREFIXED = "propertyName", "variable.other.property", "Name.Label", "property"
    BLANK_NODE = "labelName", "variable.other.blank", "Name.Entity", "variable"
    STRING = "string", "string.quoted", "Literal.String", "string"
    LANGUAGE = "meta", "storage.modifier", "Name.Decorator", "decorator"
    NUMBER = "number", "constant.numeric", "Literal.Number", "number"
    CONTIGUITY = "controlOperator", "keyword.operator.contiguity", "Operator.Word", "operator"
    QUANTIFIER = "modifier", "keyword.operator.quantifier", "Operator.Word", "operator"
    OPERATOR = "operator", "keyword.operator", "Operator", "operator"
    BRACKET = "bracket", "punctuation.section", "Punctuation", ""
    PUNCTUATION = "punctuation", "punctuation.separator", "Punctuation", ""
    INVALID = "invalid", "invalid.illegal", "Error", ""

    @property
    def codemirror(self) -> str:
        """The name of its highlighting tag."""
        return self.value[0]

    @property
    def textmate(self) -> str:
        """The scope."""
        return f"{self.value[1]}.spaseq"

    @property
    def pygments(self) -> str:
        """The token type below `Token`."""
        return self.value[2]

    @property
    def lsp(self) -> str:
        """The type of semantic token, "" for none."""
        return self.value[3]


SEQUENCE_USES: Mapping[Enum, Kind] = {
    signs.Use.BRACKET: Kind.BRACKET, signs.Use.CONTIGUITY: Kind.CONTIGUITY, signs.Use.OPERATOR: Kind.OPERATOR,
    signs.Use.QUANTIFIER: Kind.QUANTIFIER,
}  # fmt: skip
"""The kinds of the signs of SEQ( )."""

OUTER_KINDS = {
    "IRI": Kind.IRI, "BAD_IRI": Kind.INVALID, "STRING": Kind.STRING, "BAD_STRING": Kind.INVALID, "VAR": Kind.VARIABLE,
    "PNAME": Kind.PREFIXED, "WORD": Kind.INVALID, "NUMBER": Kind.NUMBER, "LANGTAG": Kind.LANGUAGE,
    "DATATYPE": Kind.PUNCTUATION, "UNKNOWN": Kind.INVALID, "RESERVED": Kind.INVALID, "NAME": Kind.NAME,
    **{kind: Kind.BRACKET if sign in "(){}" else Kind.PUNCTUATION for sign, kind in PUNCTUATION.items()},
    "BODY_OPEN": Kind.BRACKET, "TEMPLATE_OPEN": Kind.BRACKET, "STAR": Kind.OPERATOR,
    "_VERSION": Kind.STRING, **dict.fromkeys(KEYWORDS, Kind.KEYWORD),
}  # fmt: skip
"""The kinds of the lexemes outside of SEQ( )."""

SEQUENCE_KINDS = OUTER_KINDS | {
    **{sign.terminal: SEQUENCE_USES[sign.use] for sign in SEQUENCE_SIGNS.values()}, "REPEAT": Kind.QUANTIFIER,
    "BAD_REPEAT": Kind.INVALID, "MEMBER_SEQ": Kind.KEYWORD, "TIME_LIMIT": Kind.KEYWORD, "BRACE": Kind.BRACKET,
}  # fmt: skip
"""Those of the lexemes inside."""

SPARQL_KINDS = {
    "iri": Kind.IRI, "bnode": Kind.BLANK_NODE, "pname": Kind.PREFIXED, "variable": Kind.VARIABLE, "string": Kind.STRING,
    "unclosed": Kind.INVALID, "langtag": Kind.LANGUAGE, "double": Kind.NUMBER, "decimal": Kind.NUMBER,
    "integer": Kind.NUMBER, "word": Kind.INVALID, "punctuation": Kind.OPERATOR, "unknown": Kind.INVALID,
}  # fmt: skip
"""Those of the tokens of SPARQL, words and brackets aside."""

SIGN_KINDS: Mapping[Enum, Kind] = {
    Use.BRACKET: Kind.BRACKET,
    Use.SEPARATOR: Kind.PUNCTUATION,
    Use.OPERATOR: Kind.OPERATOR,
}
"""Those of the signs of SPARQL."""
BRACKETS = "(){}[]"
