"""The merged order: reordering, late events, merging, open time slots."""
