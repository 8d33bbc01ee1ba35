"""Kinds that make no pods: what of them is applied rolls nothing out. A kind that is neither here nor among those whose
pods are told (`kinds`, `pod_templates`) isn't known.

A group stands with ``*`` where none of its kinds makes pods, else with those that don't: operators put both into one group
(``monitoring.coreos.com`` has ServiceMonitor and Prometheus); a kind with ``?`` makes none unless a pod template stands in
it. What wraps other kinds (templates, Applications, runtimes,
packages) isn't here, nor what lets other objects' pods begin (Kueue's Workload, a PodGroup).

Sources: the API references of Kubernetes 1.36 and of the projects, each group's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.kubernetes.pod_templates import hidden_templates

_TABLE: Final = """
-                                    Namespace Node Service Endpoints ConfigMap Secret ServiceAccount Event LimitRange
-                                    ResourceQuota PersistentVolume PersistentVolumeClaim ComponentStatus PodTemplate
apps                                 ControllerRevision
autoscaling                          *
autoscaling.x-k8s.io                 CapacityBuffer ProvisioningRequest
scheduling.k8s.io                    PriorityClass
extensions                           Ingress NetworkPolicy PodSecurityPolicy
admissionregistration.k8s.io         *
apiextensions.k8s.io                 *
apiregistration.k8s.io               *
authentication.k8s.io                *
authorization.k8s.io                 *
certificates.k8s.io                  *
coordination.k8s.io                  *
discovery.k8s.io                     *
events.k8s.io                        *
flowcontrol.apiserver.k8s.io         *
metrics.k8s.io                       *
networking.k8s.io                    *
node.k8s.io                          *
policy                               *
rbac.authorization.k8s.io            *
resource.k8s.io                      *
storage.k8s.io                       *
storagemigration.k8s.io              *
snapshot.storage.k8s.io              *
groupsnapshot.storage.k8s.io         *
secrets-store.csi.x-k8s.io           *
autoscaling.k8s.io                   VerticalPodAutoscaler VerticalPodAutoscalerCheckpoint
gateway.networking.k8s.io            *
gateway.networking.x-k8s.io          *
inference.networking.k8s.io          *
inference.networking.x-k8s.io        *
policy.networking.k8s.io             *
multicluster.x-k8s.io                *
nfd.k8s-sigs.io                      NodeFeature NodeFeatureRule NodeFeatureGroup
nfd.openshift.io                     NodeFeatureRule
kueue.x-k8s.io                       ClusterQueue LocalQueue ResourceFlavor AdmissionCheck Cohort Topology
kueue.x-k8s.io                       WorkloadPriorityClass ProvisioningRequestConfig MultiKueueConfig MultiKueueCluster
scheduling.volcano.sh                Queue
scheduling.run.ai                    Queue
kind.x-k8s.io                        Cluster
aquasecurity.github.io               *
spdx.softwarecomposition.kubescape.io  *
keda.sh                              ScaledObject TriggerAuthentication ClusterTriggerAuthentication
cert-manager.io                      *
acme.cert-manager.io                 *
trust.cert-manager.io                *
policy.cert-manager.io               *
external-secrets.io                  *
generators.external-secrets.io       *
bitnami.com                          SealedSecret
secrets.hashicorp.com                *
monitoring.coreos.com                ServiceMonitor PodMonitor Probe PrometheusRule ScrapeConfig AlertmanagerConfig
monitoring.googleapis.com            PodMonitoring ClusterPodMonitoring NodeMonitoring ClusterNodeMonitoring
monitoring.googleapis.com            Rules ClusterRules GlobalRules
operator.victoriametrics.com         VMServiceScrape VMPodScrape VMNodeScrape VMStaticScrape VMScrapeConfig VMProbe VMRule
operator.victoriametrics.com         VMAlertmanagerConfig VMUser
grafana.integreatly.org              GrafanaDashboard GrafanaDatasource GrafanaFolder GrafanaAlertRuleGroup
grafana.integreatly.org              GrafanaContactPoint GrafanaNotificationPolicy GrafanaLibraryPanel
loki.grafana.com                     AlertingRule RecordingRule
opentelemetry.io                     Instrumentation
networking.istio.io                  *
security.istio.io                    *
telemetry.istio.io                   *
extensions.istio.io                  *
linkerd.io                           ServiceProfile
policy.linkerd.io                    *
traefik.io                           *
traefik.containo.us                  *
projectcontour.io                    HTTPProxy TLSCertificateDelegation ExtensionService
getambassador.io                     *
configuration.konghq.com             *
gateway.envoyproxy.io                BackendTrafficPolicy ClientTrafficPolicy SecurityPolicy EnvoyPatchPolicy
gateway.envoyproxy.io                EnvoyExtensionPolicy Backend HTTPRouteFilter
aigateway.envoyproxy.io              *
gateway.kgateway.dev                 TrafficPolicy HTTPListenerPolicy BackendConfigPolicy Backend
k8s.nginx.org                        *
networking.gke.io                    *
cloud.google.com                     BackendConfig ComputeClass
iam.cnrm.cloud.google.com            *
elbv2.k8s.aws                        *
vpcresources.k8s.aws                 *
crd.k8s.amazonaws.com                *
karpenter.sh                         *
karpenter.k8s.aws                    *
karpenter.azure.com                  *
cilium.io                            *
crd.projectcalico.org                *
projectcalico.org                    *
metallb.io                           *
k8s.cni.cncf.io                      NetworkAttachmentDefinition
sriovnetwork.openshift.io            SriovNetwork SriovIBNetwork OVSNetwork SriovNetworkNodePolicy SriovNetworkPoolConfig
mellanox.com                         MacvlanNetwork HostDeviceNetwork IPoIBNetwork
whereabouts.cni.cncf.io              *
constraints.gatekeeper.sh            *
templates.gatekeeper.sh              *
config.gatekeeper.sh                 *
mutations.gatekeeper.sh              *
kyverno.io                           *
policies.kyverno.io                  *
wgpolicyk8s.io                       *
argoproj.io                          AppProject AnalysisTemplate? ClusterAnalysisTemplate?
source.toolkit.fluxcd.io             *
notification.toolkit.fluxcd.io       *
image.toolkit.fluxcd.io              *
operators.coreos.com                 OperatorGroup
route.openshift.io                   *
security.openshift.io                *
image.openshift.io                   *
project.openshift.io                 *
user.openshift.io                    *
oauth.openshift.io                   *
quota.openshift.io                   *
console.openshift.io                 *
networking.openshift.io              *
externaldns.k8s.io                   *
app.k8s.io                           Application
"""


def _rows(table: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in table.strip().splitlines():
        group, *kinds = line.split()
        name = "" if group == "-" else group
        found[name] = found.get(name, frozenset()) | frozenset(kinds)
    return found


_KINDS: Final = _rows(_TABLE)


def makes_no_pods(document: Mapping[str, Any]) -> bool:
    """Whether nothing of an object becomes pods."""
    kind = str(document.get("kind"))
    known = _KINDS.get(str(document.get("apiVersion") or "").rpartition("/")[0], frozenset())
    return bool(known & {"*", kind}) or (f"{kind}?" in known and not hidden_templates(document))
