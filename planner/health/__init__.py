"""Health of services: what restarts and why, memory under pressure, and how environments differ."""
