"""Headroom against recordings of Kubernetes: `python -m tests.conformance [FOLDER]`."""
