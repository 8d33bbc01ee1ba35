"""Headroom: know before you apply whether a Kubernetes rollout will finish. Start at `planner.questions.rollout`."""
