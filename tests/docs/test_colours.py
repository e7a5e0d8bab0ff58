from __future__ import annotations

from pathlib import Path

from pygments.token import Error

from docs.site.colours import queries_of, with_colours
from spaseq.editors.pygments_lexer import SPAseqLexer

ROOT = Path(__file__).parents[2]
PAGE = """```sparql
SELECT ?s { ?s ?p ?o }
```
text
```sparql
SEQ(A ; B)
```
"""


def test_queries_have_a_language_of_their_own_and_sparql_stays() -> None:
    assert with_colours(PAGE) == PAGE.replace("```sparql\nSEQ", "```spaseq\nSEQ")
    assert queries_of(PAGE) == ["SEQ(A ; B)\n"]


def test_every_query_of_the_pages_has_colours_throughout() -> None:
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *ROOT.glob("examples/*/*.md")]
    found = [query for page in pages for query in queries_of(page.read_text(encoding="utf-8"))]
    assert len(found) > 30
    lexer = SPAseqLexer()
    unknown = [(value, query) for query in found for kind, value in lexer.get_tokens(query) if kind is Error]
    assert unknown == []
