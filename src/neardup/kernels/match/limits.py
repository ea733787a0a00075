"""Work limits for matching two documents, and the notes for results that reached a limit."""

from __future__ import annotations

MOST_RUNS = 1 << 19
"""Common runs held at a time; with more, each window is paired only with nearby ones."""


MOST_STEPS = 600_000_000
"""The most steps of 64 tokens for one longest common subsequence."""


TILING_CAP = (
    "literal match: the same windows repeat so often that not every run was tried; the common text may be more"
)


LCS_CAP = "lcs: too long to be computed in full; counted along matching chunks in the same order, a lower bound"
