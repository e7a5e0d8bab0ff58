"""Reasons why a query gave no row: what it saw until its first row, and the constraint that was in the way."""
