"""The outcome of each test of the W3C."""

from __future__ import annotations

from sparql_gpm.background import BackgroundError
from sparql_gpm.errors import PatternSyntaxError
from tests.w3c import documents, queries
from tests.w3c.manifests import OTHER_ANSWER, PASSED, Case, Outcome


def outcome(case: Case) -> Outcome:
    """The outcome of a test."""
    left_out = _left_out(case)
    if left_out is not None:
        return left_out
    if case.suite.startswith("rdf/"):
        return documents.outcome(case)
    try:
        if case.kind != "QueryEvaluationTest":
            queries.read(case)
            return Outcome("failed", "read as a query") if case.kind.startswith("Negative") else PASSED
        return PASSED if queries.passes(case) else OTHER_ANSWER
    except PatternSyntaxError as error:
        return PASSED if case.kind.startswith("Negative") else Outcome("failed", f"not read: {error}")
    except BackgroundError as error:
        return Outcome("failed", str(error))


def _left_out(case: Case) -> Outcome | None:
    """The outcome of a test that is not run."""
    if "Update" in case.kind or (case.action is not None and case.action.suffix == ".ru"):
        return Outcome("inapplicable", "SPARQL Update")
    if case.action is None or case.kind == "ProtocolTest":
        return Outcome("inapplicable", "the protocol of an endpoint")
    if case.suite.endswith("/entailment"):
        return Outcome("inapplicable", "an entailment regime")
    if case.suite.endswith("/service"):
        return Outcome("untested", "needs endpoints with data of their own")
    if case.result is not None and case.result.suffix == ".csv":
        return Outcome("inapplicable", "a result in CSV, which has no terms")
    if case.suite.startswith("sparql/") and (word := queries.other_form(case.action.read_text("utf-8"))):
        return Outcome("inapplicable", f"{word} in a query")
    return None
