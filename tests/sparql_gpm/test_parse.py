from __future__ import annotations

import sys

import pytest

from sparql_gpm.errors import PatternSyntaxError
from sparql_gpm.parse import parse_expression, parse_group, parse_template
from sparql_gpm.pattern import (
    BGP,
    Aggregate,
    Call,
    Cast,
    Constant,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Iteration,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Node,
    OrderBy,
    PathAlternative,
    PathSequence,
    PathTriple,
    Pattern,
    Project,
    Repeat,
    Service,
    Slice,
    Triple,
    Union,
    Values,
    Variable,
)
from sparql_gpm.terms import IRI, RDF, RDF_LANG_STRING, XSD, Literal

PREFIXES = {"": "http://e/", "xsd": XSD}
A, B, C, S, P, O = (Variable(name) for name in ("a", "b", "c", "s", "p", "o"))  # noqa: E741


def e(name: str) -> IRI:
    return IRI(f"http://e/{name}")


def integer(lexical: str) -> Literal:
    return Literal(lexical, XSD + "integer")


def pattern(text: str, base: str | None = None) -> Pattern:
    parsed = parse_group(text, PREFIXES, base)
    assert not parsed.filters
    return parsed.pattern


def bgp(*triples: tuple[Node, Node, Node]) -> BGP:
    return BGP(tuple(Triple(*triple) for triple in triples))


def condition(text: str) -> Expression:
    return parse_expression(text, PREFIXES, None)


SPO = bgp((S, P, O))


def test_predicate_and_object_lists_share_their_subject() -> None:
    assert pattern("?s a :C ; :p ?a , ?b ; . ?a :q ?c .") == bgp(
        (S, IRI(RDF + "type"), e("C")), (S, e("p"), A), (S, e("p"), B), (A, e("q"), C)
    )


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("01", integer("01")),
        ("-5", integer("-5")),
        ("+5", integer("+5")),
        ("1.50", Literal("1.50", XSD + "decimal")),
        ("1.0e0", Literal("1.0e0", XSD + "double")),
        ("TRUE", Literal("true", XSD + "boolean")),
        ("'a\\n'", Literal("a\n")),
        ("'a'@EN-gb", Literal("a", RDF_LANG_STRING, "en-gb")),
        ("'01'^^xsd:integer", integer("01")),
        ("'x' ^^ <http://e/t>", Literal("x", "http://e/t")),
        ("'#' # comment }", Literal("#")),
    ],
)
def test_literals_keep_their_lexical_form(text: str, literal: Literal) -> None:
    assert pattern(f":s :p {text}\n") == bgp((e("s"), e("p"), literal))


def test_iris_are_resolved_against_prefixes_and_base() -> None:
    found = pattern(r"<x> :a\-b%20 <../y#z> . : <#f> <http://other/>", "http://h/d/e/f")
    assert found == bgp(
        (IRI("http://h/d/e/x"), e("a-b%20"), IRI("http://h/d/y#z")),
        (e(""), IRI("http://h/d/e/f#f"), IRI("http://other/")),
    )


def test_blank_nodes_are_variables_that_a_label_shares() -> None:
    found = pattern("_:x :p [ :q _:x ] . [] :r _:y")
    assert isinstance(found, BGP)
    (x, _, inner), (subject, _, again), (other, _, y) = (
        (triple.subject, triple.predicate, triple.object) for triple in found.triples if isinstance(triple, Triple)
    )
    assert x == again and inner == subject
    assert len({x, inner, other, y}) == 4
    assert all(isinstance(node, Variable) and node.name.startswith("_:") for node in (x, inner, other, y))


def test_collections_become_lists() -> None:
    found = pattern("?s :p (1 ?a) , ()")
    assert isinstance(found, BGP)
    first, rest, nil = (IRI(RDF + name) for name in ("first", "rest", "nil"))
    nodes = [triple.subject for triple in found.triples]
    head, tail = Variable("_:1"), Variable("_:2")
    assert set(nodes) == {S, head, tail}
    assert set(found.triples) == {
        Triple(S, e("p"), head), Triple(head, first, integer("1")), Triple(head, rest, tail),
        Triple(tail, first, A), Triple(tail, rest, nil), Triple(S, e("p"), nil),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (":p+", Repeat(Link(e("p")), True, True)),
        (":p *", Repeat(Link(e("p")), False, True)),
        (":p?", Repeat(Link(e("p")), False, False)),
        (":p|^a", PathAlternative(Link(e("p")), Inverse(Link(IRI(RDF + "type"))))),
        ("(:p/:q/:r)+", Repeat(PathSequence(PathSequence(Link(e("p")), Link(e("q"))), Link(e("r"))), True, True)),
        ("!:p", NegatedSet((e("p"),), ())),
        ("!^:p", NegatedSet((), (e("p"),))),
        ("!(:p|^a|^:q)", NegatedSet((e("p"),), (IRI(RDF + "type"), e("q")))),
        ("!()", NegatedSet((), ())),
    ],
)
def test_paths_keep_their_structure(text: str, path: object) -> None:
    assert pattern(f"?s {text} ?o") == BGP((PathTriple(S, path, O),))  # type: ignore[arg-type]


