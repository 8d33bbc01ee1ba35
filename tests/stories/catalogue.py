"""The stories: who asked what, a cluster that shows it, and the verdict that Kubernetes' (or the controller's) rules give.

`verdict` is by rule, not by what any tool says; `why` is the rule in one line. `python -m tests.stories.making` writes the folders.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from tests.builders.objects import budget as keep
from tests.stories.objects import (
    APART,
    RATHER_APART,
    Item,
    app,
    cpu_nodes,
    gpu_nodes,
    holder,
    job,
    new_image,
    node,
    of_rollout,
    other_kind,
    pod,
    pod_spec,
    quota,
    rolling,
    scaled,
    waiting,
)

GROUPS: Final = {
    "A": "a Deployment waits for room that its own old pods hold",
    "B": "the same with another controller",
    "C": "queues",
    "D": "what would have to move",
    "E": "spare room, failure, upgrade",
    "F": "money, stock-outs, who holds what",
}


PARTS: Final = {
    "b10-kserve-raw-deployment": "users apply an InferenceService",
    "b11-kserve-raw-deployment": "users apply an InferenceService",
    "b12-kserve-raw-deployment": "users apply an InferenceService",
    "b13-kserve-raw-deployment": "users apply an InferenceService",
    "b15-knative-revision": "whether Knative can roll pod by pod",
    "b16-knative-revision": "the extension for progressive rollouts is installed",
    "b17-knative-revision": "the extension for progressive rollouts is installed",
    "b18-knative-revision": "the extension for progressive rollouts is installed, and traffic stays at the old revision",
    "b19-knative-revision": "the extension is installed, and the new pods' start fails while memory of GPUs is still held",
    "c03-a-simulator": "policies compared over time",
    "c04-wait-time": "how long a Workload waits",
    "d04-nothing-has-to-move": "nodes emptied regularly, by a schedule",
    "d06-cost-to-value": "what a consolidation is worth",
    "d09-nobody-makes-it-again": "one pod at a time, and evictions that are refused meanwhile",
    "d13-stuck-full": "which node of another price takes it",
    "d15-a-node-that-can-go": "which of 50 nodes can go, and a list to drain them by",
    "e02-drain-with-room": "an upgrade where the cloud's quota allows no surge node",
    "f04-a-notebook": "who holds GPUs that are idle",
}
"""Stories whose case is a part of what the thread asks, or another question of it: what the thread asks, too."""
UNCOUNTED: Final = frozenset(
    {
        "c03-a-simulator",
        "c04-wait-time",
        "d04-nothing-has-to-move",
        "d09-nobody-makes-it-again",
        "d15-a-node-that-can-go",
        "f04-a-notebook",
    }
)
"""Of these the ones that a stranger wouldn't count: the thread asks something else, which no case here puts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One story.

    Attributes
    ----------
    question : ``rollout`` (of `change`), ``fits`` (a shape, so many times), ``drain`` and ``lose`` (a node), ``moves`` (the fewest
        evictions after which all waiting pods start), ``free`` (GPUs)
    verdict : ``completes``, ``stuck``, ``needs growth``; ``fits``, ``does not fit``; ``drained``, ``blocked``; ``survives``, ``leaves
        pods waiting``; a number, or ``impossible``
    """

    name: str
    link: str
    why: str
    verdict: str
    cluster: list[Item]
    change: list[Item] = field(default_factory=list)
    question: str = "rollout"
    about: str = ""
    pools: Any = None  # node pools, as gcloud lists them

    @property
    def group(self) -> str:
        return self.name[0].upper()


def _pool(name: str, machine: str, most: int) -> Item:
    return {
        "name": name, "initialNodeCount": 1, "config": {"machineType": machine},
        "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": most}, "locations": ["us-central1-a"],
    }  # fmt: skip


def _same(items: list[Item], *more: Item, name: str = "app", **spec: Any) -> tuple[list[Item], list[Item]]:
    return [*items, *more], [new_image(items, name=name, **spec)]


def _stories() -> list[Story]:
    found: list[Story] = []

    def tell(name: str, link: str, why: str, verdict: str, given: tuple[list[Item], list[Item]], **more: Any) -> None:
        cluster, change = given
        found.append(Story(name=name, link=link, why=why, verdict=verdict, cluster=cluster, change=change, **more))

    # ── A: a Deployment ─────────────────────────────────────────────────────────────────────────────────────────────
    one = app(["gpu-0"], gpus=1)
    tell(
        "a01-two-gpus-on-one-node",
        "defilantech/LLMKube#192",
        "1 replica: 25 % rounds to surge 1, unavailable 0; the new pod waits for the 2 GPUs of the old one",
        "stuck",
        _same(app(["gpu-0"], gpus=2), *gpu_nodes(1, 2)),
    )
    tell(
        "a02-pool-at-its-maximum",
        "bayesimpact/bayes-platform#776",
        "the pool has all the nodes that it may have",
        "stuck",
        _same(one, *gpu_nodes(1)),
        pools=[_pool("gpu", "n1-standard-8", 1)],
    )
    tell(
        "a03-one-replica-one-gpu",
        "ai-runway/airunway#400",
        "hold and wait, until the progress deadline and for ever",
        "stuck",
        _same(one, *gpu_nodes(1)),
    )
    tell(
        "a04-rolling-update-where-gpus-are-few",
        "llm-d-incubation/llm-d-modelservice#246",
        "25 % of 2 is surge 1, unavailable 0",
        "stuck",
        _same(app(["gpu-0", "gpu-1"], gpus=4), *gpu_nodes(2, 4)),
    )
    tell(
        "a05-surge-values-hang-model-pods",
        "onyx-dot-app/onyx#6782",
        "memory, not GPUs: one node holds one model server",
        "stuck",
        _same(app(["cpu-0"], cpu="4", memory="20Gi"), *cpu_nodes(1)),
    )
    tell(
        "a06-capacity-or-the-strategy",
        "vllm-project/production-stack#103",
        "with surge 0 and unavailable 1 the same cluster does",
        "completes",
        _same(app(["gpu-0"], gpus=1, strategy=rolling(0, 1)), *gpu_nodes(1)),
    )
    tell(
        "a07-every-gpu-is-taken",
        "clearml/clearml-helm-charts#19",
        "25 % of 3 is surge 1, unavailable 0",
        "stuck",
        _same(app(["gpu-0", "gpu-1", "gpu-2"], gpus=1), *gpu_nodes(3)),
    )
    tell(
        "a08-fixed-max-unavailable-0",
        "kumahq/kuma#18230",
        "unavailable 0 and one pod a node: the surge pod has no node",
        "stuck",
        _same(app([f"cpu-{i}" for i in range(3)], affinity=APART, strategy=rolling(1, 0)), *cpu_nodes(3)),
    )
    tell(
        "a09-anti-affinity-and-a-surge-pod",
        "spotahome/redis-operator#662",
        "required anti-affinity counts old pods of the same labels",
        "stuck",
        _same(app([f"cpu-{i}" for i in range(3)], affinity=APART), *cpu_nodes(3)),
    )
    tell(
        "a10-preferred-anti-affinity",
        "kubernetes/kubernetes#116891",
        "preferred anti-affinity lets the surge pod share a node",
        "completes",
        _same(app(["cpu-0", "cpu-1"], affinity=RATHER_APART), *cpu_nodes(2)),
    )
    tell(
        "a11-surge-0-and-terminating",
        "kubernetes/kubernetes#97227",
        "surge 0: an old pod goes first, the new one waits while it terminates",
        "completes",
        _same(app(["gpu-0", "gpu-1"], gpus=1, strategy=rolling(0, 1)), *gpu_nodes(2)),
    )
    tell(
        "a12-not-terminating-old-pods",
        "kubernetes/kubernetes#64689",
        "unavailable 0 keeps every old pod until a new one is Ready",
        "stuck",
        _same(app(["cpu-0"], cpu="5", strategy=rolling(1, 0)), *cpu_nodes(1)),
    )
    for number, link in enumerate(
        ["kubernetes/kubernetes#89209", "kubernetes/kubernetes#98656", "gke-labs/kube-agents#977"]
    ):
        tell(
            f"a{13 + number}-quota-is-full",
            link,
            "the quota refuses the surge pod, and unavailable 0 keeps the old ones",
            "stuck",
            _same(
                app(["cpu-0"] * (number + 1), cpu="1", strategy=rolling(1, 0)),
                quota(pods=str(number + 1)),
                *cpu_nodes(2),
            ),
        )
    tell(
        "a16-quota-with-one-unavailable",
        "gke-labs/kube-agents#1267",
        "an old pod goes and makes room in the quota",
        "completes",
        _same(app(["cpu-0", "cpu-0"], strategy=rolling(1, 1)), quota(pods="2"), *cpu_nodes(2)),
    )
    tell(
        "a17-quota-of-requests",
        "astronomer/astronomer#764",
        "requests.cpu of the quota is used up, nodes are empty",
        "stuck",
        _same(app(["cpu-0"], cpu="2"), quota(requests__cpu="2"), *cpu_nodes(3)),
    )
    tell(
        "a18-quota-of-gpus",
        "veryfront/veryfront-code#168",
        "requests.nvidia.com/gpu 1 is used by the old pod",
        "stuck",
        _same(one, quota(**{"requests.nvidia.com/gpu": "1"}), *gpu_nodes(2)),
    )
    tell(
        "a19-warn-before-the-surge-hits-the-quota",
        "bergerx/kubectl-status#658",
        "quota of 4 pods, 3 replicas: one surge pod is let in",
        "completes",
        _same(app(["cpu-0"] * 3, strategy=rolling(1, 0)), quota(pods="4"), *cpu_nodes(2)),
    )
    tell(
        "a20-a-full-cluster",
        "JiRaska/open-bank-oss#3545",
        "every node's CPU is requested; it shows 1/1 Ready",
        "stuck",
        _same(
            app(["cpu-0"], cpu="3"),
            *holder("rest-0", "cpu-0", cpu="5"),
            *holder("rest-1", "cpu-1", cpu="6"),
            *cpu_nodes(2),
        ),
    )
    tell(
        "a21-surge-wanted-a-fifth-node",
        "knowledgesystems/knowledgesystems-k8s-deployment#621",
        "4 nodes, one pod each: surge 0 needs no fifth",
        "completes",
        _same(app([f"cpu-{i}" for i in range(4)], affinity=APART, strategy=rolling(0, 1)), *cpu_nodes(4)),
    )
    tell(
        "a22-the-pool-was-scaled-up-before",
        "rili-live/therr-app#2204",
        "with one node more the surge pod has room",
        "completes",
        _same(one, *gpu_nodes(2)),
    )
    new = app([], name="new", cpu="3", more={"replicas": 4})[0]
    tell(
        "a23-ci-checks-capacity",
        "microsoft/bedrock#317",
        "4 × 3 CPUs on 8 free ones",
        "stuck",
        ([*app(["cpu-0"], name="other"), *cpu_nodes(1)], [{**new, "status": {}}]),
    )
    highest = app(["gpu-0"], gpus=1)
    tell(
        "a24-the-autoscalers-maximum",
        "n8n-io/terraform-aws-n8n#51",
        "3 GPUs for the HPA's maximum of 5",
        "stuck",
        ([*highest, *gpu_nodes(3)], [scaled(highest, 5)]),
    )
    tell(
        "a25-a-maximum-that-fits",
        "BasedHardware/omi#7280",
        "3 GPUs for the HPA's maximum of 3",
        "completes",
        ([*highest, *gpu_nodes(3)], [scaled(highest, 3)]),
    )
    tell(
        "a26-a-start-longer-than-the-deadline",
        "kubeai-project/kubeai#173",
        "no progress for longer than progressDeadlineSeconds is told, nothing is undone",
        "completes",
        _same(app(["gpu-0"], gpus=1, more={"progressDeadlineSeconds": 60}), *gpu_nodes(2)),
    )
    tell(
        "a27-a-model-that-loads-for-long",
        "llm-d/llm-d-benchmark#83",
        "the same with surge 0 and one replica",
        "completes",
        _same(app(["gpu-0"], gpus=1, strategy=rolling(0, 1), more={"progressDeadlineSeconds": 60}), *gpu_nodes(1)),
    )
    tell(
        "a28-a-pool-below-its-maximum",
        "BasedHardware/omi#11245",
        "the pool has 1 of 3 nodes: the autoscaler adds one",
        "needs growth",
        _same(app(["gpu-0"], gpus=1, nodeSelector={"cloud.google.com/gke-nodepool": "gpu"}), *gpu_nodes(1)),
        pools=[_pool("gpu", "n1-standard-8", 3)],
    )
    tell(
        "a29-no-node-has-the-label",
        "vllm-project/production-stack#103",
        "no node matches the selector: not the strategy",
        "stuck",
        ([*one, *gpu_nodes(2)], [_with_selector(one)]),
    )
    tell(
        "a30-a-taint-nobody-tolerates",
        "onyx-dot-app/onyx#6782",
        "the free GPU node has a taint that the pods don't tolerate",
        "stuck",
        _same(one, *gpu_nodes(1), node("spare", pool="spare", gpus=1, taints=(("dedicated", "NoSchedule"),))),
    )
    tell(
        "a31-a-free-node-is-cordoned",
        "clearml/clearml-helm-charts#19",
        "a cordoned node takes no pods",
        "stuck",
        _same(one, *gpu_nodes(1), node("spare", pool="gpu", gpus=1, cordoned=True)),
    )
    tell(
        "a32-enough-in-sum-none-fits",
        "siutsin/otaru#2804",
        "2 CPUs free on each of two nodes, 3 are needed on one",
        "stuck",
        _same(
            app(["cpu-0"], cpu="3"),
            *holder("rest-0", "cpu-0", cpu="3"),
            *holder("rest-1", "cpu-1", cpu="6"),
            *cpu_nodes(2),
        ),
    )
    tell(
        "a33-recreate",
        "ai-runway/airunway#400",
        "Recreate takes the old pod away first: an outage, and it completes",
        "completes",
        _same(app(["gpu-0"], gpus=1, strategy={"strategy": {"type": "Recreate"}}), *gpu_nodes(1)),
    )

    # ── B: other controllers ────────────────────────────────────────────────────────────────────────────────────────
    def argo(
        name: str, link: str, why: str, verdict: str, nodes: list[str], strategy: Item, *others: Item, **spec: Any
    ) -> None:
        items = of_rollout(nodes, strategy, **spec)
        tell(name, link, why, verdict, ([*items, *others], [new_image(items, "Rollout")]))

    argo(
        "b01-argo-canary-surge-0",
        "argoproj/argo-rollouts#430",
        "canary without steps rolls as a Deployment: surge 0 frees a GPU first",
        "completes",
        ["gpu-0", "gpu-1"],
        {"canary": {"maxSurge": 0, "maxUnavailable": 1}},
        *gpu_nodes(2),
        gpus=1,
    )
    argo(
        "b02-argo-canary-surge-1",
        "argoproj/argo-rollouts#3284",
        "surge 1, unavailable 0 on full nodes: the canary waits",
        "stuck",
        ["gpu-0", "gpu-1"],
        {"canary": {"maxSurge": 1, "maxUnavailable": 0}},
        *gpu_nodes(2),
        gpus=1,
    )
    argo(
        "b03-argo-blue-green-doubles",
        "argoproj/argo-rollouts#1068",
        "blue-green starts all new pods beside all old ones",
        "stuck",
        ["gpu-0", "gpu-1"],
        {"blueGreen": {"activeService": "app", "autoPromotionEnabled": True}},
        *gpu_nodes(3),
        gpus=1,
    )
    argo(
        "b04-argo-blue-green-with-room",
        "argoproj/argo-rollouts#1582",
        "twice the GPUs are there",
        "completes",
        ["gpu-0", "gpu-1"],
        {"blueGreen": {"activeService": "app", "autoPromotionEnabled": True}},
        *gpu_nodes(4),
        gpus=1,
    )
    argo(
        "b05-argo-canary-default-of-one",
        "argoproj/argo-rollouts#2239",
        "25 % of 1 is surge 1, unavailable 0, as for a Deployment",
        "stuck",
        ["gpu-0"],
        {"canary": {}},
        *gpu_nodes(1),
        gpus=1,
    )
    argo(
        "b06-argo-canary-with-room",
        "argoproj/argo-rollouts#2857",
        "one GPU is free for the canary",
        "completes",
        ["gpu-0", "gpu-1"],
        {"canary": {"maxSurge": 1, "maxUnavailable": 0}},
        *gpu_nodes(3),
        gpus=1,
    )
    argo(
        "b07-argo-on-a-full-cluster",
        "JiRaska/open-bank-oss#3806",
        "CPU this time: 1 replica, surge 1, full nodes",
        "stuck",
        ["cpu-0"],
        {"canary": {"maxSurge": 1, "maxUnavailable": 0}},
        *cpu_nodes(1),
        cpu="5",
    )
    for name, link, why, verdict, surge, unavailable, free in [
        (
            "b08-lws-one-group-surge-1",
            "kubernetes-sigs/lws#3",
            "one group with maxSurge 1 and maxUnavailable 0 on full nodes",
            "stuck",
            1,
            0,
            0,
        ),
        (
            "b09-lws-two-groups-surge-0",
            "kubernetes-sigs/lws#567",
            "surge 0 replaces one group after another",
            "completes",
            0,
            1,
            0,
        ),
    ]:
        groups = 1 if "one" in name else 2
        lws = _lws(groups, surge, unavailable)
        tell(name, link, why, verdict, ([*lws, *gpu_nodes(2 * groups + free, 8)], [new_lws(lws)]))
    kserve = app(["gpu-0"], name="model-predictor", gpus=1)
    for number, (link, items) in enumerate({
        "kserve/kserve#4188": [*kserve, *gpu_nodes(1)], "kserve/kserve#4618": [*app(["gpu-0"], name="model-predictor", gpus=1, strategy=rolling(0, 1)), *gpu_nodes(1)],
        "kserve/kserve#4855": [*kserve, *gpu_nodes(2)], "opendatahub-io/kserve#1822": [*app(["gpu-0"], name="model-predictor", gpus=1, strategy=rolling(1, 0)), *gpu_nodes(1)],
    }.items()):  # fmt: skip
        verdict = ["stuck", "completes", "completes", "stuck"][number]
        tell(
            f"b{10 + number}-kserve-raw-deployment",
            link,
            "KServe's raw mode makes a Deployment, whose strategy decides",
            verdict,
            (items, [new_image(items, name="model-predictor")]),
        )
    seldon = app(["gpu-0"], name="seldon", gpus=1)
    tell(
        "b14-one-gpu-rolling-upgrade",
        "SeldonIO/seldon-operator#74",
        "its Deployment has the defaults",
        "stuck",
        _same(seldon, *gpu_nodes(1), name="seldon"),
    )
    kept = "the old revision keeps its GPUs until the new one is Ready and has the traffic"
    for number, (link, gpus, before, free, after, why) in enumerate([
        ("knative/serving#12551", 1, 1, 0, 1, kept),
        ("knative-extensions/serving-progressive-rollout#200", 1, 1, 1, 2, f"{kept}; the new one has two pods, and one GPU is free"),
        ("knative-extensions/serving-progressive-rollout#202", 1, 2, 0, 1, f"{kept}: two, which the second of two updates waits for"),
        ("knative-extensions/serving-progressive-rollout#203", 1, 1, 0, 2, f"{kept}; the new one has two pods, and no GPU is free"),
        ("knative-extensions/serving-progressive-rollout#204", 2, 1, 0, 1, kept),
    ]):  # fmt: skip
        tell(f"b{15 + number}-knative-revision", link, why, "stuck", _knative(gpus, before, free, after))
    for number, (link, spare, verdict) in enumerate(
        [
            ("ray-project/kuberay#1476", 0, "stuck"),
            ("ray-project/kuberay#4239", 2, "completes"),
            ("ray-project/kuberay#5088", 1, "stuck"),
        ]
    ):
        tell(
            f"b{20 + number}-ray-service-twice",
            link,
            "RayService starts the new cluster beside the old one",
            verdict,
            _ray(2, spare),
        )
    for number, (link, fits) in enumerate(
        [("sgl-project/rbg#333", False), ("volcano-sh/volcano#4739", True), ("volcano-sh/kthena#743", False)]
    ):
        gang = _volcano(4)
        tell(
            f"b{23 + number}-a-gang-starts-whole-or-not",
            link,
            "4 pods of 1 GPU, minAvailable 4",
            "completes" if fits else "stuck",
            (gpu_nodes(4 if fits else 3), [gang]),
        )
    driver = app(["gpu-0", "gpu-1"], name="train", gpus=1)
    tell(
        "b26-driver-upgrade-frees-no-gpu",
        "NVIDIA/gpu-operator#2570",
        "the budget allows no eviction, so the node isn't drained",
        "blocked",
        ([*driver, keep("train", minAvailable=2), *gpu_nodes(2)], []),
        question="drain",
        about="gpu-0",
    )
    tell(
        "b27-driver-upgrade-with-a-budget-of-one",
        "NVIDIA/gpu-operator#416",
        "one may be missing, and it finds the free GPU",
        "drained",
        ([*driver, keep("train", maxUnavailable=1), *gpu_nodes(3)], []),
        question="drain",
        about="gpu-0",
    )

    # ── C: queues ───────────────────────────────────────────────────────────────────────────────────────────────────
    for name, link, why, verdict, nominal, asked, free in [
        (
            "c01-predict-before-launch",
            "kubernetes-sigs/kueue#4580",
            "8 GPUs of quota, 4 asked, 8 free",
            "completes",
            8,
            4,
            8,
        ),
        (
            "c02-no-pre-submission-dry-run",
            "kubernetes-sigs/kueue#13854",
            "4 GPUs of quota, 8 asked: never admitted",
            "stuck",
            4,
            8,
            8,
        ),
        ("c03-a-simulator", "kubernetes-sigs/kueue#10168", "quota 0", "stuck", 0, 1, 8),
        (
            "c04-wait-time",
            "kubernetes-sigs/kueue#13159",
            "quota and nodes suffice: admitted at once",
            "completes",
            4,
            4,
            4,
        ),
        (
            "c05-quota-is-not-fit",
            "kubernetes-sigs/kueue#4329",
            "8 GPUs of quota, 4 on the nodes: admitted, and its pods wait",
            "stuck",
            8,
            8,
            4,
        ),
        (
            "c06-quota-is-not-fit-by-node",
            "kubernetes-sigs/kueue#6214",
            "each pod asks for 4 GPUs, nodes have 2",
            "stuck",
            8,
            4,
            -2,
        ),
        (
            "c07-an-eight-gpu-pod-after-preemption",
            "kubernetes-sigs/kueue#5243",
            "8 freed on two nodes aren't 8 on one",
            "stuck",
            16,
            8,
            -4,
        ),
    ]:
        size = 1 if free > 0 else asked
        nodes = gpu_nodes(free, 1) if free > 0 else gpu_nodes(4, -free)
        tell(
            name,
            link,
            why,
            verdict,
            (
                [*_queue(nominal), *_lists(), *nodes],
                [job("train", gpus=size, parallelism=max(1, asked // size), queue="team", suspend=True)],
            ),
        )
    for number, (name, link, why, verdict, nominal, limits) in enumerate(
        [
            (
                "rolling-update-at-the-limit",
                "kubernetes-sigs/kueue#5118",
                "the surge pod needs quota that old pods hold until it is Ready",
                "stuck",
                2,
                (1, 0),
            ),
            (
                "a-surge-pod-waits-for-quota",
                "kubernetes-sigs/kueue#8769",
                "the same with one GPU of quota more",
                "completes",
                3,
                (1, 0),
            ),
            (
                "surge-0-at-the-limit",
                "kubernetes-sigs/kueue#4474",
                "an old pod goes first and gives its quota back",
                "completes",
                2,
                (0, 1),
            ),
        ]
    ):
        items = app(["gpu-0", "gpu-1"], gpus=1, strategy=rolling(*limits))
        items[0]["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
        tell(
            f"c{8 + number:02}-{name}",
            link,
            why,
            verdict,
            ([*items, *_queue(nominal), *_held(items), *gpu_nodes(4)], [new_image(items)]),
        )
    tell(
        "c11-a-queue-of-another-scheduler",
        "kai-scheduler/KAI-Scheduler#1836",
        "the queue's limit of 1 GPU, 2 asked",
        "stuck",
        (
            [*_kai(1), *gpu_nodes(4)],
            [
                {
                    **job("train", gpus=2),
                    "spec": {
                        **job("train", gpus=2)["spec"],
                        "template": {
                            "metadata": {"labels": {"kai.scheduler/queue": "team"}},
                            "spec": pod_spec(gpus=2, schedulerName="kai-scheduler", restartPolicy="Never"),
                        },
                    },
                }
            ],
        ),
    )
    tell(
        "c12-volcanos-queue",
        "volcano-sh/volcano#3822",
        "the queue's capability of 2 GPUs, 4 asked whole",
        "stuck",
        (
            [
                other_kind(
                    "scheduling.volcano.sh/v1beta1", "Queue", {"capability": {"nvidia.com/gpu": "2"}}, name="team"
                ),
                *gpu_nodes(4),
            ],
            [_volcano(4, queue="team")],
        ),
    )
    line = waiting("first", gpus=1)
    tell(
        "c13-who-waits-before-me",
        "defilantech/LLMKube#81",
        "another pod waits for the one free GPU, and has waited longer",
        "stuck",
        ([*line, *app(["gpu-0"], gpus=1), *gpu_nodes(1)], [new_image(app(["gpu-0"], gpus=1))]),
    )

    # ── D: what would have to move ──────────────────────────────────────────────────────────────────────────────────
    def moves(name: str, link: str, why: str, verdict: str, *items: list[Item] | Item) -> None:
        flat = [one for part in items for one in (part if isinstance(part, list) else [part])]
        tell(name, link, why, verdict, (flat, []), question="moves")

    half = [*app(["gpu-0"], name="a", gpus=1), *app(["gpu-1"], name="b", gpus=1)]
    moves(
        "d01-reallocating-makes-room",
        "volcano-sh/volcano#3948",
        "a moves to gpu-1's free GPU, and 2 are free on gpu-0",
        "1",
        half,
        waiting("big", gpus=2),
        gpu_nodes(2, 2),
    )
    moves(
        "d02-consolidation",
        "kai-scheduler/KAI-Scheduler#109",
        "two small pods leave one node of four",
        "2",
        app(["gpu-0", "gpu-0"], name="a", gpus=1),
        app(["gpu-1", "gpu-1"], name="b", gpus=1),
        waiting("big", gpus=4),
        gpu_nodes(2, 4),
    )
    moves(
        "d03-a-budget-stops-it",
        "kai-scheduler/KAI-Scheduler#146",
        "no pod of a may be missing",
        "impossible",
        app(["gpu-0"], name="a", gpus=1),
        app(["gpu-1"], name="b", gpus=1),
        keep("a", minAvailable=1),
        keep("b", minAvailable=1),
        waiting("big", gpus=2),
        gpu_nodes(2, 2),
    )
    moves(
        "d04-nothing-has-to-move",
        "kai-scheduler/KAI-Scheduler#1311",
        "a node is free, and takes it by itself",
        "0",
        waiting("big", gpus=2),
        gpu_nodes(1, 2),
    )
    moves(
        "d05-the-lighter-side-moves",
        "kai-scheduler/KAI-Scheduler#1352",
        "b's one pod of 2 GPUs goes, not both of a's",
        "1",
        app(["gpu-0", "gpu-0"], name="a", gpus=1),
        keep("a", maxUnavailable=1),
        app(["gpu-1"], name="b", gpus=2),
        waiting("big", gpus=4),
        gpu_nodes(2, 4),
    )
    moves(
        "d06-cost-to-value",
        "kai-scheduler/KAI-Scheduler#1500",
        "the node with one pod is emptied, not the one with three",
        "1",
        app(["gpu-0", "gpu-0", "gpu-0"], name="a", gpus=1),
        app(["gpu-1"], name="b", gpus=1),
        waiting("big", gpus=4),
        gpu_nodes(2, 4),
    )
    moves(
        "d07-gpus-do-not-suffice",
        "kai-scheduler/KAI-Scheduler#2144",
        "3 GPUs are free in all",
        "impossible",
        app(["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-3"], name="a", gpus=1),
        waiting("big", gpus=4),
        gpu_nodes(4, 2),
    )
    moves(
        "d08-one-pod-at-a-time",
        "NexusGPU/tensor-fusion#760",
        "one move for each of two waiting pods",
        "2",
        app(["gpu-0", "gpu-1", "gpu-2", "gpu-3"], name="a", gpus=1),
        waiting("big", 2, gpus=2),
        gpu_nodes(4, 2),
    )
    bare = pod("bare", pod_spec(gpus=1), on="gpu-0")
    moves(
        "d09-nobody-makes-it-again",
        "NexusGPU/tensor-fusion#794",
        "a bare pod isn't made again, so b goes",
        "1",
        bare,
        app(["gpu-1"], name="b", gpus=1),
        waiting("big", gpus=2),
        gpu_nodes(2, 2),
    )
    moves(
        "d10-could-run-if-arranged",
        "kubernetes/kubernetes#86943",
        "CPUs: 2 of 8 go from cpu-0 to cpu-1",
        "1",
        app(["cpu-0"], name="a", cpu="2"),
        app(["cpu-1"], name="b", cpu="4"),
        waiting("big", cpu="7"),
        cpu_nodes(2),
    )
    moves(
        "d11-a-rescheduler",
        "kubernetes/kubernetes#21543",
        "memory: the small one leaves",
        "1",
        app(["cpu-0"], name="a", cpu="1", memory="8Gi"),
        app(["cpu-1"], name="b", cpu="1", memory="20Gi"),
        waiting("big", memory="30Gi"),
        cpu_nodes(2),
    )
    moves(
        "d12-evicting-all-is-not-needed",
        "kubernetes-sigs/descheduler#1635",
        "one of three pods is enough",
        "1",
        app(["gpu-0", "gpu-1", "gpu-2"], name="a", gpus=1),
        waiting("big", gpus=2),
        gpu_nodes(3, 2),
    )
    moves(
        "d13-stuck-full",
        "pusher/k8s-spot-rescheduler#68",
        "every GPU is held: no move makes one",
        "impossible",
        app(["gpu-0", "gpu-1"], name="a", gpus=2),
        waiting("big", gpus=1),
        gpu_nodes(2, 2),
    )
    tell(
        "d14-what-if-this-node-goes",
        "kubernetes-sigs/karpenter#711",
        "its pod has no other GPU",
        "leaves pods waiting",
        ([*app(["gpu-0", "gpu-1"], gpus=1), *gpu_nodes(2)], []),
        question="lose",
        about="gpu-0",
    )
    tell(
        "d15-a-node-that-can-go",
        "aws/karpenter-provider-aws#9207",
        "its pod finds another node",
        "survives",
        ([*app(["cpu-0", "cpu-1"], cpu="2"), *cpu_nodes(2)], []),
        question="lose",
        about="cpu-0",
    )

    # ── E: spare room, failure, upgrade ─────────────────────────────────────────────────────────────────────────────
    single = app(["cpu-0"], cpu="2")
    tell(
        "e01-drain-of-one-replica",
        "sigstore/helm-charts#748",
        "minAvailable 1 of 1 replica: no eviction is ever allowed",
        "blocked",
        ([*single, keep("app", minAvailable=1), *cpu_nodes(2)], []),
        question="drain",
        about="cpu-0",
    )
    tell(
        "e02-drain-with-room",
        "Azure/AKS#4425",
        "without a surge node: drained in place, its pod goes to the other node",
        "drained",
        ([*single, *cpu_nodes(2)], []),
        question="drain",
        about="cpu-0",
    )
    tell(
        "e03-zone-of-the-surge-node",
        "Azure/AKS#3292",
        "the surge node is of zone b: once a-0 is upgraded away, the pod waits for a node in its volume's zone",
        "leaves pods waiting",
        (_zonal(), []),
        question="lose",
        about="a-0",
    )
    tell(
        "e04-blocked-nodes",
        "Azure/AKS#3516",
        "a budget of 100 % blocks the drain",
        "blocked",
        ([*app(["cpu-0", "cpu-1"]), keep("app", minAvailable="100%"), *cpu_nodes(3)], []),
        question="drain",
        about="cpu-0",
    )
    tell(
        "e05-survive-one-node",
        "larivierec/home-cluster#1619",
        "6 of 8 CPUs on each of two nodes: one can't take both",
        "leaves pods waiting",
        ([*app(["cpu-0", "cpu-1"], cpu="6"), *cpu_nodes(2)], []),
        question="lose",
        about="cpu-1",
    )
    tell(
        "e06-keep-headroom",
        "hjacobs/kube-aws-autoscaler#17",
        "a spare node takes them",
        "survives",
        ([*app(["cpu-0", "cpu-1"], cpu="6"), *cpu_nodes(3)], []),
        question="lose",
        about="cpu-1",
    )
    tell(
        "e07-spare-gpu",
        "aws/karpenter-provider-aws#987",
        "one GPU node is kept free",
        "survives",
        ([*app(["gpu-0"], gpus=1), *gpu_nodes(2)], []),
        question="lose",
        about="gpu-0",
    )
    tell(
        "e08-anti-affinity-after-a-loss",
        "aws/karpenter-provider-aws#3240",
        "3 nodes, one pod each: the third has nowhere to go",
        "leaves pods waiting",
        ([*app([f"cpu-{i}" for i in range(3)], affinity=APART), *cpu_nodes(3)], []),
        question="lose",
        about="cpu-2",
    )
    tell(
        "e09-surge-of-gpu-nodes",
        "teutonet/teutonet-helm-charts#549",
        "drained in place, its pod waits until the node is back; no budget forbids it",
        "leaves pods waiting",
        ([*app(["gpu-0"], gpus=1), *gpu_nodes(1)], []),
        question="lose",
        about="gpu-0",
    )

    # ── F: who holds what ───────────────────────────────────────────────────────────────────────────────────────────
    tell(
        "f01-the-pre-flight-says-minus-8",
        "llm-d/llm-d#1569",
        "16 GPUs, 8 held: 8 are free",
        "8",
        ([*app(["gpu-0"], gpus=8), *gpu_nodes(2, 8)], []),
        question="free",
    )
    tell(
        "f02-free-of-a-model",
        "nebius/nebius-physical-ai#512",
        "GPUs of a cordoned node are not free",
        "4",
        ([*app(["gpu-0"], gpus=4), *gpu_nodes(1, 8), node("off", pool="gpu", gpus=8, cordoned=True)], []),
        question="free",
    )
    tell(
        "f03-free-gpus-by-node",
        "METR/vivaria#663",
        "a shape of 2 GPUs fits where 2 are free on one node",
        "does not fit",
        ([*app(["gpu-0", "gpu-1"], gpus=1), *gpu_nodes(2, 2)], []),
        question="fits",
        about="gpu=2 x1",
    )
    tell(
        "f04-a-notebook",
        "kubeflow/notebooks#307",
        "one GPU is free on each of two nodes",
        "fits",
        ([*app(["gpu-0", "gpu-1"], gpus=1), *gpu_nodes(2, 2)], []),
        question="fits",
        about="gpu=1 x2",
    )
    tell(
        "f05-idle-of-a-pool",
        "kubecost/cost-analyzer#5",
        "3 of 4 GPUs of the pool are held by nobody",
        "3",
        ([*app(["gpu-0"], gpus=1), *gpu_nodes(1, 4)], []),
        question="free",
    )
    tell(
        "f06-a-stock-out",
        "cilium/cilium#48184",
        "the pool may have 5 nodes; whether the cloud has one, no file says: growth is all that can be said",
        "needs growth",
        _same(app(["gpu-0"], gpus=1, nodeSelector={"cloud.google.com/gke-nodepool": "gpu"}), *gpu_nodes(1)),
        pools=[_pool("gpu", "n1-standard-8", 5)],
    )
    return found


def _with_selector(items: list[Item]) -> Item:
    changed = new_image(items)
    changed["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "none-has-it"}
    return changed


def _lws(groups: int, surge: int, unavailable: int, size: int = 2) -> list[Item]:
    template = {"metadata": {"labels": {"app": "app"}}, "spec": pod_spec(gpus=8)}
    spec = {
        "replicas": groups, "startupPolicy": "LeaderCreated", "leaderWorkerTemplate": {"size": size, "workerTemplate": template, "restartPolicy": "RecreateGroupOnPodRestart"},
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 0, "maxSurge": surge, "maxUnavailable": unavailable}},
    }  # fmt: skip
    made = other_kind("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec)
    made["status"] = {"replicas": groups, "readyReplicas": groups, "updatedReplicas": groups}
    found = [made]
    by = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "name": "app",
        "uid": "LeaderWorkerSet-app",
        "controller": True,
    }
    named = {"leaderworkerset.sigs.k8s.io/name": "app", "leaderworkerset.sigs.k8s.io/template-revision-hash": "1"}

    def a_set(name: str, replicas: int, owner: Item, uid: str) -> Item:
        made = other_kind(
            "apps/v1",
            "StatefulSet",
            {
                "replicas": replicas,
                "serviceName": "app",
                "selector": {"matchLabels": {"set": name}},
                "template": {"metadata": {"labels": {"set": name, **named}}, "spec": pod_spec(gpus=8)},
            },
            name=name,
        )
        made["metadata"] |= {"uid": uid, "ownerReferences": [owner], "labels": named}
        made["status"] = {
            "replicas": replicas,
            "readyReplicas": replicas,
            "updatedReplicas": replicas,
            "currentReplicas": replicas,
        }
        return made

    found.append(a_set("app", groups, by, "sts-app"))
    for group in range(groups):
        leader_by = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "name": "app",
            "uid": "sts-app",
            "controller": True,
        }
        labels = {**named, "leaderworkerset.sigs.k8s.io/group-index": str(group)}
        leader = f"app-{group}"
        found.append(
            pod(
                leader,
                pod_spec(gpus=8),
                on=f"gpu-{size * group}",
                labels={**labels, "set": "app", "leaderworkerset.sigs.k8s.io/worker-index": "0"},
                owner=leader_by,
            )
        )
        own = {"apiVersion": "v1", "kind": "Pod", "name": leader, "uid": f"p-{leader}", "controller": True}
        found.append(a_set(leader, size - 1, own, f"sts-{leader}"))
        workers = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "name": leader,
            "uid": f"sts-{leader}",
            "controller": True,
        }
        found += [
            pod(f"{leader}-{i}", pod_spec(gpus=8), on=f"gpu-{size * group + i}", labels={**labels, "set": leader, "leaderworkerset.sigs.k8s.io/worker-index": str(i)}, owner=workers)
            for i in range(1, size)
        ]  # fmt: skip
    return found


def new_lws(items: list[Item]) -> Item:
    lws = items[0]
    template = lws["spec"]["leaderWorkerTemplate"]
    worker = {
        **template["workerTemplate"],
        "spec": {
            **template["workerTemplate"]["spec"],
            "containers": [{**template["workerTemplate"]["spec"]["containers"][0], "image": "registry.example/app:2"}],
        },
    }
    meta = {key: lws["metadata"][key] for key in ("name", "namespace")}
    return {
        **{key: lws[key] for key in ("apiVersion", "kind")},
        "metadata": meta,
        "spec": {**lws["spec"], "leaderWorkerTemplate": {**template, "workerTemplate": worker}},
    }


def _knative(gpus: int, before: int, free: int, after: int) -> tuple[list[Item], list[Item]]:
    """A Service of so many pods before and after its change, each of so many GPUs."""
    template = {
        "metadata": {"annotations": {"autoscaling.knative.dev/min-scale": str(before)}},
        "spec": {"containers": pod_spec(gpus=gpus)["containers"]},
    }
    service = other_kind("serving.knative.dev/v1", "Service", {"template": template})
    revision = other_kind(
        "serving.knative.dev/v1",
        "Revision",
        template["spec"],
        name="app-00001",
        labels={"serving.knative.dev/service": "app"},
    )
    items = app(["gpu-0"] * before, name="app-00001-deployment", gpus=gpus)
    items[0]["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "serving.knative.dev/v1",
            "kind": "Revision",
            "name": "app-00001",
            "uid": "Revision-app-00001",
            "controller": True,
        }
    ]
    items[0]["metadata"]["labels"] = {"serving.knative.dev/service": "app", "serving.knative.dev/revision": "app-00001"}
    changed = {
        "metadata": {"annotations": {"autoscaling.knative.dev/min-scale": str(after)}},
        "spec": {"containers": [{**template["spec"]["containers"][0], "image": "registry.example/app:2"}]},
    }
    meta = {key: service["metadata"][key] for key in ("name", "namespace")}
    return [service, revision, *items, *gpu_nodes(1, gpus * before + free)], [
        {**service, "metadata": meta, "spec": {"template": changed}}
    ]


def _ray(workers: int, spare: int) -> tuple[list[Item], list[Item]]:
    def cluster(image: str) -> Item:
        container = {**pod_spec(gpus=1)["containers"][0], "image": image}
        head = {
            "template": {"spec": {"containers": [{**pod_spec(cpu="1")["containers"][0], "image": image}]}},
            "rayStartParams": {},
        }
        group = {
            "groupName": "gpu",
            "replicas": workers,
            "minReplicas": workers,
            "maxReplicas": workers,
            "rayStartParams": {},
            "template": {"spec": {"containers": [container]}},
        }
        return {"headGroupSpec": head, "workerGroupSpecs": [group]}

    service = other_kind(
        "ray.io/v1",
        "RayService",
        {"serveConfigV2": "applications: []", "rayClusterConfig": cluster("registry.example/app:1")},
    )
    made = other_kind("ray.io/v1", "RayCluster", cluster("registry.example/app:1"), name="app-raycluster")
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": "ray.io/v1", "kind": "RayService", "name": "app", "uid": "RayService-app", "controller": True}
    ]
    by = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": "app-raycluster",
        "uid": "RayCluster-app-raycluster",
        "controller": True,
    }
    pods = [
        pod(f"app-worker-{i}", pod_spec(gpus=1), on=f"gpu-{i}", labels={"ray.io/cluster": "app-raycluster"}, owner=by)
        for i in range(workers)
    ]
    pods.append(pod("app-head", pod_spec(cpu="1"), on="gpu-0", labels={"ray.io/cluster": "app-raycluster"}, owner=by))
    changed = {
        **service,
        "metadata": {key: service["metadata"][key] for key in ("name", "namespace")},
        "spec": {**service["spec"], "rayClusterConfig": cluster("registry.example/app:2")},
    }
    return [service, made, *pods, *gpu_nodes(workers + spare)], [changed]


def _volcano(pods: int, queue: str = "default") -> Item:
    task = {
        "name": "worker",
        "replicas": pods,
        "template": {"metadata": {"labels": {"app": "gang"}}, "spec": pod_spec(gpus=1, restartPolicy="Never")},
    }
    return other_kind(
        "batch.volcano.sh/v1alpha1",
        "Job",
        {"minAvailable": pods, "schedulerName": "volcano", "queue": queue, "tasks": [task]},
        name="gang",
    )


def _queue(gpus: int) -> list[Item]:
    flavor = other_kind("kueue.x-k8s.io/v1beta2", "ResourceFlavor", {}, name="default")
    resources = [
        {"name": name, "nominalQuota": amount}
        for name, amount in (("cpu", "1000"), ("memory", "1000Gi"), ("nvidia.com/gpu", str(gpus)))
    ]
    group = {
        "coveredResources": [one["name"] for one in resources],
        "flavors": [{"name": "default", "resources": resources}],
    }
    whole = other_kind(
        "kueue.x-k8s.io/v1beta2", "ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [group]}, name="team"
    )
    local = other_kind("kueue.x-k8s.io/v1beta2", "LocalQueue", {"clusterQueue": "team"}, name="team")
    for one in (flavor, whole):
        one["metadata"].pop("namespace")
    return [flavor, whole, local]


def _lists() -> list[Item]:
    """A pod that is over and a Workload that is finished: the lists are there."""
    done = pod("done", pod_spec(gpus=1), on="gpu-0")
    done["status"]["phase"] = "Succeeded"
    past = other_kind("kueue.x-k8s.io/v1beta2", "Workload", {"queueName": "team", "podSets": []}, name="past")
    past["status"] = {"conditions": [{"type": "Finished", "status": "True", "reason": "Succeeded"}]}
    return [done, past]


def _held(items: list[Item]) -> list[Item]:
    """Of each pod the Workload with which Kueue let it in."""
    found = []
    for one in items:
        if one["kind"] != "Pod":
            continue
        requests = one["spec"]["containers"][0]["resources"]["requests"]
        name, owned = one["metadata"]["name"], {"apiVersion": "v1", "kind": "Pod", "name": one["metadata"]["name"]}
        template = {"spec": {"containers": one["spec"]["containers"]}}
        spec = {"queueName": "team", "podSets": [{"name": "main", "count": 1, "template": template}]}
        made = other_kind("kueue.x-k8s.io/v1beta2", "Workload", spec, name=f"pod-{name}")
        made["metadata"] |= {
            "ownerReferences": [{**owned, "uid": one["metadata"].get("uid", name), "controller": True}],
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }
        flavors = dict.fromkeys(requests, "default")
        given = {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": requests}
        conditions = [{"type": kind, "status": "True", "reason": kind} for kind in ("QuotaReserved", "Admitted")]
        made["status"] = {"admission": {"clusterQueue": "team", "podSetAssignments": [given]}, "conditions": conditions}
        found.append(made)
    return found


def _kai(gpus: int) -> list[Item]:
    limit = {"gpu": {"quota": gpus, "limit": gpus, "overQuotaWeight": 0}}
    queue = other_kind("scheduling.run.ai/v2", "Queue", {"resources": limit}, name="team")
    queue["metadata"].pop("namespace")
    return [queue]


def _zonal() -> list[Item]:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "ml", "uid": "c"},
        "spec": {
            "volumeName": "disk",
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "zonal",
            "resources": {"requests": {"storage": "10Gi"}},
        },
        "status": {"phase": "Bound"},
    }
    terms = [{"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk", "uid": "v"},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "zonal",
            "claimRef": {"namespace": "ml", "name": "data", "uid": "c"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            "csi": {"driver": "disk.example", "volumeHandle": "1"},
        },
        "status": {"phase": "Bound"},
    }
    items = app(["a-0"], volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    return [*items, claim, volume, node("a-0", zone="a"), node("surge-0", zone="b")]


ALL: Final[tuple[Story, ...]] = tuple(_stories())
BY_NAME: Final = {one.name: one for one in ALL}
