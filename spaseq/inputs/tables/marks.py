"""The mark of a cell that is no text."""

NO_TEXT = "\ufdd0"
"""In the place of bytes that are no UTF-8: a code point that is no character."""
