"""The textbook tables of shingling and MinHash for a few small documents."""

from neardup.walkthrough.explanation import CHARACTERS, EXAMPLE, Explanation, explain, read_small

__all__ = ["CHARACTERS", "EXAMPLE", "Explanation", "explain", "read_small"]
