"""How a node was bought, when a new one arrives, how far a pool grows, what a start takes, how use is read: one answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from planner.capacity import scale_up_simulation
from planner.capacity.node_pools import pools
from planner.capacity.strategy_prices import SETTINGS as STRATEGY_SETTINGS
from planner.cli import main
from planner.ground.records import replace
from planner.health.restarts.container_observations import Population, cases
from planner.health.restarts.report import restarts
from planner.kubernetes.node_properties import arrival_seconds
from planner.kubernetes.object_records import ContainerState, FrozenMap, Node, Pod, Snapshot
from planner.pricing.node_price import price_node
from planner.pricing.price_book import Provisioning
from planner.pricing.strategy_cost import SpareTerms
from planner.rollout.pod_durations import learn_pod_times
from planner.scheduling.cluster import Cluster
from planner.sources import demo
from planner.sources.prices import embedded_book
from planner.spot import savings_inputs as spot_inputs
from planner.spot.assumptions import SETTINGS, Assumptions
from planner.spot.suitability import Suitability, check_workload
from planner.spot.suitability_checks import Check
from planner.ui import pool_limit_inputs
from tests.pages.visiting import visit
from tests.spot import clusters

TWO_DAYS = 172_800.0
BOOK = embedded_book()


# ── a start ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def starts(*seconds: float, restarts: int = 0) -> Snapshot:
    """A workload whose pods became Ready (again) so long after they were placed, and whose container ran from 1,002."""
    of = clusters.workload(clusters.spec(clusters.container(image="registry.example/worker:1")))
    state = ContainerState(
        name="main", state="running", ready=True, started=True, started_at=1002.0, restart_count=restarts
    )
    pods = tuple(
        replace(clusters.pod(of, "node-1", name=f"p{i}", seconds=one), containers=(state,))
        for i, one in enumerate(seconds)
    )
    return replace(clusters.cluster(of, pods=pods), taken_at=1000.0 + 3 * TWO_DAYS)


def by_rollout(found: Snapshot) -> float | None:
    pace = learn_pod_times(found.workloads[0], found.pods, startup_seconds=None, termination_seconds=None)
    return None if pace.source == "default" else pace.startup_seconds


def by_savings(found: Snapshot) -> float | None:
    values: dict[str, float | None] = dict(spot_inputs.derive(found, BOOK, found.workloads[0].key).values)
    return values.get("pod_start_seconds")


def by_checklist(found: Snapshot) -> str:
    fit: Suitability = check_workload(found, found.workloads[0])
    return next(one.evidence for one in fit.checks if one.check is Check.START_UP)


def by_restarts(found: Snapshot) -> float | None:
    """What a broken one of the same program is told of those that work; counted from the container's start."""
    broken = replace(found.pods[0], name="broken", uid="broken", is_ready=False, ready_at=None)
    every = cases(replace(found, pods=(*found.pods, broken)))
    peers = Population(every).summary(next(one for one in every if one.pod.name == "broken"))
    return peers.startup_seconds if peers else None


def test_ready_again_two_days_later_is_no_start() -> None:
    found = starts(TWO_DAYS, TWO_DAYS)
    assert by_rollout(found) is None
    assert by_savings(found) is None
    assert "no time seen" in by_checklist(found).lower()
    assert by_restarts(found) is None


def test_those_that_tell_are_heard_beside_those_that_do_not() -> None:
    found = starts(20.0, 40.0, TWO_DAYS)
    assert by_rollout(found) == by_savings(found) == 30.0
    assert "30 s (median of its pods)" in by_checklist(found)
    assert by_restarts(found) == 38.0  # the slowest, from the container's start
    source = spot_inputs.derive(found, BOOK, found.workloads[0].key).sources["pod_start_seconds"]
    assert source == "learnt from 2 Ready pods: median"


def test_a_restart_hides_the_start() -> None:
    found = starts(20.0, restarts=1)
    assert (by_rollout(found), by_savings(found), by_restarts(found)) == (None, None, None)


# ── how a node was bought ────────────────────────────────────────────────────────────────────────────────────────────
BOUGHT = [
    ({}, "on-demand"),
    ({"cloud.google.com/gke-spot": "true"}, "spot"),
    ({"cloud.google.com/gke-preemptible": "true"}, "preemptible"),
    ({"cloud.google.com/gke-provisioning": "spot"}, "spot"),
    ({"cloud.google.com/gke-provisioning": "preemptible"}, "preemptible"),
    ({"cloud.google.com/gke-provisioning": "standard"}, "on-demand"),
    ({"cloud.google.com/gke-flex-start": "true"}, "flex-start"),
    ({"cloud.google.com/gke-flex-start": "true", "cloud.google.com/gke-spot": "true"}, "flex-start"),
    ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot"),
    ({"eks.amazonaws.com/capacityType": "ON_DEMAND"}, "on-demand"),
    ({"karpenter.sh/capacity-type": "spot"}, "spot"),
    ({"karpenter.sh/capacity-type": "on-demand"}, "on-demand"),
    ({"kubernetes.azure.com/scalesetpriority": "spot"}, "spot"),
    ({"kubernetes.azure.com/scalesetpriority": "Spot"}, "spot"),
]


