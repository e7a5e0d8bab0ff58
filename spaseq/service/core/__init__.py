"""The service apart from HTTP: acceptance of events, matching, rows, snapshots, recovery."""
