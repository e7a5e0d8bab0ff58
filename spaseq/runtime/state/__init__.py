"""Snapshots, and what is kept of events until no match can contain them."""
