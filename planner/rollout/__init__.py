"""What a change does: the controllers, step by step, until the rollout ends or nothing moves."""
