"""Pairs that meet the criterion: candidates, verification and exact joins."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.join.candidates import HUB, keys_of
from neardup.deduplication.join.common_shingles import LEAST, most_documents
from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.criterion import (
    EVERYONE, Related, at_least, criterion_of, every_pair, similarity_of, takes_any_subset,
)
from neardup.deduplication.join.method import (
    BYTES_A_SHINGLE, MOST_OF_A_LIST, choose, is_close, reconsider, surely_exact,
)
from neardup.deduplication.join.misses import missed_with
from neardup.deduplication.join.pairs import PairRoom, Pairs
from neardup.deduplication.join.prefix_join import join_documents
from neardup.deduplication.join.rows import Alike, first_of_equal
from neardup.deduplication.join.search import ExactJoin, FoundPairs
from neardup.deduplication.join.shingle_store import DocumentSets, FeatureStores
from neardup.deduplication.join.verification import families_of, verify

# of the kernels and plans of a search, what another engine of it needs
from neardup.kernels.join import marked_shingles, rare_prefixes
from neardup.kernels.lsh import bucket_pairs
from neardup.kernels.sets import Criterion, verify_pairs
from neardup.kernels.sorting import equal_groups
from neardup.text.lsh.bands import Plan, nearest_plan, plan
from neardup.text.hamming import POINTS, Design, HammingPlan, hamming_plan
