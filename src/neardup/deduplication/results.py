"""Results: pairs, groups, decisions, and the account of a run."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.run.account import (
    ConfigAccount, DecisionAccount, DecisionsAccount, LostMost, RunAccount,
)
from neardup.deduplication.run.fates import require_rows, stream
from neardup.deduplication.run.findings import Found, load, write_result
from neardup.deduplication.run.found_view import words_of
from neardup.deduplication.run.graph import around, edges_of, edges_of_members
from neardup.deduplication.run.kinds import KIND
from neardup.deduplication.run.lost_text import COLUMNS, lost_beside, lost_in_words, of_member
from neardup.deduplication.run.records import (
    Group, Id, Looked, Places, ResultRecord, SHINGLES, Shared, Texts, with_account,
)
from neardup.deduplication.run.regroup import outcomes
from neardup.deduplication.run.result_folder import require_result
from neardup.deduplication.run.show import classes_of_copies, group_lines, summary, unit_of
from neardup.deduplication.run.sides import OLD, with_side_names
from neardup.deduplication.run.tables import COUNTS, MEASURED, copy_table, pair_table
