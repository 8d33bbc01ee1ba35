"""The Inventory's parts: what was read, another cluster, and how to make a snapshot."""

from __future__ import annotations

import streamlit as st

from planner.errors import HeadroomError
from planner.inventory.model import Presence, Snapshot
from planner.sources import kubectl
from planner.ui import errors, session, tables, words

_PRESENCE = {
    Presence.PRESENT: "✓ read",
    Presence.ABSENT: "– not in the input",
    Presence.REFUSED: "✗ refused (403): may not be listed",
}
_SNAPSHOT_COMMAND = """\
kubectl get nodes,namespaces,pods,deployments,replicasets,statefulsets,daemonsets,jobs,\\
poddisruptionbudgets,priorityclasses,resourcequotas,limitranges,\\
persistentvolumes,persistentvolumeclaims,storageclasses,events \\
  --all-namespaces --output json | gzip > cluster.json.gz"""
_HANDLED, _READ = "_upload_handled", "_upload_read"


def read(snapshot: Snapshot) -> None:
    """Source, time, digest, and each kind with its presence."""
    st.markdown(f"**{words.literal(snapshot.source)}**, taken {words.moment(snapshot.taken_at)}")
    st.caption(f"Content digest {snapshot.digest[:16]}: equal content gives an equal digest.")
    counts = _counts(snapshot)
    rows = [
        {"kind": kind, "objects": counts.get(kind), "state": _PRESENCE[presence]}
        for kind, presence in snapshot.presence.items()
    ]
    rows += [
        {"kind": kind, "objects": number, "state": "– not used by Headroom"}
        for kind, number in sorted(snapshot.other_kinds.items())
    ]
    tables.show(rows, alt=f"{words.count(len(rows), 'kind')} of objects and whether they were read")


def _counts(snapshot: Snapshot) -> dict[str, int]:
    """Kind → objects, for the kinds kept in a field of their own."""
    counts = {
        "Node": len(snapshot.nodes),
        "Namespace": len(snapshot.namespaces),
        "Pod": len(snapshot.pods),
        "ReplicaSet": len(snapshot.replica_sets),
        "PodDisruptionBudget": len(snapshot.pod_disruption_budgets),
        "PriorityClass": len(snapshot.priority_classes),
        "ResourceQuota": len(snapshot.resource_quotas),
        "LimitRange": len(snapshot.limit_ranges),
        "PersistentVolume": len(snapshot.persistent_volumes),
        "PersistentVolumeClaim": len(snapshot.persistent_volume_claims),
        "StorageClass": len(snapshot.storage_classes),
        "DeviceClass": len(snapshot.device_classes),
        "ResourceSlice": len(snapshot.resource_slices),
        "ResourceClaim": len(snapshot.resource_claims),
        "ResourceClaimTemplate": len(snapshot.resource_claim_templates),
        "Event": len(snapshot.events),
        "PodMetrics": len(snapshot.pod_metrics),
    }
    for kind in ("Deployment", "StatefulSet", "DaemonSet", "Job"):
        counts[kind] = sum(workload.kind == kind for workload in snapshot.workloads)
    return {kind: counts[kind] for kind in counts if snapshot.presence.get(kind) is Presence.PRESENT}


def another_cluster() -> None:
    """Upload, live context, or back to the demo. What can't be read leaves the cluster looked at as it was."""
    _upload()
    if not session.is_demo():
        st.button("Back to the demo cluster", icon=":material/science:", on_click=session.back_to_demo)


def _upload() -> None:
    file = st.file_uploader(
        "Upload a snapshot", type=["json", "yaml", "yml", "gz"], key="upload",
        help="What kubectl get … -o json or yaml printed, plain or gzip. It stays in this session's memory: nothing "
        "is written to disk or sent on, and values of environment variables are dropped while reading.",
    )  # fmt: skip
    if file is None or st.session_state.get(_HANDLED) == file.file_id:
        _say_read()
        return
    st.session_state[_HANDLED] = file.file_id
    st.session_state.pop(_READ, None)
    try:
        with st.spinner(f"Reading {words.literal(file.name)} …"):
            snapshot = kubectl.read_bytes(file.getvalue(), name=file.name)
    except HeadroomError as error:
        errors.show(error)
        st.caption(f"Still looking at {words.literal(session.cluster().source)}.")
        return
    session.adopt(snapshot)
    st.session_state[_READ] = snapshot.digest
    st.rerun()


def _say_read() -> None:
    snapshot = session.cluster()
    if st.session_state.get(_READ) == snapshot.digest:
        number = words.count(len(snapshot.problems), "part")
        damaged = f" {number} could not be used: see the findings." if snapshot.problems else ""
        box = st.warning if snapshot.problems else st.success
        box(
            f"{'△' if snapshot.problems else '✓'} Read {words.count(len(snapshot.nodes), 'node')} and "
            f"{words.count(len(snapshot.pods), 'pod')}.{damaged}",
        )


def how_to() -> None:
    """The command that makes a snapshot."""
    st.caption("Run this where kubectl reaches the cluster; reading is all it needs. Then upload the file.")
    st.code(_SNAPSHOT_COMMAND, language="bash", wrap_lines=True)
    st.caption(
        "With metrics: kubectl get --raw /apis/metrics.k8s.io/v1beta1/pods. With logs: kubectl cluster-info dump "
        "--all-namespaces --output json --output-directory DIR, and headroom on the command line."
    )
