"""Section 3 of the language, literally: the oracle that every evaluator is tested against.

It imports nothing under test but value types, and prefers the wording of the specification to speed.
"""
