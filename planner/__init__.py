"""Headroom: told before you apply whether a Kubernetes rollout will finish. `planner.plan` is the way in."""
