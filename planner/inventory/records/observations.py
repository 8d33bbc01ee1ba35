"""Events and metrics: wire → record."""

from __future__ import annotations

import re

from planner.ground.vocabulary import DEFAULT_NAMESPACE
from planner.inventory import wire
from planner.inventory.masking import said
from planner.inventory.records.places import ByHand
from planner.inventory.records.shared import Shared, metadata_of
from planner.kubernetes import records as model

_NOBODY, _NO_SERIES, _NO_SOURCE = wire.ObjectReference(), wire.EventSeries(), wire.EventSource()
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_DURATION_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def read_event(shared: Shared, event: wire.Event) -> model.Event:
    """An Event of core/v1 or events.k8s.io/v1, which name the same things differently. What may be a secret in its message is hidden."""
    metadata = metadata_of(event)
    about = event.involved_object or event.regarding or _NOBODY
    series = event.series or _NO_SERIES
    source = event.source or event.deprecated_source or _NO_SOURCE
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
    )


def read_pod_metrics(shared: Shared, metrics: wire.PodMetrics) -> model.PodMetrics:
    """What metrics-server measured of a pod's containers."""
    metadata = metadata_of(metrics)
    containers = []
    for one in metrics.containers or ():
        usage = shared.amounts(one.usage)
        containers.append(
            model.ContainerMetrics(
                container=one.name, cpu_millicores=usage.get("cpu", 0), working_set_bytes=usage.get("memory", 0)
            )
        )
    return model.PodMetrics(
        namespace=shared.text(metadata.namespace or DEFAULT_NAMESPACE),
        name=metadata.name or "",
        taken_at=shared.seconds(metrics.timestamp),
        window_seconds=_duration_seconds(metrics.window),
        containers=tuple(containers),
    )


def _duration_seconds(text: str | None) -> float:
    """Go's ``time.Duration`` text (``"1m30s"``) in seconds; 0 when there is none."""
    return sum(float(number) * _DURATION_SECONDS[unit] for number, unit in _DURATION.findall(text or ""))


EVENT = ByHand(wire.Event, read_event)
POD_METRICS = ByHand(wire.PodMetrics, read_pod_metrics)