def test_sequences_and_inverses_at_the_top_of_a_path_become_triples() -> None:
    middle = Variable("_:1")
    assert pattern("?s :p/^:q ?o") == bgp((S, e("p"), middle), (O, e("q"), middle))


def test_a_sign_after_a_predicate_belongs_to_the_number() -> None:
    assert pattern("?s :p +5") == bgp((S, e("p"), integer("+5")))
    assert pattern("?s :p + 5") == BGP((PathTriple(S, Repeat(Link(e("p")), True, True), integer("5")),))


def test_filters_of_a_group_apply_to_all_of_it() -> None:
    assert pattern("{ FILTER(?a) ?s ?p ?o FILTER(?b) }") == Filter(Call("&&", (A, B)), SPO)


def test_filters_of_an_optional_are_its_condition_but_those_of_a_group_in_it_are_not() -> None:
    assert pattern("OPTIONAL { ?s ?p ?o FILTER(?a) }") == LeftJoin(BGP(()), SPO, A)
    assert pattern("OPTIONAL { { ?s ?p ?o FILTER(?a) } }") == LeftJoin(BGP(()), Filter(A, SPO), None)


def test_groups_are_folded_from_left_to_right() -> None:
    other = bgp((A, B, C))
    assert pattern("?s ?p ?o { ?a ?b ?c } MINUS { ?s ?p ?o } OPTIONAL { ?a ?b ?c }") == LeftJoin(
        Minus(Join(SPO, other), SPO), other, None
    )
    assert pattern("{ ?s ?p ?o } UNION { ?a ?b ?c } UNION { }") == Union(Union(SPO, other), BGP(()))
    assert pattern("GRAPH :g { ?s ?p ?o } SERVICE SILENT ?a { ?s ?p ?o } .") == Join(
        Graph(e("g"), SPO), Service(A, SPO, True)
    )
    assert pattern("?s ?p ?o BIND(?s AS ?a) ?a ?b ?c") == Join(Extend(SPO, "a", S), other)


def test_inline_data_knows_undef() -> None:
    assert pattern("VALUES (?a ?b) { (1 UNDEF) ('x'@en :y) }") == Values(
        ("a", "b"), ((integer("1"), None), (Literal("x", RDF_LANG_STRING, "en"), e("y")))
    )
    assert pattern("VALUES ?a { -1 }") == Values(("a",), ((integer("-1"),),))
    assert pattern("VALUES () { () }") == Values((), ((),))


def test_a_body_may_be_a_subquery() -> None:
    found = pattern(
        "SELECT DISTINCT ?s (COUNT(DISTINCT ?o) * 2 AS ?n) { ?s ?p ?o } GROUP BY ?s (STR(?p) AS ?k)"
        " HAVING (SUM(?o) > 1) ORDER BY DESC(?n) ?k LIMIT 3 OFFSET 1 VALUES ?s { :x }"
    )
    count, total = Variable("_:1"), Variable("_:2")
    group = Group(
        SPO,
        (("s", S), ("k", Call("STR", (P,)))),
        (("_:1", Aggregate("COUNT", O, True)), ("_:2", Aggregate("SUM", O))),
    )
    having = Filter(Call(">", (total, Constant(integer("1")))), group)
    extended = Extend(Join(having, Values(("s",), ((e("x"),),))), "n", Call("*", (count, Constant(integer("2")))))
    ordered = OrderBy(extended, ((Variable("n"), True), (Variable("k"), False)))
    assert found == Slice(Distinct(Project(ordered, ("s", "n"))), 1, 3)


