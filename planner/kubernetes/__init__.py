"""Kubernetes' objects and rules, each once. Nothing here reads files, simulates or draws."""
