"""The position of levers on the changing workload itself, with its effect on revision and cluster."""

from __future__ import annotations

from typing import Any

from planner.ground.records import Record, replace
from planner.kubernetes.object_records import Strategy, Template, Workload
from planner.rollout.answers import RemedyKind, Step
from planner.rollout.run import Revision
from planner.rollout.silent_nodes import answering
from planner.scheduling.cluster import Cluster
from planner.scheduling.scripted_event import Happening


class LeverPosition(Record, eq=False):
    """A position of a workload's own knob: the first is as it is.

    Attributes
    ----------
    patch : of its strategy or its template; `change`: the same as ``--change`` has it, "" where that has no words for it
    replicas : to which it is scaled first, and back afterwards
    happenings : to pods and nodes once it is stuck, as the step `then` does it; `last`: what is done when it is through
    answers : nodes that don't answer today and do then; `opens`: nodes that are cordoned today and aren't from the beginning
    first : what is done before the change
    events : the same as ``--then`` has it
    disturbs : pods of others that end for it
    kind, costs : of a way out, and what it costs in words, in which ``{}`` stands for how many pods are Ready
    """

    title: str = ""
    strategy: Strategy | None = None
    template: Template | None = None
    patch: dict[str, Any] | None = None
    replicas: int | None = None
    happenings: tuple[Happening, ...] = ()
    answers: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    first: Step | None = None
    events: str = ""
    then: Step | None = None
    last: tuple[Step, ...] = ()
    disturbs: int = 0
    kind: RemedyKind | None = None
    change: str = ""
    costs: str = ""

    def changed(self, workload: Workload) -> Workload:
        changed = workload if self.strategy is None else replace(workload, strategy=self.strategy)
        changed = changed if self.template is None else replace(changed, template=self.template)
        return changed if self.replicas is None else replace(changed, replicas=self.replicas)

    def revised(self, revision: Revision) -> Revision:
        """The change with it; another template is a new revision in any case."""
        has_new_template = revision.has_new_template or self.template is not None
        return replace(revision, after=self.changed(revision.after), has_new_template=has_new_template)

    def happens_to(self, cluster: Cluster) -> Cluster:
        """The cluster, with `opens` done already, in which that happens."""
        if not self.happenings:
            return cluster
        heard = answering(cluster, self.answers) if self.answers else cluster
        return heard.expecting((*heard.later, *self.happenings))
