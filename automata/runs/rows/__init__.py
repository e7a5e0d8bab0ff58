"""The runs of events that come one by one, as lists of Python's integers; see `evaluator`."""
