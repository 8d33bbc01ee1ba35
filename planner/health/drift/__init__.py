"""Drift of one service over several namespaces or clusters: what differs, and what the differences explain."""
