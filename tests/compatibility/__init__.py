"""What earlier releases wrote, so that this one is held to it."""
