"""Fingerprints that differ in few bits: all pairs of them, or those near one. Nothing is missed."""

from __future__ import annotations

from neardup.hamming.index import HammingIndex
from neardup.hamming.pairs import HammingPairs, hamming_pairs

__all__ = ["HammingIndex", "HammingPairs", "hamming_pairs"]
