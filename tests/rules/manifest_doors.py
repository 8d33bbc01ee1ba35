"""One manifest at the three doors that play it: ``rollout -f``, ``gate -f`` and the webhook."""

from __future__ import annotations

import json
from dataclasses import dataclass

from planner.capacity.hypothetical_node_groups import growable_pools
from planner.ground.errors import NotKnownError
from planner.inventory.pool_limits import PoolLimits
from planner.kubernetes.object_records import Snapshot
from planner.questions import gate, rollout
from planner.questions.gate import GateAnswer, GateSettings
from planner.questions.pool_limit_settings import PoolSettings
from planner.questions.question import Inputs
from planner.questions.rollout import RolloutSettings
from planner.rollout.answers import RolloutResult
from planner.serve.admission_review import WebhookReview, read_request, review
from tests.builders.objects import Item

NOW = 1_790_000_000.0  # 2026-09-21


@dataclass(frozen=True, kw_only=True)
class Doors:
    """What each door answers."""

    played: RolloutResult | None
    not_known: str  # why ``rollout -f`` plays nothing
    gate: GateAnswer
    webhook: WebhookReview

    @property
    def rollout(self) -> RolloutResult:
        assert self.played is not None, self.not_known
        return self.played


def ask_doors(
    cluster: Snapshot, manifest: Item, there: Item | None = None, *, limits: tuple[PoolLimits, ...] = ()
) -> Doors:
    """`there`: the object as it is, None of a new one."""
    pools = PoolSettings(limits=limits)
    played, not_known = None, ""
    try:
        settings = RolloutSettings(manifest=json.dumps(manifest), pools=pools)
        played = rollout.QUESTION.answer(cluster, settings, Inputs(now=NOW))
    except NotKnownError as error:
        not_known = str(error)
    at_gate = gate.answer(cluster, GateSettings(manifest=json.dumps(manifest), pools=pools), Inputs(now=NOW))
    group, _, version = manifest["apiVersion"].rpartition("/")
    request = {
        "uid": "1", "operation": "UPDATE" if there else "CREATE", "object": manifest, "oldObject": there,
        "namespace": manifest["metadata"]["namespace"], "name": manifest["metadata"]["name"],
        "resource": {"group": group, "version": version, "resource": f"{manifest['kind'].lower()}s"},
    }  # fmt: skip
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
    at_webhook = review(cluster, read_request(body.encode()), growable_pools(cluster, limits), now=NOW)
    return Doors(played=played, not_known=not_known, gate=at_gate, webhook=at_webhook)
