"""Mutated dumps of real clusters, and of what every other reader takes: what comes in may be anything, what comes out holds."""
