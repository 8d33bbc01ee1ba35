"""Spot savings: suitability, interruptions, economics."""
