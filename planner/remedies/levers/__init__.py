"""Levers, a module each: the effect on a cluster, the range, the steps with their undo, and the cost.

Each way out (`planner.remedies.ways_out`), each combination (`planner.remedies.lever_ranges`) and each measure of a plan is made of these, and no
step is made elsewhere.
"""
