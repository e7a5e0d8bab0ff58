"""The database beside the log: numbered rows, dead letters, snapshots."""
