"""Why containers restart: causes with evidence, noise apart, and the fix (`report`)."""
