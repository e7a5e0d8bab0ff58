"""Changing the evaluator while a query runs, as the rates of its steps change."""
