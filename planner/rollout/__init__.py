"""Simulates a rollout: controllers and scheduler step by step until it ends or nothing moves."""
