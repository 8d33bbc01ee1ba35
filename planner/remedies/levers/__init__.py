"""A lever a module: what it makes of a cluster, how far it goes, its steps with what takes them back, as values, and its cost.

Each way out (`planner.remedies.ways_out`), each combination (`planner.remedies.lever_ranges`) and each measure of a plan is made of these, and no
step is made elsewhere.
"""
