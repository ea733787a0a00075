"""Passages that occur more than once."""

# mypy: implicit-reexport
# ruff: noqa: F401
# fmt: off

from neardup.corpus.repetition.cuts import CutRules, write_cut
from neardup.corpus.repetition.documents import document_table
from neardup.corpus.repetition.passages import length_of, passages_of, write_passages
from neardup.corpus.repetition.stream import ScannedParts, write_scan
from neardup.corpus.repetition.units import unit_of
from neardup.corpus.repetition.views import lines_of
