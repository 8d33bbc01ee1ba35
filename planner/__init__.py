"""Headroom: told before you apply whether a Kubernetes rollout will finish. `planner.questions.rollout` is the way in."""
