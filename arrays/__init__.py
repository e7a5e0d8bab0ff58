"""What both `sparql_gpm` and `automata` need of arrays: number comparison, ranges, compiled kernels."""