@pytest.mark.parametrize(("labels", "bought"), BOUGHT, ids=str)
def test_every_place_reads_the_same_way_of_buying(labels: dict[str, str], bought: str) -> None:
    of, node = clusters.workload(), clusters.node(labels=labels)
    found = clusters.cluster(of, node)
    is_taken = bought in ("spot", "preemptible")
    assert price_node(BOOK, node).price.provisioning is Provisioning(bought)
    (pool,) = pools(Cluster(found), ())
    assert pool.provisioning == (bought,)
    derived = spot_inputs.derive(found, BOOK, of.key)
    assert derived.bought_as == bought
    assert derived.is_on_spot is is_taken
    placement = next(one for one in check_workload(found, of).checks if one.check is Check.PLACEMENT)
    assert ("run on spot nodes already" in placement.evidence) is is_taken
    assert told_as_spot(found, node) is is_taken


def told_as_spot(found: Snapshot, node: Node) -> bool:
    """Whether the cause of a restart says that the lost node was a spot node."""
    down = replace(node, conditions=FrozenMap({"Ready": "False"}))
    state = ContainerState(
        name="main", state="running", ready=True, started=True, started_at=1950.0, restart_count=3,
        last_state="terminated", last_reason="Unknown", last_exit_code=255, last_finished_at=1940.0,
    )  # fmt: skip
    pod: Pod = replace(found.pods[0], reason="NodeLost", containers=(state,))
    report = restarts(replace(found, nodes=(down,), pods=(pod,)))
    (loop,) = report.loops
    return any("spot or preemptible" in str(one) for one in loop.diagnosis.evidence)


# ── a node's arrival ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_node_arrives_in_one_time() -> None:
    assert arrival_seconds(has_gpus=True) == 300.0
    in_strategies = next(one.assumed for one in STRATEGY_SETTINGS if one.name == "node_start_seconds")
    in_savings = next(one.assumed for one in SETTINGS if one.name == "node_start_seconds")
    terms = SpareTerms(on_demand_usd_per_gpu_hour=None, spot_usd_per_gpu_hour=None, gpus_per_node=1)
    fields = Assumptions(nodes=1, needed_nodes=0, on_demand_usd_per_hour=1.0, spot_usd_per_hour=0.5)
    assert in_strategies == in_savings == terms.node_start_seconds == fields.node_start_seconds == 300.0


@pytest.mark.parametrize("has_gpus", [True, False])
def test_growth_and_savings_wait_as_long_for_the_same_node(has_gpus: bool) -> None:
    of, node = clusters.workload(), clusters.node()
    if not has_gpus:
        plain = FrozenMap({"cpu": 8000, "memory": 30 * 2**30, "pods": 110})
        node = replace(node, allocatable=plain, capacity=plain)
    found = clusters.cluster(of, node)
    (pool,) = pools(Cluster(found), ())
    wait = spot_inputs.derive(found, BOOK, of.key).values["node_start_seconds"]
    assert wait == scale_up_simulation.arrival_of(pool) == arrival_seconds(has_gpus=has_gpus)


# ── how far pools grow ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_demos_pools_end_where_its_file_says_for_page_and_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["capacity", "demo", "--output", "json"])
    document = json.loads(capsys.readouterr().out)
    command = {one["pool"]["name"]: one["pool"]["maximum"] for one in document["result"]["pools"]}
    page = {one.name: one.maximum for one in pool_limit_inputs.stated(demo.read())}
    assert command["gpu-a100"] == page["gpu-a100"] == 2
    assert {name: command[name] for name in page} == page


def test_another_cluster_of_that_name_gets_no_limits() -> None:
    assert pool_limit_inputs.stated(replace(demo.read(), digest="another")) == ()
    assert pool_limit_inputs.stated(replace(demo.read(), source="cluster.json")) == ()


# ── use over time ────────────────────────────────────────────────────────────────────────────────────────────────────
@contextmanager
def recording() -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """A server that knows nothing, and the (step, stretch) in seconds it was asked for."""
    asked: list[tuple[float, float]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(self.path.partition("?")[2])

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def answer(self, query: str) -> None:
            given = parse_qs(query)
            if "step" in given:
                asked.append((float(given["step"][0]), float(given["end"][0]) - float(given["start"][0])))
            body = b'{"status":"success","data":{"resultType":"matrix","result":[]}}'
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(("days", "step"), [(3, 600), (7, 900)])
def test_page_and_command_ask_prometheus_in_the_same_steps(
    days: int, step: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with recording() as (address, by_command), pytest.raises(SystemExit):
        main(["restarts", "demo", "--prometheus", address, "--days", str(days)])
    capsys.readouterr()
    with recording() as (address, by_page):
        app: AppTest = visit("restarts")
        app.text_input(key="_prometheus_url").set_value(address)
        app.selectbox(key="_prometheus_days").set_value(days)
        next(one for one in app.button if one.label == "Read").click().run()
    assert by_command
    assert {one for one, _ in by_command} == {one for one, _ in by_page} == {step}
    assert max(length for _, length in by_command) == max(length for _, length in by_page)
