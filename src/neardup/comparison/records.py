"""The records of a comparison: results and alignments."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.comparison.alignment import Alignment, LINE, NONE, breaks_of
from neardup.comparison.result import ComparisonRecord
