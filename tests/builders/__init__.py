"""What tests build clusters of: `objects` as kubectl lists them, `records` as the planner reads them.

A room's own module beside its tests has what only it needs (a preset, a scenario), made of these.
"""
