"""The record of tokens that a model served, with the pod that served them."""

from __future__ import annotations

from planner.ground.records import Record


class TokenUse(Record):
    """One model in one pod. `seconds`: for how long its counters were seen; `busy_seconds`: of these, in steps in which it served tokens."""

    namespace: str
    pod: str
    model: str
    prompt_tokens: float
    generation_tokens: float
    seconds: float
    busy_seconds: float
