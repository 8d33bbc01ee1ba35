"""How long pods take to become Ready, learnt from those that did."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from planner.ground.records import Record
from planner.kubernetes.records import Pod

LONGEST_START_SECONDS = 3 * 3600.0  # a Ready condition that changed later tells of something else than the start


class LearntStart(Record):
    """Median seconds from being placed to Ready, over `pods` pods."""

    seconds: float
    pods: int


def start_seconds(pod: Pod, since: float | None) -> float | None:
    """Seconds from `since` to the pod's Ready; None where its Ready time doesn't tell of its start.

    That is so for pods that aren't Ready, for those whose containers restarted (Ready tells of the last restart), and
    for those that became Ready again long after.
    """
    if not pod.is_ready or pod.ready_at is None or since is None or any(one.restart_count for one in pod.containers):
        return None
    seconds = pod.ready_at - since
    return seconds if 0 <= seconds < LONGEST_START_SECONDS else None


def learn_start(pods: Iterable[Pod]) -> LearntStart | None:
    """What these pods took from being placed to Ready; None where none of them tells."""
    taken = [seconds for pod in pods if (seconds := start_seconds(pod, pod.scheduled_at)) is not None]
    return LearntStart(seconds=median(taken), pods=len(taken)) if taken else None
