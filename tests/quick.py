"""What `make test` leaves to `make test-all`, and of what it takes a tenth: ``pytest --quick``. Without it everything runs.

What protects a user in process is in `make test`. Left to `make test-all` is what starts browsers, servers and processes again and
again, beside one smoke of each (`SMOKE`), and what holds the project's own documents, packages and benches.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

VARIABLE: Final = "HEADROOM_QUICK"  # set by ``pytest --quick``, and so in the processes that share a run
SHARE: Final = 10  # one seed, one example in ten

LATER: Final = (
    "tests/conformance/test_certificate.py::test_no_way_out_of_the_list_is_better[concur-007]",
    "tests/conformance/test_certificate.py::test_plans_are_found_for_what_got_stuck",
    "tests/architecture",  # `make check` asks the house; here are documents and what commands load
    "tests/bench",
    "tests/browser",
    "tests/cli",  # what commands answer is asked in tests/questions; each runs once, and what costs little does (`SMOKE`)
    "tests/collection",
    "tests/compatibility",
    "tests/deploy",
    "tests/fuzz",
    "tests/packaging",
    "tests/pages",  # each page is opened once in a browser (`SMOKE`)
    "tests/inventory/test_sight.py",  # no text of another team in any answer: every question again, for four readers
    "tests/processes/test_sweep.py",
    "tests/properties/test_room.py",
    "tests/ground/test_typed.py::test_nobody_passes_the_door_by",  # the whole source is read
    "tests/history/test_trend.py::test_where_there_is_one_it_is_found[90]",
    "tests/inventory/test_api_fields.py::test_the_table_is_made_from_the_schemas",
    "tests/pricing/test_other_clouds.py::test_fifteen_slips_of_azures_list_are_refused_and_nothing_else_is",
    "tests/properties/test_ways_out.py::test_of_what_was_recorded",
    "tests/questions/test_crowded.py::test_thousands_have_separators[_rest]",
    "tests/questions/test_crowded.py::test_thousands_have_separators[_rollout]",
    "tests/questions/test_doors_of_money.py::test_a_workload_is_told_the_same_by_every_door[42 copies]",
    "tests/questions/test_doors_of_money.py::test_what_a_workload_saves_is_one_figure_in_the_list_and_on_its_page[42 copies]",
    "tests/questions/test_manifests_of_kinds.py::test_a_field_that_nobody_read_makes_it_not_known",
    "tests/questions/test_nodes_without_a_price.py::test_the_command_named_runs_as_it_is_printed",
    "tests/questions/test_plan.py::test_every_rollout_keeps_the_share_that_is_asked_for",
    "tests/questions/test_plan.py::test_in_a_large_cluster_who_lends_is_found_all_the_same",
    "tests/questions/test_plan.py::test_no_more_nodes_than_the_budget_has[0-17]",
    "tests/questions/test_plan.py::test_no_more_nodes_than_the_budget_has[2-19]",
    "tests/questions/test_plan.py::test_the_plan_is_never_worse_than_the_certificate",
    "tests/questions/test_plan.py::test_what_was_looked_for_in_vain_is_not_looked_for_again_and_nothing_else_changes",
    "tests/questions/test_strategy_costs.py::test_who_may_preempt_has_the_place_of_others",
    "tests/remedies/test_doors.py::test_a_contradiction_is_seen",
    "tests/remedies/test_doors.py::test_a_large_cluster",
    "tests/remedies/test_doors.py::test_nine_nodes_of_one_gpu[8]",
    "tests/remedies/test_doors.py::test_nine_nodes_of_one_gpu[9]",
    "tests/remedies/test_doors.py::test_the_demo",
    "tests/remedies/test_limits.py::test_as_many_nodes_as_pods_are_looked_at_at_every_door[12]",
    "tests/remedies/test_limits.py::test_as_many_nodes_as_pods_are_looked_at_at_every_door[8]",
    "tests/remedies/test_limits.py::test_as_many_nodes_as_pods_are_looked_at_at_every_door[9]",
    "tests/remedies/test_price.py::test_ways_out_and_all_plans_agree",
    "tests/remedies/test_price.py::test_one_node_for_one_rollout_has_one_price_everywhere",
    "tests/remedies/test_room_without_cluster.py::test_more_workloads_at_once_than_are_played_are_told_each_alone",
    "tests/remedies/test_room_without_cluster.py::test_the_gate_passes_on_a_cluster_with_that_room_and_not_with_one_place_less[host port]",
    "tests/remedies/test_scripts_carried_out.py::test_the_order_that_was_stuck_in_its_third_turn_is_not_printed_any_more",
    "tests/rules/test_growth_at_every_door.py::test_nodes_on_their_way_are_known_to_come[static, tainted]",
    "tests/cli/test_python.py::test_the_notebook_runs",
    "tests/ui/test_pool.py::test_a_process_that_dies_while_it_is_made_ready_costs_nobody_an_answer",
    "tests/ui/test_pool.py::test_a_process_that_has_grown_gives_way",
    "tests/ui/test_pool.py::test_each_idle_process_that_lacks_a_snapshot_gets_it",
    "tests/ui/test_pool.py::test_processes_may_be_started_before_they_are_asked",
    "tests/sources/test_store.py::test_a_store_that_does_not_answer_is_said",
    "tests/reference/test_reference.py::test_every_recorded_verdict_beside_a_silent_node_is_the_references_too",
    "tests/reference/test_reference.py::test_every_recorded_verdict_with_volumes_is_the_references_too",
    "tests/capacity/test_certificate.py::test_the_cases_have_something_to_find",  # of whole inputs: what is asked of them stays
    "tests/rules/test_every_sentence.py",  # each command on three clusters and on broken input
    "tests/rules/test_every_rule.py",  # this file and what is next read the source: no user's input goes through them
    "tests/rules/test_vocabulary.py",
    "tests/rules/test_sentences.py::test_no_text_of_the_code_is_a_riddle",
    "tests/rules/test_half_inputs.py",
    "tests/rules/test_free.py::test_pages_say_it_too",
    "tests/rules/test_node_side_at_every_door.py::test_its_page_says_the_same",
    "tests/rules/test_sentences.py::test_boxes_of_a_page_are_plain",
    "tests/rules/test_volumes_at_every_door.py::test_pages",
    "tests/rules/test_one_number.py",  # one figure at every page and command: the pages again
    "tests/rules/test_two_doors.py",
    "tests/serve/test_connections.py",
    "tests/serve/test_serve.py",
    "tests/sources/test_live.py",
    "tests/sources/test_prometheus.py",
    "tests/sources/test_prometheus_nodes_and_gpus.py",
    "tests/spot/test_replay.py::test_lives_agree_with_minutes[24 hours at most]",
    "tests/spot/test_replay.py::test_lives_agree_with_minutes[jobs, waiting]",
    "tests/spot/test_replay.py::test_lives_agree_with_minutes[serving]",
    "tests/spot/test_replay.py::test_lives_agree_with_minutes[long gaps]",
    "tests/spot/test_replay.py::test_lives_agree_with_minutes[never any spot]",
    "tests/spot/test_replay.py::test_lives_agree_with_minutes[retries run out]",
    "tests/trust",
)
"""Folders, files and tests that only `make test-all` runs."""

SMOKE: Final = (
    "tests/browser/test_every_page.py::test_a_page_of_the_demo_begins_with_its_verdict_and_is_two_screens_high[-1360-900-",
    "tests/cli/test_costs_command.py",
    "tests/cli/test_deploy_timeouts.py",
    "tests/cli/test_each_command.py",
    "tests/cli/test_gate_without_cluster.py",
    "tests/cli/test_grouped.py",
    "tests/cli/test_history_commands.py",
    "tests/cli/test_memory_command.py",
    "tests/cli/test_options_that_need_another.py",
    "tests/cli/test_prices_command.py",
    "tests/cli/test_python.py",
    "tests/cli/test_rollout_command.py",
    "tests/cli/test_wrong_names.py",
    "tests/cli/test_mcp.py::test_an_answer_is_",
    "tests/fuzz/test_fuzz.py::test_whatever_comes_in_is_handled[0]",
    "tests/serve/test_serve.py::test_recorded_reviews_get_an_answer_over_tls",
    "tests/sources/test_live.py::test_what_changes_is_followed_without_listing_anew",
)
"""Tests of those that `make test` runs all the same, by the beginnings of their names; of a test with cases, what stands in the case's."""


