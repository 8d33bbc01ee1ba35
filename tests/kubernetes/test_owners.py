from planner.kubernetes.object_records import (
    FrozenMap,
    LabelSelector,
    Owner,
    Pod,
    PodSpec,
    ReplicaSet,
    Snapshot,
    Template,
)
from planner.kubernetes.owners import workload_keys
from tests.builders import objects


def pod(name: str, owner: Owner | None, **labels: str) -> Pod:
    return Pod(
        namespace="dev",
        name=name,
        uid=name,
        labels=FrozenMap({key.replace("_", "-"): value for key, value in labels.items()}),
        spec=PodSpec(),
        owner=owner,
    )


def replica_set(name: str, owner: Owner | None) -> ReplicaSet:
    return ReplicaSet(
        namespace="dev",
        name=name,
        uid=name,
        labels=FrozenMap(),
        annotations=FrozenMap(),
        owner=owner,
        created_at=None,
        replicas=1,
        selector=LabelSelector(),
        template=Template(labels=FrozenMap(), spec=PodSpec()),
    )


def owner(kind: str, name: str) -> Owner:
    return Owner(kind=kind, name=name, uid=name)


def test_owners_are_followed_up_to_the_workload() -> None:
    snapshot = Snapshot(
        taken_at=0.0,
        source="test",
        digest="test",
        pods=(
            pod("deployed", owner("ReplicaSet", "api-abc")),
            pod("alone-set", owner("ReplicaSet", "lone")),
            pod("set", owner("StatefulSet", "redis")),
            pod("bare", None),
            pod("unlisted", owner("ReplicaSet", "web-5d9"), pod_template_hash="5d9"),
            pod("strange", owner("ReplicaSet", "web-5d9")),
        ),
        replica_sets=(replica_set("api-abc", owner("Deployment", "api")), replica_set("lone", None)),
    )
    assert workload_keys(snapshot) == {
        "deployed": "Deployment/dev/api",
        "alone-set": "ReplicaSet/dev/lone",
        "set": "StatefulSet/dev/redis",
        "bare": "Pod/dev/bare",
        "unlisted": "Deployment/dev/web",
        "strange": "ReplicaSet/dev/web-5d9",
    }


def test_what_another_projects_object_of_the_same_name_holds_is_not_the_others() -> None:
    """``Deployment/ml/app`` of apps, and one of somebody's own group; alone that one is called by its kind as before."""
    app = objects.deployment("app", ["n0"], objects.pod_spec())
    by = {"apiVersion": "db.example.com/v1", "kind": "Deployment", "name": "app", "uid": "other", "controller": True}
    other = {"apiVersion": "db.example.com/v1", "kind": "Deployment", "metadata": {"name": "app", "namespace": "ml", "uid": "other"}, "spec": {}}  # fmt: skip
    theirs = objects.pod("theirs", objects.pod_spec(), on="n0", owner=by)
    keys = workload_keys(objects.snapshot(objects.node("n0"), *app, other, theirs))
    assert keys == {"p-app-0": "Deployment/ml/app", "p-theirs": "Deployment.db.example.com/ml/app"}
    for alone in ((other, theirs), (theirs,)):
        assert workload_keys(objects.snapshot(objects.node("n0"), *alone)) == {"p-theirs": "Deployment/ml/app"}
    assert workload_keys(objects.snapshot(objects.node("n0"), *app, theirs)) == keys  # nor where it wasn't listed
