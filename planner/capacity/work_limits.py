"""Limits of capacity work: how much is counted, simulated or searched. `planner.remedies.limits` has remedies'."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class CapacityLimits(Record):
    """How many, at most."""

    # certain losses
    taken_by_nodes: int = 1_000_000  # (kind of pod, node) of which it is known whether one takes the other
    # changes
    changes: int = 12  # in one list: more are refused
    nodes_of_a_change: int = 1_000  # added by one change: more are refused
    replicas_of_a_change: int = 100_000  # more are refused
    # growth
    growth_waves: int = (
        64  # of nodes that come one after another: beyond, the growth isn't played to its end, which is said
    )
    others_named: int = 3  # other reasons for which nodes come
    # headroom
    pods_placed: int = 2_000  # one by one; beyond, the number is "at least"
    pods_preempting: int = 200  # played that preempt others; beyond, "at least"
    # moves of pods (`planner.remedies.make_room` says where the least isn't proven)
    branches: int = (
        2_000  # of a solver's search tree, counted and not timed: above it `at_least` is the bound, not the weight
    )
    variables: int = 6_000  # of a solver: above, the moves are those of the search, and not proven
    hosts_tried: int = 40  # nodes from which a pod's room is tried to be made; what it finds isn't called the least
    hosted: int = 12  # pending pods on one node that the bound counts one by one: above, the bound is lower
    replanned: int = 4  # times; after each, what a budget held isn't moved any more, or a torn gang is left out
    led: int = 30  # moves that are led to their nodes one by one, where they can't be left to kube-scheduler
    led_orders: int = 12  # in which that is tried
    # node pools
    nodes_brought: int = 512  # that autoscalers are looked at bringing for one rollout
    # queues
    pods_let_in: int = 200  # of those that Kueue lets in, for which places are looked for
    queues_asked: int = 60  # queues: what would admit the first workload of each is looked up
    # scale ups
    event_characters: int = 300  # of an event's message
    # seats
    seats_of_a_node: int = 256  # only shared GPUs are as many, and more can not be looked at
    squares_of_a_node: int = 16  # of CPU and memory: more can't be told apart
    holders_named: int = 3  # of those that hold a pending pod's place
    # spare
    buffer_pods: int = (
        5_000  # of all buffers; of more nothing is known: without some of them a pool that they fill would grow
    )
    # spare needs
    other_nodes_tried: int = 8  # for pods that wait for the same nodes, or its own that have no place
    # strategy growth
    strategies_with_growth: int = 12  # strategies that are played with an autoscaler beside them
    # survival
    losses_together: int = 100  # losses of several nodes of one pool that are played or counted, of all pools
    losses_with_spare: int = 300  # losses that are played or counted with spare nodes
    loss_units: int = 1_500_000  # of work for one loss: where many push others out it takes minutes;
    loss_nodes: int = 1_000  # on more nodes than that fewer, since each unit takes longer there
    lost_pods: int = 200  # on what is lost, for which spare nodes are looked for
    waiting_pods: int = 100  # pods today, which take spare nodes first: beyond that none are looked for
    spare_in_vain: int = 3  # nodes of a pool for which none was found, one after another
    spare_steps: int = 12  # times that a search adds spare nodes
    spare_of_one_pool: int = 3  # nodes of one pool alone that are tried instead of several pools'
    # timeline
    upgrade_stages: int = 200  # of a pool that is upgraded: an upgrade of more isn't played, which is said
    # unasked
    unasked_growths: int = 32  # times that nodes are added
    # untold
    claims_alone: int = 64  # claims played each by itself
    # what if
    batches: int = 12  # of an upgrade, played; a pool of hundreds of nodes repeats itself


LIMITS: Final = CapacityLimits()
