"""What a browser is told of a film: everything drawn is in the film, and nobody's name becomes markup."""

from __future__ import annotations

import json
import re

from planner.capacity.simulation_films import rollout_film
from planner.figures import film as drawing
from planner.figures import palette
from planner.ground.records import replace
from planner.inventory.change import WorkloadChange
from planner.remedies.rollout_with_remedies import rollout
from planner.rollout.film import Film
from planner.rollout.prepared_change import Scenario
from planner.sources import demo


def filmed(key: str, **change: int) -> Film:
    snapshot, scenario = demo.read(), Scenario(changes=(WorkloadChange(workload=key, **change),))  # type: ignore[arg-type]
    found = rollout_film(snapshot, scenario, rollout(snapshot, scenario).workloads[0])
    assert found is not None
    return found


def test_a_stuck_film_opens_at_the_deadlock_with_its_cycle() -> None:
    film = told = drawing.film_document(filmed("Deployment/prod/llm-serve"))
    assert told["start"] == len(film["frames"]) - 1
    assert (
        drawing.film_document(filmed("Deployment/prod/llm-serve"), plays=True)["start"] == 0
    )  # chosen by hand, it plays to there
    assert (film["is_cycle"], film["stuck"]) == (True, "Nothing moves any more.")
    assert film["cycle"][-1] == "old pods — are kept by → Deployment llm-serve"
    assert told["holders"][0]["name"] == "prod/llm-serve"


def test_the_budget_is_a_line_over_the_ready_pods_alone() -> None:
    told = drawing.film_document(filmed("Deployment/prod/ml-worker", max_surge=0, max_unavailable=3), budget=5)
    ready, held = told["tracks"]
    assert (ready["budget"], "budget" in held) == (5, False)
    assert all(len(track["values"]) == len(told["frames"]) for track in told["tracks"])
    assert all(block[0] < len(told["holders"]) for block in told["blocks"])
    colours = [one["colour"] for one in told["holders"]]
    assert len(set(colours)) == len(colours)
    assert set(colours) <= set(palette.CATEGORICAL)


def test_names_out_of_a_cluster_are_printable_and_only_text() -> None:
    film = filmed("Deployment/prod/llm-serve")
    hostile = replace(
        film, title="a\x1b[2J\n<img src=x>", nodes=tuple(replace(one, name=f"{one.name}\n<b>") for one in film.nodes)
    )
    told = json.dumps(drawing.film_document(hostile), ensure_ascii=False)
    assert "\x1b" not in told
    assert "\\u001b" not in told
    assert "\\n" not in told
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", drawing.file("film.js"))


def test_in_words() -> None:
    said = drawing.alt(filmed("Deployment/prod/llm-serve"))
    assert said.startswith(
        "Deployment/prod/llm-serve on 2 nodes, 2 steps: 2 of 2 Ready before; after 0 s nothing moves any more"
    )
    assert "old pods → Deployment llm-serve (are kept by)" in said


def test_a_workload_without_gpus_says_what_its_blocks_are() -> None:
    told = drawing.film_document(filmed("Deployment/prod/web"))
    assert told["more"] == "Its pods ask for no GPU: each block is a pod, others' aren't drawn."
