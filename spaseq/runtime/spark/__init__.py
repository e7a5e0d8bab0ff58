"""The same operators on Spark; the only package that imports pyspark."""
