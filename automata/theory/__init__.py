"""Theorems of the papers as code: symbolic register automata, closure, windowed determinisation."""
