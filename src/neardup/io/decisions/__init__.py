"""The decisions of people about a result or a collection, in a log."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.decisions.log import Decided, DecisionLog, InForce, Logged, NOTE, TABLES, TAG, require_tag, seal
from neardup.io.decisions.records import (
    Action, Change, ChosenRepresentative, DecisionState, Fate, FateOf, Id, JudgedPair, Judgement, NO_DECISIONS,
    PairNote, Represents, TOGETHER, Tag, Verdict, pair_of,
)
from neardup.io.decisions.store import DecisionStore
from neardup.io.decisions.tag_files import DecisionRow, Imported, WITHDRAWN, read_pairs, read_rows
