"""Remedies: ways out of a stuck rollout, and ways to start pending pods.

A lever is one kind of change (a strategy, nodes, loans, quota, moves, an order, a template, pods). Four searches pull the levers:
`ways_out` (each alone), `pareto_plan_search` (the certificate: all unbeaten plans), `readiness_planner` (every workload) and `make_room` (fewest moves).
docs/decisions/0023 says what "proven" covers.
"""
