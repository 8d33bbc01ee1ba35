"""Mutated dumps of real clusters: what comes in may be anything, what comes out holds."""
