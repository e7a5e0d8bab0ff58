"""Lazy chain, multi-chain and tree evaluation (K)."""
