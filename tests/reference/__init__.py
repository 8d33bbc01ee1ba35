"""The second oracle: a small, slow, readable simulation of a Kubernetes 1.36 control plane.

It takes raw Kubernetes JSON and plays the recorder of ``conformance/README.md`` in lock step. Nothing in here may import
``planner``: the engine is checked against this, so the two must not share a line.
"""
