"""Kernels of repeated passages in one long stream of tokens."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.passages.repeats import common_prefixes, intervals
from neardup.kernels.passages.streams import (
    anchors, ascii_run_bytes, graphemes, mark, marked_windows, packed, range_bytes, token_bytes, token_stream,
    unpacked,
)
from neardup.kernels.passages.windows import (
    are_equal, are_equal_ranges, blocks, classes, first_of_each, range_hashes, window_hashes,
)
