"""Complex event automata over tECS (CORE, CEL)."""
