"""Settings of the cluster's autoscaler, named after its flags: a setting of every question that simulates scale-ups."""

from __future__ import annotations

from enum import StrEnum

from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.inventory.reading_limits import LIMITS


class Expander(StrEnum):
    """``--expander`` of cluster-autoscaler: which of several pools grows."""

    LEAST_WASTE = "least-waste"
    MOST_PODS = "most-pods"
    LEAST_NODES = "least-nodes"
    RANDOM = "random"


class Autoscaling(Record):
    """cluster-autoscaler's flags, with its defaults; the two delays are constants of it.

    Source: kubernetes/autoscaler `cluster-autoscaler/config/flags/flags.go`, `core/static_autoscaler.go` `allPodsAreNew`
    (`unschedulablePodTimeBuffer`, `unschedulablePodWithGpuTimeBuffer`); its ``--new-pod-scale-up-delay`` is 0 s.

    Attributes
    ----------
    expendable_below : for pods of a lower priority no node is added, and their room counts as free
    arrival_seconds : from a pod that waits to a new node that takes it; None: the stated default, with and without GPUs
    pod_delay_seconds, gpu_pod_delay_seconds : how long the oldest pod that waits (the oldest that asks for GPUs) has to have been there
        before nodes are added for any
    scale_down_unneeded_seconds : how long a node has to have been unneeded before it is taken away
    """

    arrival_seconds: float | None = None  # a setting of the question's own
    expander: Expander = setting(
        Expander.LEAST_WASTE, label="The autoscaler's expander",
        help="How cluster-autoscaler chooses among pools: its --expander.",
    )  # fmt: skip
    expendable_below: int = setting(
        -10, name="expendable_pods_priority_cutoff", label="Expendable below priority", least=-(2**31), most=2**31 - 1,
        help="For pods of a lower priority cluster-autoscaler adds no node, and takes their room for free.",
    )  # fmt: skip
    pod_delay_seconds: float = setting(
        2.0, name="new_pod_delay_seconds", label="Pods wait at least, seconds", least=0, most=LIMITS.delay_seconds,
        help="How long the oldest pod that waits has to have been there before cluster-autoscaler adds nodes.",
    )  # fmt: skip
    gpu_pod_delay_seconds: float = setting(
        30.0, name="new_gpu_pod_delay_seconds", label="GPU pods wait at least, seconds", least=0, most=LIMITS.delay_seconds,
        help="The same of the oldest that asks for GPUs, where one does; no node is added for any pod before.",
    )  # fmt: skip
    scale_down_unneeded_seconds: float = setting(
        600.0, name="scale_down_unneeded_seconds", label="Nodes go after, seconds", least=0, most=LIMITS.delay_seconds,
        help="How long a node has to have been unneeded before cluster-autoscaler takes it away: its --scale-down-unneeded-time.",
    )  # fmt: skip
