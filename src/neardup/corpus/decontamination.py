"""Test items in training documents."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.corpus.contamination.contamination import (
    Contamination, ContaminationKeywords, rules_of, weigh_candidates,
)
from neardup.corpus.contamination.cuts import Cutter, MARKER, cut_rows, ids_of
from neardup.corpus.contamination.evidence import WindowCounts
from neardup.corpus.contamination.items import read_items
from neardup.corpus.contamination.matches import ItemSearch, MatchRules, Scanned, scan
from neardup.corpus.contamination.outputs import Action, CONTAMINATED_BY, TAG, require_action, write
from neardup.corpus.contamination.stream import TRAINED, TrainingScan, scan_training, stored_scan
from neardup.corpus.contamination.views import as_page, lines_of
