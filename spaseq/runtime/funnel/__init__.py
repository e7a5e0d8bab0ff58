"""Counts of a query's funnel while it runs: events of each step, stage by stage, and what becomes of its matches."""
