"""Fingerprints within a Hamming distance: pairs, and the tables that find them."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.text.lsh.hamming import FingerprintWords, NearPairs, distinct, near_pairs, products, read_fingerprints
from neardup.text.lsh.hamming_tables import Design, HammingPlan, POINTS, hamming_plan
