"""Array code under both `sparql_gpm` and `automata`: columns of ids, comparison of numbers, compiled kernels."""
