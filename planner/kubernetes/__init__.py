"""The ground floor: what Kubernetes' objects are and each of its rules, once. Nothing here reads, simulates or draws."""
