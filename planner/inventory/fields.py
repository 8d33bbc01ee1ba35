"""Every field of the specs that decide a rollout, and what Headroom does with it.

Held against the API schema of Kubernetes 1.36 by tests/inventory/test_fields.py, so that a new field can't pass
silently; docs/rollout.md's table is made from it. Keys are the API's types; a type is listed when a field that leads to it
is modelled.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Standing(StrEnum):
    """What becomes of a field."""

    MODELLED = "modelled"
    HARMLESS = "cannot matter"
    UNKNOWN = "verdict becomes unknown"


class Field(NamedTuple):
    standing: Standing
    why: str = ""


YES = Field(Standing.MODELLED)


def _all(*names: str) -> dict[str, Field]:
    return dict.fromkeys(names, YES)


def _no(why: str, *names: str) -> dict[str, Field]:
    return dict.fromkeys(names, Field(Standing.HARMLESS, why))


def _unknown(why: str, *names: str) -> dict[str, Field]:
    return dict.fromkeys(names, Field(Standing.UNKNOWN, why))


_RUNS = "it says how the container runs on its node, and whether it starts isn't predicted"
_NETWORK = "it is network setup inside the pod"
_READY = "when a pod becomes Ready is learnt from the pods there are; whether it does isn't predicted"
_SECURITY = "it is applied on the node; a namespace's PodSecurity level is judged apart"
_MOUNT = "kube-scheduler doesn't look at it: mounting happens on the node"
_ATTACH = "kube-scheduler counts no limit for it"

FIELDS: dict[str, dict[str, Field]] = {
    "DeploymentSpec": _all(
        "minReadySeconds",
        "paused",
        "progressDeadlineSeconds",
        "replicas",
        "revisionHistoryLimit",
        "selector",
        "strategy",
        "template",
    ),
    "DeploymentStrategy": _all("rollingUpdate", "type"),
    "RollingUpdateDeployment": _all("maxSurge", "maxUnavailable"),
    "StatefulSetSpec": _all(
        "minReadySeconds",
        "ordinals",
        "podManagementPolicy",
        "replicas",
        "revisionHistoryLimit",
        "selector",
        "template",
        "updateStrategy",
        "volumeClaimTemplates",
    )
    | _no("only names in DNS depend on it", "serviceName")
    | _no("a claim that is deleted with its pod is made anew with the next", "persistentVolumeClaimRetentionPolicy"),
    "StatefulSetUpdateStrategy": _all("rollingUpdate", "type"),
    "RollingUpdateStatefulSetStrategy": _all("maxUnavailable", "partition"),
    "StatefulSetOrdinals": _all("start"),
    "DaemonSetSpec": _all("minReadySeconds", "revisionHistoryLimit", "selector", "template", "updateStrategy"),
    "DaemonSetUpdateStrategy": _all("rollingUpdate", "type"),
    "RollingUpdateDaemonSet": _all("maxSurge", "maxUnavailable"),
    "PodTemplateSpec": _all("metadata", "spec"),
    "PodSpec": _all(
        "affinity",
        "containers",
        "hostNetwork",
        "initContainers",
        "nodeName",
        "nodeSelector",
        "overhead",
        "preemptionPolicy",
        "priority",
        "priorityClassName",
        "resourceClaims",
        "resources",
        "runtimeClassName",
        "schedulerName",
        "schedulingGates",
        "terminationGracePeriodSeconds",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
    )
    | _unknown("pods of a group are placed together or not at all", "schedulingGroup")
    | _unknown("Windows nodes have rules of their own; linux changes nothing", "os")
    | _unknown("somebody outside says when the pod is Ready", "readinessGates")
    | _unknown(
        "a pod whose ServiceAccount doesn't exist is refused; one that other pods use exists", "serviceAccountName"
    )
    | _no("the older name of serviceAccountName, which the API server sets with it", "serviceAccount")
    | _no("the API server takes no other value in these templates", "activeDeadlineSeconds", "restartPolicy")
    | _no("the API server takes none in a template", "ephemeralContainers")
    | _no(
        _NETWORK,
        "dnsConfig",
        "dnsPolicy",
        "hostAliases",
        "hostname",
        "hostnameOverride",
        "setHostnameAsFQDN",
        "subdomain",
    )
    | _no(_SECURITY, "hostIPC", "hostPID", "hostUsers", "securityContext", "shareProcessNamespace")
    | _no(_RUNS, "automountServiceAccountToken", "enableServiceLinks", "imagePullSecrets"),
    "Container": _all("image", "name", "ports", "resources", "restartPolicy")
    | _unknown("a rule may restart all of the pod's containers, which only some nodes can do", "restartPolicyRules")
    | _no(_READY, "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
    | _no(_SECURITY, "securityContext")
    | _no("a resize happens in place, after the pod has been placed", "resizePolicy")
    | _no(_MOUNT, "volumeDevices", "volumeMounts")
    | _no(
        _RUNS,
        "args",
        "command",
        "env",
        "envFrom",
        "imagePullPolicy",
        "stdin",
        "stdinOnce",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "tty",
        "workingDir",
    ),
    "ContainerPort": _all("containerPort", "hostIP", "hostPort", "protocol") | _no("it is a name", "name"),
    "ResourceRequirements": _all("claims", "limits", "requests"),
    "ResourceClaim": _all("name") | _no("devices are allocated to the pod as a whole", "request"),
    "Volume": _all(
        "awsElasticBlockStore",
        "azureDisk",
        "ephemeral",
        "gcePersistentDisk",
        "iscsi",
        "name",
        "persistentVolumeClaim",
        "rbd",
    )
    | _no(_MOUNT, "configMap", "downwardAPI", "emptyDir", "gitRepo", "hostPath", "image", "projected", "secret")
    | _no(
        _ATTACH,
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "fc",
        "flexVolume",
        "flocker",
        "glusterfs",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    ),
    "AWSElasticBlockStoreVolumeSource": _all("readOnly", "volumeID") | _no(_MOUNT, "fsType", "partition"),
    "AzureDiskVolumeSource": _all("diskURI", "readOnly") | _no(_MOUNT, "cachingMode", "diskName", "fsType", "kind"),
    "GCEPersistentDiskVolumeSource": _all("pdName", "readOnly") | _no(_MOUNT, "fsType", "partition"),
    "ISCSIVolumeSource": _all("iqn", "readOnly")
    | _no(
        _MOUNT,
        "chapAuthDiscovery",
        "chapAuthSession",
        "fsType",
        "initiatorName",
        "iscsiInterface",
        "lun",
        "portals",
        "secretRef",
        "targetPortal",
    ),
    "RBDVolumeSource": _all("image", "pool", "readOnly")
    | _no(_MOUNT, "fsType", "keyring", "monitors", "secretRef", "user"),
    "PersistentVolumeClaimVolumeSource": _all("claimName", "readOnly"),
    "EphemeralVolumeSource": _all("volumeClaimTemplate"),
    "PersistentVolumeClaimTemplate": _all("spec") | _no("labels of a claim choose nothing", "metadata"),
    "PersistentVolumeClaim": _all("metadata", "spec")
    | _no("they are what the object is", "apiVersion", "kind", "status"),
    "PersistentVolumeClaimSpec": _all(
        "accessModes", "resources", "selector", "storageClassName", "volumeMode", "volumeName"
    )
    | _no(
        "it says what the volume holds or how fast it is", "dataSource", "dataSourceRef", "volumeAttributesClassName"
    ),
    "VolumeResourceRequirements": _all("requests") | _no("volumes have no limits", "limits"),
    "Affinity": _all("nodeAffinity", "podAffinity", "podAntiAffinity"),
    "NodeAffinity": _all(
        "preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"
    ),
    "PodAffinity": _all(
        "preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"
    ),
    "PodAntiAffinity": _all(
        "preferredDuringSchedulingIgnoredDuringExecution", "requiredDuringSchedulingIgnoredDuringExecution"
    ),
    "PreferredSchedulingTerm": _all("preference", "weight"),
    "NodeSelector": _all("nodeSelectorTerms"),
    "NodeSelectorTerm": _all("matchExpressions", "matchFields"),
    "NodeSelectorRequirement": _all("key", "operator", "values"),
    "WeightedPodAffinityTerm": _all("podAffinityTerm", "weight"),
    "PodAffinityTerm": _all(
        "labelSelector", "matchLabelKeys", "mismatchLabelKeys", "namespaceSelector", "namespaces", "topologyKey"
    ),
    "LabelSelector": _all("matchExpressions", "matchLabels"),
    "LabelSelectorRequirement": _all("key", "operator", "values"),
    "Toleration": _all("effect", "key", "operator", "value")
    | _no("pods there already are not put out during a rollout", "tolerationSeconds"),
    "TopologySpreadConstraint": _all(
        "labelSelector",
        "matchLabelKeys",
        "maxSkew",
        "minDomains",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "topologyKey",
        "whenUnsatisfiable",
    ),
    "PodResourceClaim": _all("name", "resourceClaimName", "resourceClaimTemplateName"),
    "PodSchedulingGate": _all("name"),
}
