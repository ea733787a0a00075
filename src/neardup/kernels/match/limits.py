"""How much work the matching of two documents may be, and how it is reported that it would have been more."""

from __future__ import annotations

MOST_RUNS = 1 << 19
"""Common runs that are held at a time; with more, each window is paired with near ones only."""


MOST_STEPS = 600_000_000
"""Steps of 64 tokens that a longest common subsequence may take."""


TILING_CAP = (
    "literal match: the same windows repeat so often that not every run was tried; the common text may be more"
)


LCS_CAP = "lcs: too long to be computed in full; counted along matching chunks in the same order, a lower bound"
