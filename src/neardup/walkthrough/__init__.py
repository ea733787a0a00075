"""The textbook tables of shingling and MinHash for a few small documents."""

from neardup.walkthrough.explanation import CHARACTERS, EXAMPLE, explain, read_small
from neardup.walkthrough.record import Explanation

__all__ = ["CHARACTERS", "EXAMPLE", "Explanation", "explain", "read_small"]
