"""Register match automata: runs with registers in compiled kernels (RMA)."""
