"""The page Clusters: each cluster, their sum, and where something would fit."""

from __future__ import annotations

from planner.ground import words
from planner.ground.errors import InputError
from planner.kubernetes.object_records import Snapshot
from planner.questions.fleet import QUESTION, FleetAnswer
from planner.questions.where import QUESTION as WHERE
from planner.questions.where import WhereAnswer, WhereSettings
from planner.rollout.answers import Verdict
from planner.sources import bounded_reading
from planner.ui import answer_view, history_store, link, session_cluster, uploads, verdict
from planner.ui.settings_form import SettingsForm

_MOST = 8


def clusters() -> tuple[Snapshot, ...]:
    """Those that are chosen: what this session has, and the store's; else the one that every page looks at."""
    stored_names = {f"{name} (store)": name for name in history_store.clusters()}
    names = [*session_cluster.names(), *stored_names]
    how = "More: give them by Another cluster, or start the dashboard with a store (HEADROOM_STORE)."
    chosen = link.choices(
        "Clusters", names, key="clusters", max_selections=_MOST, placeholder="this one alone", help=how
    )
    read = (
        history_store.latest(stored_names[name]) if name in stored_names else session_cluster.called(name)
        for name in chosen
    )
    return tuple(read) or (session_cluster.cluster(),)


def show(fleet: FleetAnswer) -> None:
    """The sentence, GPUs by model over all, each cluster, and what is in several."""
    stuck = sum(cluster.stuck for cluster in fleet.clusters)
    unknown = any(cluster.unknown or cluster.workloads is None for cluster in fleet.clusters)
    title = f"✓ Nothing is stuck in {words.count(len(fleet.clusters), 'cluster')}"
    if stuck:
        title = f"✗ {words.count(stuck, 'workload')} stuck in {words.count(len(fleet.clusters), 'cluster')}"
    elif unknown:
        title = "? Not known of all workloads whether they could be rolled out"
    verdict.box(title, fleet.sentence)
    answer_view.parts(QUESTION, fleet, "models", "clusters", *(["workloads"] if len(fleet.clusters) > 1 else []))


def manifest() -> str:
    """A manifest that was given, "" without; it stays in this session."""
    return uploads.ask(
        "Or a manifest, YAML or JSON", key="_where_manifest", types=["yaml", "yml", "json"], nothing="", most_mib=5,
        help="What kubectl apply -f would get, several files too. Not part of the link.",
        read=lambda files: "\n---\n".join(_text(name, content) for name, content in files),
    )  # fmt: skip


def _text(name: str, data: bytes) -> str:
    text = bounded_reading.text_of(data, name, fix="Save it as YAML in UTF-8")
    if not text.strip():
        raise InputError("it is empty", where=name, fix="Give what kubectl apply -f takes")
    return text


def wanted(widgets: SettingsForm[WhereSettings], text: str) -> WhereSettings:
    """What is to be placed: a manifest counts before a shape."""
    if not text:
        return widgets.settings()
    widgets.forget("shape", "replicas")
    return widgets.settings(manifest=text)


def where(rooms: WhereAnswer) -> None:
    """Each cluster's verdict, room and price, the best first."""
    fits = rooms.clusters[0].verdict is Verdict.COMPLETES
    unknown = all(cluster.verdict is Verdict.UNKNOWN for cluster in rooms.clusters)
    verdict.box("✓ It fits" if fits else "? Not known" if unknown else "✗ It fits nowhere", rooms.sentence)
    answer_view.table(WHERE, rooms, "clusters")
