"""Figures: what a page or a report draws from results, one form a module, each with a text alternative."""