def is_quick() -> bool:
    return os.environ.get(VARIABLE) == "1"


def seeds(number: int, *, share: int = SHARE) -> range:
    """So many; one in ten of them in a quick run, one in `share` where what is looked for is rare. They are the same in every run."""
    return range(0, number, share) if is_quick() else range(number)


def examples(number: int) -> int:
    """How many hypothesis draws of so many."""
    return max(3, number // SHARE) if is_quick() else number


def floor(number: int) -> int:
    """How many of its cases a test that takes `seeds` must have seen at least, where it sees so many in a whole run: a quick one
    sees one in ten on average, and half of that is enough."""
    return max(1, number // (2 * SHARE)) if is_quick() else number


def sample(cases: Sequence[T]) -> Sequence[T]:
    return cases[::SHARE] if is_quick() else cases


def is_later(path: Path, root: Path) -> bool:
    """Whether a quick run collects nothing of the file."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    is_left = any(name == one or name.startswith(f"{one}/") for one in LATER)
    is_smoked = any(one == name or one.startswith((f"{name}/", f"{name}::")) for one in SMOKE)
    return is_left and not is_smoked


def is_left_out(node: str) -> bool:
    """Whether a quick run leaves out this test of a file that it collects."""
    is_left = any(node.startswith((f"{one}/", f"{one}::", f"{one}[")) or node == one for one in LATER)
    return is_left and not any(is_picked(one, node) for one in SMOKE)


def is_picked(smoke: str, node: str) -> bool:
    test, _, case = smoke.partition("[")
    return node.startswith(test) and case in node


def picking_nothing(nodes: Sequence[str]) -> list[str]:
    """What `SMOKE` names of the files of these tests, and none of them is called."""
    files = {node.partition("::")[0] for node in nodes}
    named = (one for one in SMOKE if files & {one.partition("::")[0]})
    return [one for one in named if not any(is_picked(one, node) for node in nodes)]
