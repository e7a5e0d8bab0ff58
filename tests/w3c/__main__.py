"""Run the W3C's tests of SPARQL 1.0 to 1.2 and of RDF 1.1 and 1.2, and print the outcomes by suite.

    python -m tests.w3c                       of the folder that SPASEQ_RDF_TESTS names
    python -m tests.w3c FOLDER                of this copy of the W3C's rdf-tests
    python -m tests.w3c --earl report.ttl     and write a report in EARL

The exit code is 1 if a test fails that is not among the known failures.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tests.w3c.known import KNOWN_FAILURES
from tests.w3c.manifests import Case, Outcome, cases
from tests.w3c.outcomes import outcome

VERDICTS = ("passed", "failed", "inapplicable", "untested")


def main() -> int:
    """Run the tests; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.w3c", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=os.environ.get("SPASEQ_RDF_TESTS"))
    parser.add_argument("--earl", metavar="FILE", type=Path, help="write a report in EARL, in Turtle")
    given = parser.parse_args()
    if given.folder is None:
        parser.error("no folder: name a copy of the W3C's rdf-tests, or set SPASEQ_RDF_TESTS")
    outcomes = {case: outcome(case) for case in cases(Path(given.folder))}
    _show(outcomes)
    if given.earl is not None:
        from tests.w3c.earl import report

        given.earl.write_text(report(outcomes, datetime.now(UTC)), encoding="utf-8")
    return int(any(o.verdict == "failed" and c.identifier not in KNOWN_FAILURES for c, o in outcomes.items()))


def _show(outcomes: Mapping[Case, Outcome]) -> None:
    """Print the number of each verdict by suite, the reasons of tests that do not apply, and each failure."""
    counts = Counter((case.suite, outcome.verdict) for case, outcome in outcomes.items())
    totals = Counter(outcome.verdict for outcome in outcomes.values())
    suites = list(dict.fromkeys(case.suite for case in outcomes))
    width = max(map(len, suites), default=0)
    print(f"{'suite':{width}}", *(f"{verdict:>12}" for verdict in VERDICTS))
    for suite in suites:
        print(f"{suite:{width}}", *(f"{counts[suite, verdict]:12}" for verdict in VERDICTS))
    print(f"{'all':{width}}", *(f"{totals[verdict]:12}" for verdict in VERDICTS))
    reasons = Counter((o.verdict, o.reason) for o in outcomes.values() if o.verdict in VERDICTS[2:])
    for (verdict, reason), number in reasons.most_common():
        print(f"\n{verdict}, {number}: {reason}", end="")
    for case, found in outcomes.items():
        if found.verdict == "failed":
            print(f"\nfailed: {case.identifier}: {KNOWN_FAILURES.get(case.identifier, found.reason)}", end="")
    print()


if __name__ == "__main__":
    sys.exit(main())
