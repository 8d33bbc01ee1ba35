"""Why containers restart: causes with evidence, noise apart, and what would help (`report`)."""
