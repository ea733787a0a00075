"""Kernels of joins: the prefix index, and the pairs that meet in it."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.kernels.join.audit import DrawnDocuments, count_all, partners
from neardup.kernels.join.cover_prefixes import Requirements, cover_prefixes as covering_prefixes, meeting_pairs
from neardup.kernels.join.met_pairs import (
    Searched, fill_frequent, fill_may_lack, fill_rest, met_pairs as joined_pairs, unique_in_range,
)
from neardup.kernels.join.nearest import (
    ShingleLists, fill_members, nearest as nearest_of_each, numbers_of, slots_of,
)
from neardup.kernels.join.prefix_index import (
    FARTHEST, PrefixIndex, count_lookups, count_repeats, mark_entries, marked_shingles,
    rare_prefixes, with_partners,
)
from neardup.kernels.join.weighted_prefixes import ElementLists, WeightedRows, fill_rests, weighted_pairs
