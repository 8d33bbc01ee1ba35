"""The questions that Headroom answers, one module each, and what they share. `INDEX` lists them.

Each has a record of settings (declared once, `planner.ground.setting_declarations`), ``answer(snapshot, settings, given)``, and a
`QUESTION` that holds them together with what is shown of the answer (`question`, `answer_layout`). `pool_limit_settings` are settings that
several share, `display_filter` what of an answer is listed. What computes stands in the rooms behind the hall.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from planner.ground.records import Record

WORKING: Final = "It is worked out"


class QuestionEntry(Record, kw_only=False):
    """A question as it is found: by the help, the README, pages that wait for it, and stores.

    Attributes
    ----------
    where : the module of this package and the `Question` in it, where that isn't called ``QUESTION``; loaded when it is asked
    room, line : of the help and the README, what it answers; without a room it has no command
    called : how its command is called where it stands within another one: that one, and the options that ask for it instead
    named : its command, where that isn't called as the question is
    doing : what is being done while a user waits
    tool : of which tool for agents it is an action; "" where it needs more than a snapshot and settings
    is_recorded : it needs no settings, and is asked of every snapshot that a store keeps
    """

    where: str
    room: str = ""
    line: str = ""
    called: str = ""
    named: str = ""
    doing: str = WORKING
    is_recorded: bool = False
    tool: str = ""


NOW: Final = "Now"
ROLLOUTS: Final = "Rollouts"
CAPACITY: Final = "Capacity"
HEALTH: Final = "Health"
MONEY: Final = "Money"
OVER_TIME: Final = "Over time"
SETUP: Final = "Setup and operation"

INDEX: Final[Mapping[str, QuestionEntry]] = {
    "rollout": QuestionEntry("rollout", ROLLOUTS, "Will this rollout finish? Why not, what would help, and what if others act meanwhile?",
            doing="The rollout is played, other placements are tried, ways out looked for", tool="rollout"),
    "gate": QuestionEntry("gate", ROLLOUTS, "May this change be merged? Manifests against a policy, for pipelines.", tool="rollout"),
    "report": QuestionEntry("report", OVER_TIME, "The capacity review as one file: HTML that works offline, Markdown, CSV, JSON."),
    "diff": QuestionEntry("diff", OVER_TIME, "What differs between two snapshots, or after a what-if.",
            doing="Both clusters are answered for and compared", tool="overview"),
    "plan": QuestionEntry("plan", ROLLOUTS, "The smallest set of changes after which every workload can roll out, in order, with cost.",
            "overview --plan", tool="overview"),
    "peak": QuestionEntry("peak", ROLLOUTS, "Rollouts at their autoscaler's maximum: those that complete, those with fewer pods only.",
            "rollout --peak", doing="Every rollout is played at its autoscaler's highest replicas", tool="rollout"),
    "overview": QuestionEntry("overview", NOW, "Would each workload's rollout finish if it changed now? GPUs by model.",
            doing="Every workload's rollout is played", is_recorded=True, tool="overview"),
    "in_flight": QuestionEntry("in_flight", ROLLOUTS, "Which rollouts are under way, since when; which make no progress.",
            "rollout --in-flight", tool="rollout"),
    "review": QuestionEntry("review", OVER_TIME, "Look back: past rollouts, which hung, how long, why, and how it ended.", tool="overview"),
    "strategies": QuestionEntry("strategies", line="The update strategies that no other beats, and the recommended one.", tool="rollout"),
    "strategy_costs": QuestionEntry("strategy_costs", line="What each strategy costs a month in spare GPUs.",
            doing="Strategies are priced", tool="rollout"),
    "certificate": QuestionEntry("certificate", line="All plans within the given levers that no other beats, or the proof of none.",
            doing="All plans within the levers are looked at", tool="rollout"),
    "capacity": QuestionEntry("capacity", CAPACITY, "Free capacity: what still fits, where, and what is stranded.",
            doing="What still fits is counted", is_recorded=True, tool="capacity"),
    "seats": QuestionEntry("seats", CAPACITY, "Each GPU of each node: the pod on it, or the workload with a next pod for it.",
            "capacity --seats", is_recorded=True, tool="capacity"),
    "queues": QuestionEntry("queues", CAPACITY, "Kueue: why each workload is pending, what would admit it, and the effect of moving quota.",
            "capacity --queues", doing="Kueue's cycles are played", tool="capacity"),
    "what_if": QuestionEntry("what_if", CAPACITY, "The same answers after nodes are added, drained, lost, upgraded or tainted.",
            "capacity --change", doing="The cluster is changed, and everything is answered for it again", tool="capacity"),
    "make_room": QuestionEntry("make_room", CAPACITY, "Which pods must move so that pending pods can start.",
            doing="The fewest moves are looked for, and played", tool="capacity"),
    "survive": QuestionEntry("survive", CAPACITY, "What breaks if a node, zone or rack fails, and the spare capacity that prevents it.",
            doing="Every loss is played", tool="survive"),
    "costs": QuestionEntry("costs", MONEY, "What the cluster costs a month, by pool, and what of it is idle.",
            doing="Nodes are priced, and the bill is shared out", is_recorded=True, tool="costs"),
    "idle": QuestionEntry("idle", MONEY, "GPUs that pods reserve but don't use: owner, since when, cost.",
            "costs --idle"),
    "savings": QuestionEntry("savings", MONEY, "Is a workload fit for spot, and what would it really save?",
            named="spot", doing="Months on spot are played", is_recorded=True, tool="costs"),
    "memory": QuestionEntry("memory", HEALTH, "Which pods are evicted or OOM-killed first, their cgroup settings, and the effect of a change.",
            doing="Who goes first is worked out for every node", is_recorded=True, tool="health"),
    "memory_what_if": QuestionEntry("memory.WHAT_IF", line="What another memory request or limit of one container would change.", tool="health"),
    "restarts": QuestionEntry("restarts", HEALTH, "Pods that restart or don't start: cause, noise, and the fix.",
            doing="What restarts is explained, and cures are put to the engine", is_recorded=True, tool="health"),
    "drift": QuestionEntry("drift", HEALTH, "The same service in several namespaces or clusters, side by side.",
            "diff --between",
            doing="Environments are compared", is_recorded=True, tool="health"),
    "findings": QuestionEntry("findings", NOW, "What is worth a person's attention, from every room that looks for it.",
            "overview --findings", is_recorded=True, tool="overview"),
    "doctor": QuestionEntry("doctor", SETUP, "What can be read, what is missing, what that costs, and the rights to add.", tool="overview"),
    "fleet": QuestionEntry("fleet", CAPACITY, "Several clusters side by side: GPUs by model, what is stuck, the same workload.",
            doing="Each cluster is answered for", tool="capacity"),
    "where": QuestionEntry("where", CAPACITY, "Where would this fit? A shape or a manifest against several clusters.",
            "fleet --shape --filename -f", doing="It is placed in each cluster", tool="capacity"),
    "trends": QuestionEntry("trends", OVER_TIME, "GPUs, cost and verdicts over time; since when, and when GPUs are full.",
            "store trends", doing="The store's snapshots are read day by day"),
    "commitments": QuestionEntry("commitments", OVER_TIME, "What 1- and 3-year commitments would have saved, and what they risk.",
            "store commitments", doing="Levels of commitments are tried on the use that was"),
}  # fmt: skip
"""Name → the question, in the order of the help."""


def question_called(name: str) -> Any:
    """The `planner.questions.question.Question` of that name."""
    module, _, attribute = INDEX[name].where.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), attribute or "QUESTION")
