"""Reads Events and metrics into records."""

from __future__ import annotations

from planner.ground.well_known_names import DEFAULT_NAMESPACE
from planner.inventory import api_types
from planner.inventory.log_secret_masking import said
from planner.inventory.records.read_context import Shared, go_duration, metadata_of
from planner.inventory.records.record_layouts import ByHand, RecordLayout, at
from planner.kubernetes import object_records as model

_NOBODY, _NO_SERIES, _NO_SOURCE = api_types.ObjectReference(), api_types.EventSeries(), api_types.EventSource()


def read_event(shared: Shared, event: api_types.Event) -> model.Event:
    """An Event of core/v1 or events.k8s.io/v1, which name the same things differently. What may be a secret in its message is hidden."""
    metadata = metadata_of(event)
    about = event.involved_object or event.regarding or _NOBODY
    series = event.series or _NO_SERIES
    source = event.source or event.deprecated_source or _NO_SOURCE
    # A recorder of events.k8s.io/v1 sets eventTime and leaves the old timestamps null: without it, such an event has no age.
    first = event.first_timestamp or event.deprecated_first_timestamp or event.event_time
    last = event.last_timestamp or event.deprecated_last_timestamp or series.last_observed_time or event.event_time
    return model.Event(
        namespace=shared.text(metadata.namespace or about.namespace or DEFAULT_NAMESPACE),
        object_kind=shared.text(about.kind),
        object_name=about.name or "",
        object_uid=about.uid or "",
        kind=shared.text(event.type) or "Normal",
        reason=shared.text(event.reason),
        message=shared.text(said(event.message or event.note or "")),
        count=event.count or event.deprecated_count or series.count or 1,
        first_seen_at=shared.seconds(first or metadata.creation_timestamp),
        last_seen_at=shared.seconds(last or metadata.creation_timestamp),
        component=shared.text(source.component or event.reporting_component or event.reporting_controller),
        host=shared.text(source.host or event.reporting_instance),
    )


def _containers(shared: Shared, containers: list[api_types.ContainerUsage]) -> tuple[model.ContainerMetrics, ...]:
    usages = [(container.name, shared.amounts(container.usage)) for container in containers]
    return tuple(
        model.ContainerMetrics(
            container=name, cpu_millicores=usage.get("cpu", 0), working_set_bytes=usage.get("memory", 0)
        )
        for name, usage in usages
    )


EVENT = ByHand(api_types.Event, read_event)
POD_METRICS = RecordLayout(
    model.PodMetrics,
    taken_at="timestamp",
    window_seconds=at("window", str, lambda _, text: go_duration(text)),
    containers=at("containers", list[api_types.ContainerUsage], _containers),
)
"""What metrics-server measured of a pod's containers."""
