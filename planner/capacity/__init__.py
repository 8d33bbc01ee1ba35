"""Capacity: node pools, headroom, what still fits, and the effect of scale-ups and other changes."""
