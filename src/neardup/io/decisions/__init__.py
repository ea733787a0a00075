"""The decisions of people about a result or a collection, in a log."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.decisions.log import (
    BATCH, Decided, DecisionLog, HANDED, InForce, Logged, NOTE, SECOND, TABLES, TAG, require_tag, rows_of, seal,
    second_words,
)
from neardup.io.decisions.records import (
    Action, HandOver, Change, ChosenRepresentative, DecisionState, Fate, FateOf, HandedGroup, Id, JudgedPair,
    Judgement, NO_DECISIONS, PairNote, Represents, SecondLook, SecondReview, SecondVerdict, TOGETHER, Tag, Verdict,
    pair_of, sort_key,
)
from neardup.io.decisions.store import DecisionStore
from neardup.io.decisions.tag_files import DecisionRow, Imported, WITHDRAWN, read_pairs, read_rows
