"""Propagation over windows that overlap: the steps that events take as matrices, multiplied along two stacks."""
