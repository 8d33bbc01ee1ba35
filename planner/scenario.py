"""What is asked: frozen records, checked where they are made, hashable so that answers can be cached by them."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import ChangeError
from planner.inventory.model import EMPTY, Amounts, Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadChange:
    """A change to one workload. Fields left at None stay as they are; `patch` is applied first, then the others.

    A change with nothing set stands for "a new revision of the same shape": what ``kubectl rollout restart`` does.
    """

    workload: str  # key, e.g. "Deployment/prod/ml-worker"
    patch: str = ""  # strategic merge patch, JSON or YAML
    replicas: int | None = None
    strategy_kind: str | None = None
    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    requests: Amounts = EMPTY  # replaces these resources' requests (and an extended resource's limit) per pod
    node_selector: Labels | None = None
    new_revision: bool = True  # without it, a change that leaves the template alone only scales
    never_ready: bool = False  # pods of the new revision start and never become Ready
    startup_seconds: float | None = None
    termination_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.replicas is not None and self.replicas < 0:
            raise ChangeError(f"replicas is {self.replicas}", where=self.workload, mend="Give 0 or more")
        if self.workload.count("/") != 2:
            raise ChangeError(
                f'"{self.workload}" is not a workload',
                mend="Write it as kind/namespace/name: deployment/prod/ml-worker",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Changes applied together, and how luck is sampled.

    `manifest` holds documents as ``kubectl apply -f`` would take them; what they change against the snapshot is added
    to `changes`. `runs` seeds are tried where the verdict may depend on placement; the first is `seed`.
    """

    changes: tuple[WorkloadChange, ...] = ()
    manifest: str = ""
    seed: int = 0
    runs: int = 50
    with_remedies: bool = True

    def __post_init__(self) -> None:
        if not self.changes and not self.manifest:
            raise ChangeError("nothing is changed", mend="Name a workload or give a manifest")
