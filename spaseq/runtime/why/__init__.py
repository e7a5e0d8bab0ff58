"""The reasons of matches, and of their absence: partial matches by the words of the specification, and their faults."""
