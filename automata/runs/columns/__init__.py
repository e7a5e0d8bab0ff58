"""Run-based evaluation, set at a time: runs are rows of int64 columns."""
