"""What spot would save: fitness, interruptions, economics."""
