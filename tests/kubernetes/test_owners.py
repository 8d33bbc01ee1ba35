from planner.kubernetes.owners import workload_keys
from planner.kubernetes.records import FrozenMap, LabelSelector, Owner, Pod, PodSpec, ReplicaSet, Snapshot, Template


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
