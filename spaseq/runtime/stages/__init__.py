"""The pattern stage, from events to solutions, and the sequence stage, from solutions to rows."""
