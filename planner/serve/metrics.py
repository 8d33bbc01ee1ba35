"""The metrics endpoint: the cluster's families, the snapshot's age, and the webhook's counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from planner.history.prediction_outcomes import Judgement
from planner.history.predictions import COUNTED_DAYS
from planner.inventory.tls_certificate_validity import Validity
from planner.serve.admission_review import WebhookReview
from planner.serve.connections import ENDS, Connections
from planner.serve.prediction_recorder import PredictionWatch
from planner.serve.snapshot_refresher import Keeper

PREFIX = "headroom"
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


Load = Callable[[], tuple[int, int]]
"""Requests of the last minute to a live cluster's API server, and the most there can be in one."""


class Metrics:
    """Everything under ``/metrics``; no series of it is named by who asks."""

    def __init__(
        self,
        keeper: Keeper,
        load: Load | None = None,
        certificate: Callable[[], Validity | None] = lambda: None,
        connections: Connections | None = None,
        predictions: PredictionWatch | None = None,
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        if predictions is not None:
            self._registry.register(_Predictions(predictions))
        self._registry.register(_Cluster(keeper, load, certificate))
        self._registry.register(_Connections(Connections() if connections is None else connections))
        self._reviews = Counter(
            f"{PREFIX}_reviews", "Writes that the API server asked about, by what was said.", ["said"], registry=self._registry
        )  # fmt: skip
        self._seconds = Histogram(
            f"{PREFIX}_review_seconds", "From a review's arrival to its answer.", buckets=_SECONDS, registry=self._registry
        )  # fmt: skip

    def count(self, outcome_label: str, seconds: float) -> None:
        """One review that was answered."""
        self._reviews.labels(outcome_label).inc()
        self._seconds.observe(seconds)

    def exposed(self, accept: str) -> tuple[bytes, str]:
        """The text, and its content type: OpenMetrics for who takes it."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type


def said_of(review: WebhookReview, *, is_denied: bool) -> str:
    """``warned``, ``denied``, or why nothing was said."""
    if review.silence is not None:
        return review.silence.value
    return "denied" if is_denied else "warned"


class _Predictions(Collector):
    def __init__(self, predictions: PredictionWatch) -> None:
        self._predictions = predictions

    def collect(self) -> Iterator[Metric]:
        counts = self._predictions.counts
        help_text = f"Predicted rollouts of the last {COUNTED_DAYS} days, by what the verdict was worth."
        family = GaugeMetricFamily(f"{PREFIX}_predictions", help_text, labels=["judgement"])
        for judgement in Judgement:
            family.add_metric([judgement.value], counts[judgement])
        yield family
        help_text = "Predictions and outcomes that weren't kept: too many at once, a full day, or a folder that can't be written."
        yield CounterMetricFamily(f"{PREFIX}_predictions_not_kept", help_text, value=self._predictions.not_kept)
        help_text = "Mistakes of Headroom's own while it followed rollouts."
        yield CounterMetricFamily(f"{PREFIX}_predictions_errors", help_text, value=self._predictions.errors)


class _Connections(Collector):
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def collect(self) -> Iterator[Metric]:
        help_text = "Connections to this server."
        yield GaugeMetricFamily(f"{PREFIX}_connections", help_text, value=len(self._connections))
        help_text = "Connections that ended before an answer: too slow, unreadable, broke off, or without room."
        ended = CounterMetricFamily(f"{PREFIX}_connections_ended", help_text, labels=["why"])
        for why in ENDS:
            ended.add_metric([why.replace(" ", "_")], self._connections.ended[why])
        yield ended


class _Cluster(Collector):
    def __init__(self, keeper: Keeper, load: Load | None, certificate: Callable[[], Validity | None]) -> None:
        self._keeper, self._load, self._certificate = keeper, load, certificate

    def collect(self) -> Iterator[Metric]:
        keeper, kept_state = self._keeper, self._keeper.kept
        failures = GaugeMetricFamily(
            f"{PREFIX}_listing_failures", "Listings of the cluster that failed since the start."
        )
        failures.add_metric([], keeper.failures)
        yield failures
        if (validity := self._certificate()) is not None:
            help_text = "When this server's own certificate expires, in seconds since the epoch."
            yield GaugeMetricFamily(f"{PREFIX}_certificate_expiry_timestamp_seconds", help_text, value=validity.ends_at)
        if self._load is not None:
            requests, most = self._load()
            help_text = "Requests to the API server in the last minute."
            yield GaugeMetricFamily(f"{PREFIX}_api_requests_per_minute", help_text, value=requests)
            help_text = "The most requests to the API server there are in any minute."
            yield GaugeMetricFamily(f"{PREFIX}_api_requests_per_minute_limit", help_text, value=most)
        age = keeper.age_seconds()
        if kept_state is None or age is None:
            return
        about = {
            "snapshot_age_seconds": ("How long ago the cluster was listed; answers are of then.", age),
            "snapshot_taken_timestamp_seconds": (
                "When the cluster was as it is known here.",
                kept_state.snapshot.taken_at,
            ),
            "listing_interval_seconds": ("The pause between two listings.", keeper.every_seconds),
            "snapshot_nodes": ("Nodes of the snapshot.", len(kept_state.snapshot.nodes)),
            "snapshot_pods": ("Pods of the snapshot.", len(kept_state.snapshot.pods)),
            "snapshot_problems": ("What could not be read of the cluster.", len(kept_state.snapshot.problems)),
        }
        for name, (help_text, number) in about.items():
            yield GaugeMetricFamily(f"{PREFIX}_{name}", help_text, value=number)
        left_out = GaugeMetricFamily(
            f"{PREFIX}_series_left_out", "Series beyond the bound of a family.", labels=["family"]
        )
        for family in kept_state.metrics.families if kept_state.metrics else ():
            gauge = GaugeMetricFamily(f"{PREFIX}_{family.name}", family.help, labels=family.labels)
            for names, number in family.samples:
                gauge.add_metric(names, number)
            yield gauge
            left_out.add_metric([family.name], family.left_out)
        yield left_out
