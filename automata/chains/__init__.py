"""Partial matches as chains of (step, event, solution): table, walk, look-back, iterations, bindings."""
