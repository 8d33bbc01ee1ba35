"""Remedies: what can be done about a rollout that is stuck, or about pods that are pending.

A lever is one kind of change (a strategy, nodes, loans, quota, moves, an order, a template, pods). Four searches pull the levers:
`ways_out` (each alone), `combinations` (the certificate: all that nothing beats), `plan` (every workload) and `make_room` (fewest moves).
docs/decisions/0023 says what "proven" covers.
"""
