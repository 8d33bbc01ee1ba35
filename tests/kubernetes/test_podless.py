"""The kinds that make no pods: none whose CustomResourceDefinition has a pod template, and none of operators that are known to make some.

``kinds_with_templates.txt``: kinds (in small letters, by group) whose schemas have a list of containers, or an image beside its command or
resources, of all 3,977 schemas of datreeio/CRDs-catalog at 7b1e26ef (2026-08-20): what was seen in them, not their text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from planner.kubernetes import kinds_without_pods
from planner.kubernetes.kinds_without_pods import PodEffect, effect_of, makes_no_pods
from planner.kubernetes.pod_template_kinds import TEMPLATED
from tests.seen import each

WITH_TEMPLATES: Final = {
    (group, kind)
    for line in (Path(__file__).parent / "kinds_with_templates.txt").read_text(encoding="utf-8").splitlines()
    for group, *kinds in [line.split()]
    for kind in kinds
}
KNOWN: Final = {
    (group, kind.lower()): (group, kind) for group, row in kinds_without_pods._KINDS.items() for kind in row
}
NO_PODS_OF_ITS_OWN: Final = {  # a template that is laid over others' pods
    ("opentelemetry.io", "instrumentation"),
    ("aigateway.envoyproxy.io", "gatewayconfig"),
}
MAKERS: Final = (  # by their operators' own words; none of their schemas needs to show a template
    ("argoproj.io/v1alpha1", "Application Workflow CronWorkflow EventBus EventSource Sensor"), ("tekton.dev/v1", "TaskRun PipelineRun"),
    ("triggers.tekton.dev/v1beta1", "EventListener"), ("kafka.strimzi.io/v1beta2", "Kafka KafkaConnect KafkaBridge KafkaMirrorMaker2 KafkaNodePool"),
    ("postgresql.cnpg.io/v1", "Cluster Pooler"), ("monitoring.coreos.com/v1", "Prometheus Alertmanager ThanosRuler"),
    ("ceph.rook.io/v1", "CephCluster CephFilesystem CephObjectStore"), ("velero.io/v1", "Restore"), ("flagger.app/v1beta1", "Canary"),
    ("serving.kserve.io/v1beta1", "InferenceService"), ("serving.kserve.io/v1alpha1", "InferenceGraph LocalModelCache"),
    ("workload.serving.volcano.sh/v1alpha1", "ModelServing ModelBooster"), ("orchestration.aibrix.ai/v1alpha1", "StormService RayClusterFleet"),
    ("ome.io/v1beta1", "InferenceService BenchmarkJob"), ("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("nvidia.com/v1", "ClusterPolicy"),
    ("nvidia.com/v1alpha1", "NVIDIADriver DynamoGraphDeployment"), ("resource.nvidia.com/v1beta1", "ComputeDomain"),
    ("workloads.x-k8s.io/v1alpha1", "RoleBasedGroup"), ("helm.toolkit.fluxcd.io/v2", "HelmRelease"), ("kubeai.org/v1", "Model"),
    ("production-stack.vllm.ai/v1alpha1", "VLLMRuntime VLLMRouter"), ("keda.sh/v1alpha1", "ScaledJob"), ("eventing.knative.dev/v1", "Broker"),
    ("fluxcd.controlplane.io/v1", "FluxInstance ResourceSet"), ("kaito.sh/v1beta1", "Workspace"), ("apps.kruise.io/v1alpha1", "CloneSet"),
    ("operators.coreos.com/v1alpha1", "Subscription CatalogSource"), ("longhorn.io/v1beta2", "RecurringJob"), ("example.com/v1", "Service"),
)  # fmt: skip


def test_no_kind_with_a_template_in_its_schema_is_among_them() -> None:
    seen = {key: named for key, named in KNOWN.items() if key in WITH_TEMPLATES - NO_PODS_OF_ITS_OWN}
    whole = {group for group, row in kinds_without_pods._KINDS.items() if "*" in row}
    wrong = [
        named
        for named in seen.values()
        if kinds_without_pods._KINDS[named[0]][named[1]] in (PodEffect.NONE, PodEffect.SCALES)
    ]
    wrong += [key for key in WITH_TEMPLATES - NO_PODS_OF_ITS_OWN if key[0] in whole]
    assert not wrong
    assert len(WITH_TEMPLATES) > 150
    assert len(KNOWN) > 450


@pytest.mark.parametrize(("api_version", "kinds"), MAKERS)
def test_none_that_operators_make_pods_for_is_among_them(api_version: str, kinds: str) -> None:
    for kind in each(kinds.split()):
        assert not makes_no_pods({"apiVersion": api_version, "kind": kind}), kind


def test_no_kind_whose_pods_are_told_is_among_them() -> None:
    assert not {(row.group, row.kind.lower()) for row in TEMPLATED} & KNOWN.keys()


@pytest.mark.parametrize(
    ("api_version", "kind", "effect"),
    [
        ("kafka.strimzi.io/v1beta2", "KafkaTopic", PodEffect.NONE), ("container.cnrm.cloud.google.com/v1beta1", "ContainerCluster", PodEffect.NONE),
        ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", PodEffect.NONE), ("config.kueue.x-k8s.io/v1beta1", "Configuration", PodEffect.NONE),
        ("azmonitoring.coreos.com/v1", "PodMonitor", PodEffect.NONE), ("networking.serving.volcano.sh/v1alpha1", "ModelRoute", PodEffect.NONE),
        ("tekton.dev/v1", "Task", PodEffect.LATER), ("argoproj.io/v1alpha1", "WorkflowTemplate", PodEffect.LATER),
        ("autoscaling.aibrix.ai/v1alpha1", "PodAutoscaler", PodEffect.SCALES), ("ome.io/v1beta1", "ClusterServingRuntime", PodEffect.DEFINES),
        ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", PodEffect.DEFINES), ("scheduling.k8s.io/v1alpha2", "PodGroup", PodEffect.LETS_BEGIN),
        ("kubeflow.org/v2alpha1", "ClusterTrainingRuntime", PodEffect.DEFINES), ("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", PodEffect.LATER),
        ("split.smi-spec.io/v1alpha1", "TrafficSplit", PodEffect.NONE), ("aws.upbound.io/v1beta1", "ProviderConfig", PodEffect.NONE),
        ("postgresql.cnpg.io/v1", "ScheduledBackup", PodEffect.NONE), ("argoproj.io/v1alpha1", "AnalysisTemplate", PodEffect.NONE),
        ("kubevirt.io/v1", "VirtualMachine", None), ("pkg.crossplane.io/v1", "Provider", None), ("cluster.x-k8s.io/v1beta1", "MachineDeployment", None),
        ("example.com/v1", "Gadget", None), ("config.k8s.io/v1", "Gadget", None), ("tekton.dev/v1", "TaskRun", None),
    ],
)  # fmt: skip
def test_what_applying_one_does(api_version: str, kind: str, effect: PodEffect | None) -> None:
    assert effect_of({"apiVersion": api_version, "kind": kind}) is effect
