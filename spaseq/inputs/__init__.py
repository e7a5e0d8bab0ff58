"""Inputs of streams: what a PATH means, its bytes, the formats, pushed graphs and tables.

To add a format, add its reader to `sparql_gpm.rdf_io` and its entry to `spaseq.inputs.formats`.
"""
