"""A workload is found by what people type, where that fits one only; a typo gets the nearest name."""

from __future__ import annotations

import pytest

from planner.ground.errors import InputError
from planner.kubernetes.workload_names import nearest, with_workload_keys, workload_key
from planner.questions.rollout import RolloutSettings
from planner.sources import demo

DEMO = demo.read()
LLM = "Deployment/prod/llm-serve"


@pytest.mark.parametrize(
    "name",
    [
        LLM, "deployment/prod/llm-serve", "deploy/prod/llm-serve", "deployments/prod/llm-serve", "deployments.apps/prod/llm-serve",
        "prod/llm-serve", "deployment/llm-serve", "deploy/llm-serve", "llm-serve", " llm-serve ",
    ],
)  # fmt: skip
def test_a_name_that_fits_one_workload_is_it(name: str) -> None:
    assert workload_key(DEMO, name) == LLM


def test_a_namespace_decides_between_namesakes() -> None:
    assert workload_key(DEMO, "api", ["dev"]) == "Deployment/dev/api"
    assert workload_key(DEMO, "deploy/api", ["prod"]) == "Deployment/prod/api"
    with pytest.raises(InputError, match=r'"api" may be Deployment/dev/api, Deployment/prod/api'):
        workload_key(DEMO, "api")


@pytest.mark.parametrize(
    "name", ["llm-srve", "prod/llm-srve", "deploy/prod/llm-serv", "statefulset/llm-serve", "LLM-Serve"]
)
def test_a_typo_gets_the_nearest_name(name: str) -> None:
    if name.count("/") == 2:  # a manifest may bring it: who plays it refuses it
        assert workload_key(DEMO, name) == "Deployment/prod/llm-serv"
        assert LLM in nearest(name, [one.key for one in DEMO.workloads])
    else:
        with pytest.raises(InputError, match=r"Did you mean .*llm-serve"):
            workload_key(DEMO, name)


def test_what_is_like_nothing_gets_the_form() -> None:
    with pytest.raises(InputError, match="Write kind/namespace/name, namespace/name"):
        workload_key(DEMO, "zzzz-qqqq")


def test_settings_have_keys_in_the_place_of_names() -> None:
    settings = with_workload_keys(RolloutSettings(workloads=("llm-serve",), also=("ml-worker",)), DEMO, ["prod"])
    assert settings.workloads == (LLM,)
    assert settings.also == ("Deployment/prod/ml-worker",)


@pytest.mark.parametrize("name", ["deploy/prod/new", " deployments.apps/prod/new ", "Deployment/prod/new"])
def test_what_only_a_manifest_has_is_called_as_the_manifest_calls_it(name: str) -> None:
    assert workload_key(DEMO, name) == "Deployment/prod/new"
    assert workload_key(DEMO, name, ["dev"]) == "Deployment/prod/new"  # -n is of names that say none
    assert workload_key(DEMO, "Widget/prod/new") == "Widget/prod/new"
