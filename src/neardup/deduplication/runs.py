"""Runs: their inputs, stages, journals and output folders."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.run.asked_columns import asked_columns, check_columns, reference_of, relations_of
from neardup.deduplication.run.by_value import by_lines, by_value, with_values
from neardup.deduplication.run.find import find, journal_facts, open_journal, run
from neardup.deduplication.run.pipeline import Meter, Pipeline, Stage
from neardup.deduplication.run.predict import RunCost, predict
from neardup.deduplication.run.save import RowFiles, check_before, fill, fill_final, final_result
from neardup.deduplication.run.stages.account import require_most_removed
from neardup.deduplication.run.stages.groups import (
    FATES, copies, group, group_rules, leader_distances, member_table, pairs_of_leaders, reported_pairs,
)
from neardup.deduplication.run.stages.records import Action, Inputs, MemberTable, ShinglePairs
from neardup.deduplication.run.stages.result import GroupMember, LargeGroup, Outcome, largest_groups
from neardup.deduplication.run.top_pairs import lines_of, top_of, wanted_of
