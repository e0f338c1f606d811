"""Which of the tests `make test`, `make long` and `make every` run.

The rule: of test functions whose cases are dear `make test` runs the first cases, and
`make long` the others; of the largest matrices that runs a fixed draw, and `make every`
all of it.
"""

import os
import zlib
from collections import Counter

import pytest

QUICK = {
    "test_32_killed_while_the_key_is_rotated": 2,
    "test_a_bad_header_is_refused": 1,
    "test_a_case_passes": 6,
    "test_a_cell_that_runs_too_early_says_what_is_missing": 1,
    "test_a_change_is_there_in_another_process": 6,
    "test_a_dash_prints_the_report_alone": 0,
    "test_a_kernel_that_ends_around_a_call": 4,
    "test_a_kernel_that_ends_there": 8,
    "test_a_kill_around_the_intent": 1,
    "test_a_kill_during_the_first_claim": 1,
    "test_a_killed_kernel_is_one_and_the_next_run_replays": 0,
    "test_a_lesson_shows_its_point": 1,
    "test_a_migration_that_is_cut_off_anywhere_is_finished_later": 6,
    "test_a_notebook_of_200_cells": 0,
    "test_a_page_is_true": 2,
    "test_a_plain_cell_that_fails_is_one": 0,
    "test_a_plain_step_runs_again": 1,
    "test_a_recipe_over_files_is_stale_when_they_change": 0,
    "test_a_record_that_stands_is_a_commit": 1,
    "test_a_recovery_that_is_killed_as_well": 1,
    "test_a_second_kernel_takes_over": 0,
    "test_a_step_that_was_seen_and_killed_is_in_doubt": 5,
    "test_a_step_with_effects_is_in_doubt": 1,
    "test_a_stopped_command_ends_its_kernel_and_is_one": 0,
    "test_a_store_in_the_clear_is_refused_when_it_has_to_be_encrypted": 0,
    "test_a_team_changes_its_key": 0,
    "test_an_always_step_runs_again": 1,
    "test_an_encrypted_kernel_that_ends_there": 6,
    "test_an_export_is_killed": 3,
    "test_an_import_is_killed": 3,
    "test_an_interrupt_during_the_commit": 1,
    "test_both_see_one_run": 0,
    "test_cells_of_the_same_ids_are_no_way_in": 1,
    "test_cut_off_nothing_is_lost_and_nothing_looks_committed": 6,
    "test_encrypted_stores_with_a_key_each": 1,
    "test_every_step_comes_back": 8,
    "test_it_dies_while_a_step_runs": 0,
    "test_killed_in_the_call_it_is_in_doubt": 1,
    "test_killed_in_the_middle_it_goes_on": 0,
    "test_killed_outside_of_the_call_it_runs_again": 1,
    "test_ones_own_run_is_told": 1,
    "test_servers_of_their_own": 0,
    "test_some_edits_of_some_notebooks": 1,
    "test_the_manual_is_built_and_its_links_lead_somewhere": 0,
    "test_the_strict_policy": 0,
    "test_two_windows": 0,
    "test_what_cannot_be_decided_is_refused": 4,
    "test_who_has_the_team_key_trusts_what_the_team_wrote": 0,
    "test_workers_write_and_whoever_needs_a_chunk_reads_it": 0,
}
"""Test whose cases start processes each → how many of the first ones are no long ones.

`make test` takes about ten minutes by it; `make long` runs the others, all of them.
"""
DRAWN = {
    "test_28_stopped_while_another_takes_over": 6,
    "test_27_killed_while_a_person_decides": 3,
    "test_32_killed_while_the_key_is_rotated": 6,
    "test_a_device_that_fails_there": 3,
    "test_a_kernel_that_ends_around_a_call": 2,
    "test_a_kernel_that_ends_in_a_loop": 3,
    "test_a_kernel_that_ends_there": 3,
    "test_a_store_whose_reply_is_lost": 2,
    "test_an_encrypted_kernel_that_ends_there": 8,
    "test_cut_off_nothing_is_lost_and_nothing_looks_committed": 3,
    "test_edits_of_every_notebook_without_headers": 5,
    "test_every_edit_of_every_notebook": 5,
    "test_no_power_cut_loses_anything": 12,
}
"""Long test → one of so many of its cases is run, the same ones each time."""
BY_HAND = {
    "test_a_hundred_thousand_names_come_back",
    # `make test` runs the same with fewer values, and fewer kills
    "test_many_commits_come_back_at_every_step",
    "test_an_export_is_killed_everywhere",
    "test_an_import_is_killed_everywhere",
    "test_a_loop_that_is_killed_twenty_times",
    # `make demo` and `make long` run what they run
    "test_killed_pipeline_goes_on_and_ends_with_equal_results",
    "test_soak_judges_a_round",
}
"""Long tests that `make every` alone runs."""
BROWSED = 3
"""One of so many long tests in a browser …"""
ALWAYS = {
    "test_both_see_one_run",
    "test_it_dies_while_a_step_runs[server]",
    "test_two_windows",
}
"""… and these cases, which `make test` has no time for."""
EVERY = bool(os.environ.get("EVERY_CASE"))


def mark_long(items) -> None:
    """Make the cases long ones that `make test` has no time for."""
    seen = Counter[str]()
    for item in items:
        if not item.get_closest_marker("long"):
            name = item.originalname
            seen[name] += 1
            if seen[name] > QUICK.get(name, seen[name]):
                item.add_marker(pytest.mark.long)


def is_drawn(item) -> bool:
    """Say whether `make long` runs this long case."""
    name = item.originalname
    if name in BY_HAND:
        return False
    if item.name in ALWAYS:
        return True
    is_browsed = item.path.parent.name == "browser"
    among = BROWSED if is_browsed else DRAWN.get(name, 1)
    return zlib.crc32(item.name.encode()) % among == 0