def test_top_level_filters_come_apart_with_their_places() -> None:
    text = (
        "?s ?p ?o . FILTER(?a > (1)) . OPTIONAL { ?a ?b ?c FILTER(?c) }"
        " FILTER NOT EXISTS { ?s ?p ?o } FILTER regex(?o, ')')"
    )
    parsed = parse_group(text, PREFIXES, None)
    assert parsed.pattern == LeftJoin(SPO, bgp((A, B, C)), C)
    assert [text[found.start : found.end] for found in parsed.filters] == [
        "FILTER(?a > (1))", "FILTER NOT EXISTS { ?s ?p ?o }", "FILTER regex(?o, ')')",
    ]  # fmt: skip
    assert parsed.filters[1].expression == Exists(SPO, True)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("?a || ?b && !?c", Call("||", (A, Call("&&", (B, Call("!", (C,))))))),
        ("1 - 2 - ?a", Call("-", (Call("-", (Constant(integer("1")), Constant(integer("2")))), A))),
        ("?a -2", Call("-", (A, Constant(integer("2"))))),
        ("?a * -2", Call("*", (A, Constant(integer("-2"))))),
        ("- ?a", Call("NEG", (A,))),
        ("?a NOT IN (1, ?b)", Call("NOTIN", (A, Constant(integer("1")), B))),
        ("?a IN ()", Call("IN", (A,))),
        ("isURI(URI(?a))", Call("ISIRI", (Call("IRI", (A,)),))),
        ("substr(?a, ?b)", Call("SUBSTR", (A, B))),
        ("CONCAT(?a, ?b, ?c)", Call("CONCAT", (A, B, C))),
        ("NOW()", Call("NOW", ())),
        ("xsd:integer(?a)", Cast(XSD + "integer", (A,))),
        ("BOUND(PREV(?v))", Call("BOUND", (Iteration("PREV", "v"),))),
        ("last(?v) - FIRST( ?v )", Call("-", (Iteration("LAST", "v"), Iteration("FIRST", "v")))),
        ("AVG(?a) > SAMPLE(DISTINCT ?a)", Call(">", (Aggregate("AVG", A), Aggregate("SAMPLE", A, True)))),
        ("GROUP_CONCAT(?x ; SEPARATOR = ', ')", Aggregate("GROUP_CONCAT", Variable("x"), False, ", ")),
        ("COUNT(*)", Aggregate("COUNT", None)),
    ],
)
def test_expressions_are_read(text: str, expression: Expression) -> None:
    assert condition(text) == expression


def test_long_conjunctions_stay_shallow() -> None:
    depth, found = 0, condition(" && ".join(["?a"] * 300))
    while isinstance(found, Call):
        depth, found = depth + 1, found.arguments[0]
    assert depth < 12


def test_a_template_takes_aggregates_and_iterations_as_objects() -> None:
    found = parse_template(":m :mean AVG(?x) ; :p PREV(?x), 3 . _:b :q [ :r COUNT(DISTINCT ?y) ]", PREFIXES, None)
    assert [value for _, value in found] == [
        Aggregate("AVG", Variable("x")), Iteration("PREV", "x"), None, None, Aggregate("COUNT", Variable("y"), True),
    ]  # fmt: skip
    assert found[2][0] == Triple(e("m"), e("p"), integer("3"))
    assert found[3][0].object == found[4][0].subject != found[3][0].subject == Variable("_:b")
    assert parse_template("", PREFIXES, None) == ()


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("?s :p ?o . FILTER(?x > )", ")", "expected an expression, found ')'"),
        ("?s :p .", ".", "expected a term, found '.'"),
        ("?s :p ?o ?x", "?x", "expected ',', '.', ';'"),
        ("?s :p ?o OPTIONAL ?x", "?x", "expected '{', found '?x'"),
        ("?s foo:x ?o", "foo:x", "prefix 'foo:' is not declared"),
        ("?s fooo ?o", "fooo", "found 'fooo'"),
        ("?s <p> ?o", "<p>", "the IRI <p> is relative"),
        ("FILTR(?x)", "FILTR", "found 'FILTR'"),
        ("FILTER FOO(?x)", "FOO", "found 'FOO'"),
        ("?s :p 'abc", "'abc", "a string without its end"),
        ("?s :p ~", "~", "expected a term, found '~'"),
        ("?s :p `", "`", "the character '`' cannot be read"),
        ("?s :p ?o } ", "}", "expected the end, found '}'"),
        ("{ ?s :p (?o }", "}", "expected ')', found '}'"),
        ("{ ?s :p ?o", "", "expected '}', found the end"),
        ("?s :p", "", "expected a term, found the end"),
        ("BIND(?x ?y)", "?y)", "expected 'AS' or an operator, found '?y'"),
        ("?s a15 .", "a15", "'a15' is no word of SPARQL"),
        ("?s a1e999 .", "a1e999", "'a1e999' is no word of SPARQL"),
        ("?s :p ?o BIND(1 AS ?o)", "?o)", "BIND to ?o, which is already in scope"),
        ("{ SELECT (1 AS ?s) { ?s :p ?o } }", "?s) ", "?s is already in scope"),
        ("{ SELECT ?o { ?s :p ?o } GROUP BY ?s }", "?o {", "?o is neither grouped nor aggregated"),
        ("{ SELECT * { ?s :p ?o } GROUP BY ?s }", "SELECT", "SELECT * cannot stand with groups"),
        ("{ SELECT ?s { ?s :p ?o } LIMIT 1.5 }", "1.5", "expected a whole number"),
        ("_:a :p ?o OPTIONAL { _:a :q ?x }", "_:a :q", "the blank node _:a is used in two basic graph patterns"),
        ("VALUES (?x ?y) { (7) }", "7", "a row of VALUES has 1 values for 2 variables"),
        ("OPTIONAL { ?a ?b ?c FILTER(COUNT(?a) > 1) }", "COUNT", "COUNT cannot stand here"),
        ("BIND(PREV(?x) AS ?z)", "PREV", "PREV cannot stand here"),
        ("?s :p LAST(?x)", "LAST", "LAST cannot stand here"),
        ("FILTER EXISTS { ?a ?b ?c FILTER(FIRST(?x)) }", "FIRST", "FIRST cannot stand here"),
        ("FILTER(SUM(AVG(?x)) > 1)", "AVG", "AVG cannot stand here"),
        ("FILTER(PREV(?x + 1))", "+ 1", "expected ')', found '+'"),
        ("FILTER(PREV(1))", "1))", "expected a variable, found '1'"),
        ("FILTER(xsd:integer(DISTINCT ?x))", "xsd:integer", "the aggregate 'xsd:integer' is not known"),
        ("?s 'a' ?o", "'a'", "found ''a''"),
        ("?s :p '\\uD800'", "'\\uD800'", "not a Unicode character"),
    ],
)
def test_errors_point_at_the_offending_token(text: str, at: str, message: str) -> None:
    with pytest.raises(PatternSyntaxError) as error:
        parse_group(text, PREFIXES, None)
    assert message in error.value.message
    assert error.value.offset == (text.rindex(at) if at else len(text))


