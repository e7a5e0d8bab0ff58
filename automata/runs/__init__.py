"""Run-based evaluation: NFA^scep runs as columns, and what all evaluators share after the joins (G)."""
