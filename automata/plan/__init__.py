"""The compiled plan of a pattern: everything that is known before the first event."""