def test_an_undeclared_prefix_is_answered_with_the_declared_ones() -> None:
    with pytest.raises(PatternSyntaxError) as error:
        parse_group("?s foo:x ?o", PREFIXES, None)
    assert error.value.hint == "declared here: :, xsd:"


@pytest.mark.parametrize("text", [":m :mean AVG(?x) + 1", "AVG(?x) :p 1", ":s :p/:q 1", ":s :p AVG(", "?s ?p"])
def test_templates_are_triples_and_nothing_else(text: str) -> None:
    with pytest.raises(PatternSyntaxError):
        parse_template(text, PREFIXES, None)


@pytest.mark.parametrize("text", ["", "1 +", "STRLEN(?x ?y)", "FOO(?x)", "?x ?y", "IF(?x, 1)"])
def test_expressions_must_be_whole(text: str) -> None:
    with pytest.raises(PatternSyntaxError):
        parse_expression(text, PREFIXES, None)


def test_deep_nesting_is_an_error_of_the_text_and_long_patterns_are_not() -> None:
    limit = sys.getrecursionlimit()
    brackets = ("{" * 500 + "}" * 500, "FILTER" + "(" * 500 + "?x" + ")" * 500, "?s :p " + "(" * 90 + ")" * 90)
    for text in (*brackets, f"FILTER({'!' * 10**5}?x)", "?s :p " + "<<( :a :b " * 70 + ":c" + ")>>" * 70):
        with pytest.raises(PatternSyntaxError, match="nested more than"):
            parse_group(text, PREFIXES, None)
    assert condition("(" * 50 + "?a" + ")" * 50) == A
    assert len(pattern(" . ".join(["?s :p ?o"] * 500)).triples) == 500  # type: ignore[union-attr]
    assert sys.getrecursionlimit() == limit


def test_long_lists_and_chains_are_read_whole() -> None:
    numbers = ", ".join(map(str, range(2000)))
    for text in (
        f"?v IN ({numbers})",
        f"CONCAT({numbers})",
        f"<http://x/f>({numbers}) NOT IN (?a, COALESCE({numbers}))",
    ):
        assert str(condition(text)).count("1999") == text.count("1999")
    with pytest.raises(PatternSyntaxError) as error:
        condition(f"?v IN ({numbers}, 2 3)")
    assert error.value.message == "expected ')', ',' or an operator, found '3'"


def test_parsing_leaves_the_settings_of_rdflib_alone() -> None:
    import rdflib

    before = rdflib.NORMALIZE_LITERALS
    pattern("?s :p 01")
    with pytest.raises(PatternSyntaxError):
        pattern("?s :p")
    assert before == rdflib.NORMALIZE_LITERALS
    assert str(rdflib.Literal("01", datatype=rdflib.XSD.integer)) == "1"
