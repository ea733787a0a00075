"""Kernels of the text that two documents have in common."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.match.alignment import heaviest_chain, words_between
from neardup.kernels.match.chunks import (
    Counting, INFORMATION, IN_ORDER, LITERAL, MEASURED, WorkLimits, common_text, count_chunks, cover_both,
    name_tokens, redundant_both, same, stands_first, tile_both, window_names,
)
from neardup.kernels.match.lcs import chain_length, common_in_order, longest_run
from neardup.kernels.match.passages import passages as common_passages
from neardup.kernels.match.runs import longest_runs
from neardup.kernels.match.tiling import LCS_CAP, MOST_RUNS, MOST_STEPS, TILING_CAP, matchable
