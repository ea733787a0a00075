"""The textbook tables of shingling and MinHash for a few small documents."""

from neardup.comparison.walkthrough.explanation import CHARACTERS, EXAMPLE, Explanation, explain, read_small
from neardup.comparison.walkthrough.matrices import Similarities, similarities

__all__ = [
    "CHARACTERS",
    "EXAMPLE",
    "Explanation",
    "Similarities",
    "explain",
    "read_small",
    "similarities",
]
