"""Rollout strategies of other projects: an Argo Rollout's steps, a LeaderWorkerSet's groups.

Sources: argo-rollouts 1.9 `pkg/apis/rollouts/v1alpha1/types.go`, `utils/defaults/defaults.go`;
lws 0.8 `api/leaderworkerset/v1/leaderworkerset_types.go`, `pkg/webhooks/leaderworkerset_webhook.go`.
"""

from __future__ import annotations

from planner.ground.records import Record
from planner.kubernetes.field_privacy import Inside, Word

WHOLE_WEIGHT = 100
SCALE_DOWN_DELAY_SECONDS = 30
ABORT_SCALE_DOWN_DELAY_SECONDS = 30


class CanaryStep(Record):
    """A step of a canary; one of its fields is set.

    Attributes
    ----------
    weight : percent of the traffic, or without a router of the pods
    is_pause : it waits, for `pause_seconds`, or (None) to be promoted
    scale_replicas, scale_weight, scale_matches : setCanaryScale's, which counts only with a router
    other : the name of a step that makes no pods of its own and takes a while: analysis, setHeaderRoute, …
    """

    weight: int | None = None
    is_pause: bool = False
    pause_seconds: float | None = None
    scale_replicas: int | None = None
    scale_weight: int | None = None
    scale_matches: bool = False
    other: Word = ""

    @property
    def is_scale(self) -> bool:
        return self.scale_matches or self.scale_replicas is not None or self.scale_weight is not None


class Canary(Record):
    """``spec.strategy.canary``. `written`: it as JSON, as far as it is read, to merge a patch into.

    `is_routed`: a traffic router splits the traffic, and the canary comes on top of the stable set. `least_pods`:
    minPodsPerReplicaSet. `unmodelled`: the names of fields that change how many pods there are, in a way that isn't modelled. `refused`: why
    Argo Rollouts does nothing about it.
    """

    steps: tuple[CanaryStep, ...] = ()
    is_routed: bool = False
    whole_weight: int = WHOLE_WEIGHT
    scales_stable: bool = False
    least_pods: int = 0
    abort_delay_seconds: float | None = None
    scale_down_delay_seconds: float = 0
    unmodelled: tuple[Word, ...] = ()
    refused: Word = ""
    written: Inside[str] = "{}"


class BlueGreen(Record):
    """``spec.strategy.blueGreen``. `preview_replicas`: None for as many as there shall be. `promotes_itself`: without that it
    waits to be promoted, with `promotion_seconds` a while."""

    preview_replicas: int | None = None
    abort_delay_seconds: float | None = None
    promotes_itself: bool = True
    promotion_seconds: float = 0
    scale_down_delay_seconds: float = SCALE_DOWN_DELAY_SECONDS
    unmodelled: tuple[Word, ...] = ()
    refused: Word = ""
    written: Inside[str] = "{}"


def invalid(own: Canary | BlueGreen | None) -> str:
    """That Argo Rollouts does nothing about a Rollout of this strategy, and why; "" where it takes it."""
    what = "Argo Rollouts takes no strategy like its own, and rolls nothing out (InvalidSpec)"
    return f"{what}: {own.refused}" if own is not None and own.refused else ""


class Progress(Record):
    """Where an Argo Rollout is, as its status says.

    Attributes
    ----------
    stable, current, active : hashes of pod templates: what is promoted, what it goes to, whom a blue-green's service selects
    step : index of the canary's step; None where there are none
    weight : percent of the traffic that goes to the canary
    is_paused : a pause step has begun, or a blue-green waits for its promotion; `was_resumed`: a user ended it
    is_aborted, is_promoted_fully, has_previewed : as the status has it (``abort``, ``promoteFull``, ``scaleUpPreviewCheckPoint``)
    """

    stable: str = ""
    current: str = ""
    active: str = ""
    step: int | None = None
    weight: int | None = None
    is_paused: bool = False
    was_resumed: bool = False
    is_aborted: bool = False
    is_promoted_fully: bool = False
    has_previewed: bool = False


LEADER_CREATED = "LeaderCreated"
LEADER_READY = "LeaderReady"
AFTER_START = "RecreateGroupAfterStart"
RECREATES_GROUP = ("RecreateGroupOnPodRestart", AFTER_START)


class Groups(Record):
    """A LeaderWorkerSet's: each has a leader and `size` − 1 workers.

    Attributes
    ----------
    starts : LeaderCreated, or LeaderReady: workers are made once their leader is Ready
    restarts : what the end of one pod does to its group: RecreateGroupOnPodRestart, RecreateGroupAfterStart, None
    has_leader_template : leaders are of a template of their own, else of the workers'
    sub_group_size, sub_group_kind : how workers are divided further; size 0: they aren't
    has_claims : its pods get claims of its own (volumeClaimTemplates), which aren't played
    """

    size: int = 1
    starts: Word = LEADER_CREATED
    restarts: Word = RECREATES_GROUP[0]
    has_leader_template: bool = False
    sub_group_size: int = 0
    sub_group_kind: Word = ""
    has_claims: bool = False
