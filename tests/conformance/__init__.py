"""One suite for every evaluator and every runtime: case folders and the papers' examples."""
