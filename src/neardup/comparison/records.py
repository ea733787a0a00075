"""The records of a comparison: results, alignments, changes, and their document of Word."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.comparison.alignment import Alignment, LINE, NONE, breaks_of
from neardup.comparison.changes import TextChange, ChangedText, changes_of
from neardup.comparison.expressions import amount_of, day_of
from neardup.comparison.result import ComparisonRecord, make_alignment
from neardup.comparison.show.redline import redline
