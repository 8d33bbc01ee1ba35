"""Rollouts whose workload is changed again, at once, after a step, and when all is at rest: against the reference."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Sequence

from planner.ground.records import replace
from planner.inventory.change import WorkloadChange, apply_change
from planner.rollout.run import WHEN_AT_REST, Run, simulate
from planner.scheduling.pod import LivePod
from tests.conformance.rollout_cases import revisions_of
from tests.properties.random_rollouts import MOST_SEEDS, case_of, cluster_of
from tests.properties.test_events_beside import Moment
from tests.quick import floor, seeds
from tests.reference.objects import Object
from tests.reference.random_clusters import Case
from tests.reference.simulation import simulate as play_reference

AT_LAST = 10**6  # ticks: when nobody has anything left to do


def second_change(case: Case, luck: random.Random) -> tuple[str, Object]:
    """Another change of the workload that is changed first: a fix, the template of before, another strategy, other replicas or larger pods."""
    first = case.changes[0]
    item = next(one for one in case.items if one["kind"] == first["kind"] and one["metadata"]["name"] == first["name"])
    template = item["spec"]["template"]["spec"]
    container = {"name": template["containers"][0]["name"], "env": [{"name": "REV", "value": "9"}]}
    fix: Object = {"template": {"spec": {"containers": [container]}}}
    what = luck.choice(("fix", "undo", "strategy", "replicas", "larger"))
    if what == "undo":
        undone = {**item["spec"]["template"], "spec": {**template, "$patch": "replace"}}
        patch: Object = {"template": copy.deepcopy(undone)}
    elif what == "larger":
        asks = {"resources": {"requests": {"cpu": "2500m"}}}
        patch = {"template": {"spec": {"containers": [{**container, **asks}]}}}
    else:
        patch = dict(fix)
    if what == "replicas" and first["kind"] != "DaemonSet":
        patch["replicas"] = luck.randrange(5)
    if what == "strategy" and first["kind"] == "Deployment":
        surge = luck.choice(((0, 1), (1, 0), (2, 1)))
        rolling = {"maxSurge": surge[0], "maxUnavailable": surge[1]}
        patch["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return what, {**{key: first[key] for key in ("kind", "namespace", "name")}, "patch": {"spec": patch}}


def engine(case: Case, change: Object, seconds: float, seed: int = 0) -> Run:
    cluster = cluster_of(case)
    first, *others = revisions_of({"change": case.changes}, cluster.snapshot)
    asked = WorkloadChange(workload=first.after.key, patch=json.dumps(change["patch"]), new_revision=False)
    after, is_new, _ = apply_change(first.after, asked)
    then = replace(first, before=first.after, after=after, has_new_template=is_new, after_seconds=seconds)
    then = replace(then, keeps_replicas="replicas" not in change["patch"]["spec"])

    def never_ready(pod: LivePod) -> bool:
        return any(all(pod.shape.labels.get(k) == v for k, v in s.items()) for s in case.never_ready)

    revisions = [replace(first, changes=(then,)), *others]
    return simulate(cluster, revisions, seed=seed, never_ready=never_ready, draws_order=seed > 0, draws_ends=seed > 0)


def reference(case: Case, change: Object, tick: int, seed: int = 0) -> Object:
    told = [(tick, {"apply": change})]
    return play_reference(case.items, case.changes, case.never_ready, seed, told)


def moments(case: Case, change: Object) -> Sequence[Moment]:
    """At once, after the first step, at last."""
    last = engine(case, change, WHEN_AT_REST)
    ends = last.tick_ends
    early = [(0, 0.0), *([(1, ends[0])] if len(ends) > 1 else [])]
    return [
        *(Moment(tick, seconds, engine(case, change, seconds)) for tick, seconds in early),
        Moment(AT_LAST, WHEN_AT_REST, last),
    ]


def differs(case: Case, change: Object, moment: Moment) -> str:
    tick, seconds, run = moment
    ours, theirs = run.completed, reference(case, change, tick)["verdict"] == "complete"
    others = range(1, MOST_SEEDS)
    if ours is theirs or any((reference(case, change, tick, seed)["verdict"] == "complete") is ours for seed in others):
        return ""
    if any(engine(case, change, seconds, seed).completed is theirs for seed in others):
        return ""
    return f"tick {tick}: the engine says {ours}, the reference {theirs}"


def test_the_verdicts_agree_with_the_reference() -> None:
    tried: Counter[str] = Counter()
    decides = 0
    wrong: dict[tuple[int, str], str] = {}
    for seed in seeds(60):
        case = case_of(seed)
        what, change = second_change(case, random.Random(f"second change {seed}"))
        found = set()
        for moment in moments(case, change):
            tried[what] += 1
            found.add(moment.run.completed)
            if said := differs(case, change, moment):
                wrong[seed, what] = said
        decides += len(found) > 1
    assert wrong == {}
    assert min(tried.values()) > floor(10)


def test_whoever_a_quota_lets_in_first_may_decide_the_verdict() -> None:
    """Seed 502: the second change frees a place in a quota. Its own new pod has it first, unless the delay of another Deployment's
    ReplicaSet is over in that moment, whose pod then takes half of the node that the change needs whole."""
    case = case_of(502)
    _, change = second_change(case, random.Random("second change 502"))
    moment = moments(case, change)[1]
    assert {engine(case, change, moment.seconds, seed).completed for seed in range(10)} == {True, False}
    assert differs(case, change, moment) == ""
