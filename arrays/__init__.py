"""Array code under both `sparql_gpm` and `automata`: columns of ids, times, comparison of numbers, compiled kernels."""
