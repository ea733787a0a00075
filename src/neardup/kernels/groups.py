"""Kernels of groups: connected components, and representatives."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.components import (
    Balls, Outlines, PrefixLists, best_of_tree, crowd_links, link_ends, unite, unite_by, unite_met,
)
from neardup.kernels.leaders import Groups, Links, OldDocuments, lead, no_groups
