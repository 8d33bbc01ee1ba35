"""Limits of what is simulated and shown of a rollout."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class RolloutLimits(Record):
    """How many, at most."""

    # cures
    nodes_of_a_cure: int = 3  # of which a cure may speak
    pods_of_a_cure: int = 5  # the same
    # durations
    duration_draws: int = 1_000  # of a rollout's start-ups
    pods_of_a_course: int = 500  # their start-ups are drawn or learned from: of more, several stand as one
    # film
    frames: int = 120  # of a film
    film_nodes: int = 7  # rows of a rollout's film: who looks at more sees less
    film_nodes_of_a_change: int = 24  # rows of the film of an upgrade or a drain, which shows every node that goes
    film_waiting: int = 48  # pods in a film that wait and never come to one of its rows
    # glance
    kinds_named: int = 5  # that aren't played, each in a sentence of its own
    # image pulls
    images_of_a_node: int = 50  # a kubelet tells no more (nodeStatusMaxImages)
    # observed course
    nodes_of_a_watch: int = 100  # that came during a rollout
    workloads_of_a_watch: int = 1_000  # that changed during it
    # own ways
    canary_steps: int = 20  # of a canary that sets no weight
    # placement
    workloads_asked: int = (
        500  # of more, no workload is asked whether they can still be rolled out: that takes a run of each
    )
    # policy
    dots_of_a_line: int = 100  # a key of so many parts costs tomllib their square
    # queue
    lines_of_clocks: int = 50  # their order on each clock is looked at, pod by pod
    # queued
    queued_pods: int = 200  # of a Deployment, each of which stands in its queue by itself; more aren't played
    # simulation
    pods_made: int = 500_000  # of one run: about half a GB of memory
    rounds: int = 100_000  # of controllers and scheduler within one moment; reached only by a bug
    # told
    others_named: int = 3  # rollouts in flight, by name; of more their number
    timeline_rows: int = 400  # a chart can't show more


LIMITS: Final = RolloutLimits()
