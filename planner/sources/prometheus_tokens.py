"""How many tokens models served and in which pods, from vLLM's counters: `vllm:prompt_tokens_total`, `vllm:generation_tokens_total`, with
the label ``model_name`` (vllm `vllm/v1/metrics/loggers.py`), and the pod that Prometheus scraped as ``namespace`` and ``pod``."""

from __future__ import annotations

from typing import Final

from planner.ground.records import replace
from planner.inventory.token_use import TokenUse
from planner.sources.prometheus_usage import Prometheus, step_seconds

PROMPT, GENERATION = "vllm:prompt_tokens_total", "vllm:generation_tokens_total"
_DAY: Final = 86_400
_LEAST_STEP: Final = 300  # `increase` needs two scrapes within a step
_POINTS: Final = 200  # a request
_BY: Final = ("namespace", "pod", "exported_namespace", "exported_pod", "model_name")

Served = tuple[str, str, str]  # namespace, pod, model


def token_use(server: Prometheus, *, end: float, days: int) -> tuple[TokenUse, ...]:
    """What each model served in each pod in the `days` before `end`; nothing where the server has none of the counters.

    Raises
    ------
    InputError, SourceError
        As `Prometheus.query_range`.
    """
    asker = replace(server, bounds=replace(server.bounds, points_per_request=_POINTS))
    step = max(_LEAST_STEP, step_seconds(days))
    prompts, generated = (_by_step(asker, metric, end - days * _DAY, end, step) for metric in (PROMPT, GENERATION))
    token_uses = []
    for key in sorted(prompts.keys() | generated.keys()):
        read, written = prompts.get(key, {}), generated.get(key, {})
        steps = read.keys() | written.keys()
        busy = sum(read.get(at, 0.0) + written.get(at, 0.0) > 0 for at in steps)
        token_uses.append(
            TokenUse(
                namespace=key[0],
                pod=key[1],
                model=key[2],
                prompt_tokens=sum(read.values()),
                generation_tokens=sum(written.values()),
                seconds=float(len(steps) * step),
                busy_seconds=float(busy * step),
            )
        )
    return tuple(token_uses)


def _by_step(server: Prometheus, metric: str, start: float, end: float, step: int) -> dict[Served, dict[float, float]]:
    """Pod and model → end of each step → tokens in it; a counter that begins anew is no loss (`increase`)."""
    expression = f"sum by ({', '.join(_BY)}) (increase({metric}[{step}s]))"
    tokens_by_step: dict[Served, dict[float, float]] = {}
    for token_series in server.query_range(expression, start=min(start + step, end), end=end, step_seconds=step):
        is_renamed = "exported_pod" in token_series.labels  # a Prometheus that keeps its own labels
        namespace, pod = (
            token_series.labels.get(f"exported_{name}" if is_renamed else name, "") for name in ("namespace", "pod")
        )
        steps = tokens_by_step.setdefault((namespace, pod, token_series.labels.get("model_name", "")), {})
        for at, value in zip(token_series.times.tolist(), token_series.values.tolist(), strict=True):
            steps[at] = steps.get(at, 0.0) + max(0.0, value)
    return tokens_by_step
