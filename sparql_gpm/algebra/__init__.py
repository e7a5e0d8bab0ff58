"""What can be said of a pattern without data: scopes, equivalences, equal patterns, its plan and its text."""
