"""The kinds of values of JSON, as the scanner and the columns name them."""

STRING, ESCAPED, WIDE, INTEGER, DOUBLE, BOOLEAN, LIST = 1, 2, 4, 8, 16, 32, 64
"""Bits; a string may be ESCAPED and, with characters that are not in ASCII, WIDE. Null has none."""
