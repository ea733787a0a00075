"""The textbook tables of shingling and MinHash for a few small documents."""

# mypy: implicit-reexport
# ruff: noqa: F401
# fmt: off

from neardup.comparison.walkthrough.explanation import CHARACTERS, EXAMPLE, Explanation, explain, read_small
from neardup.comparison.walkthrough.matrices import Similarities, similarities
