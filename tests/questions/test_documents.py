import json

from planner.inventory.change import WorkloadChange
from planner.kubernetes.records import FrozenMap
from planner.questions.documents import plain, rollout_document
from planner.questions.prepared import Scenario
from planner.rollout.answers import Reason, RolloutResult, Verdict
from tests.figures import answers


def test_rollout_document_has_its_version_and_is_json() -> None:
    one = answers.stuck()
    result = RolloutResult(
        verdict=Verdict.STUCK,
        reason=Reason.HOLD_AND_WAIT,
        sentence=one.sentence,
        workloads=(one,),
        ticks=1,
        seconds=0.0,
        peak_held=FrozenMap({answers.GPU: 6}),
        capacity=FrozenMap({answers.GPU: 9}),
        pending=(),
        timeline=one.timeline,
        placement=(("ml", "worker-0", "node-0"),),
    )
    scenario = Scenario(changes=(WorkloadChange(workload=answers.WORKER, max_surge="25%"),))
    document = json.loads(json.dumps(rollout_document(result, scenario=scenario, digest="d", source="s")))
    assert document["format"] == "headroom.rollout/v1"
    assert document["cluster"] == {"source": "s", "digest": "d"}
    assert document["scenario"]["changes"][0]["max_surge"] == "25%"
    assert document["result"]["verdict"] == "stuck"
    assert document["result"]["peak_held"] == {answers.GPU: 6}
    assert document["result"]["workloads"][0]["timeline"][1]["counts"] == {"old_ready": 6, "pending": 2}
    assert document["result"]["placement"] == [["ml", "worker-0", "node-0"]]


def test_plain_leaves_plain_values_alone() -> None:
    assert plain([1, 1.5, "a", None, True]) == [1, 1.5, "a", None, True]
