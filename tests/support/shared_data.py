"""Small real document sets with exactly measured pairs; they lie outside of the repository.

The folder is named by the environment variable NEARDUP_SHARED_DATA, or lies at ../shared/data next to the
repository. A test that asks for a set that is not there is skipped. What is expected of a set is computed here
with the naive twins of ``reference.py``: plain Python sets, once a set.
"""

from __future__ import annotations

import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from support import reference
from support.paths import ROOT

PROSE = ("django_docs", "law_de", "site_policy", "license_texts", "bible_pd", "irplag_java")
"""Sets whose exact pairs are over 5-word shingles and which have many documents."""

WORD_SETS = (*PROSE, "dolos_python", "textreuse")
CHAR_SETS = ("udhr", "thaigov_th")
"""Sets whose exact pairs are over 5-character shingles."""


@dataclass(frozen=True)
class Counted:
    """|A∩B|, |A| and |B| of a pair."""

    shared: int
    size_a: int
    size_b: int

    @property
    def union(self) -> int:
        return self.size_a + self.size_b - self.shared

    @property
    def resemblance(self) -> float:
        return self.shared / self.union


def count(a: Iterable[object], b: Iterable[object]) -> Counted:
    """Count two sets by the definition."""
    a, b = set(a), set(b)
    return Counted(len(a & b), len(a), len(b))


def folder(name: str) -> Path:
    """Return the folder of a set, or skip the test."""
    default = ROOT.parent / "shared" / "data"
    found = Path(os.environ.get("NEARDUP_SHARED_DATA", default)) / name
    if not (found / "documents.jsonl").exists():
        pytest.skip(f"the real data set {name} is not here (NEARDUP_SHARED_DATA names its folder)")
    return found


@cache
def documents(name: str) -> dict[str, str]:
    """Return the texts of a set by id, in file order."""
    with (folder(name) / "documents.jsonl").open(encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


@cache
def published_pairs(name: str) -> list[dict[str, str]]:
    """Return the rows of exact_pairs.tsv: what somebody else's program counted."""
    with (folder(name) / "exact_pairs.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@cache
def tokens(name: str) -> list[list[str]]:
    """Return the reference tokens of every text of a set."""
    return [reference.tokens(text) for text in documents(name).values()]


@cache
def sets(name: str) -> list[frozenset[tuple[str, ...]]]:
    """Return the reference 5-word shingle set of every text of a set."""
    return [frozenset(reference.shingle_set(text, 5, "word")) for text in documents(name).values()]


@cache
def firsts(name: str) -> list[int]:
    """Return for every text the number of the first with the same tokens: itself unless it is an exact copy."""
    first: dict[tuple[str, ...], int] = {}
    return [first.setdefault(tuple(of_text), number) for number, of_text in enumerate(tokens(name))]


@cache
def all_pairs(name: str) -> dict[tuple[int, int], Counted]:
    """Return every pair of different texts that share a shingle, counted; no pair is left out."""
    number_of: dict[tuple[str, ...], int] = {}
    first = firsts(name)
    numbered = [
        {number_of.setdefault(shingle, len(number_of)) for shingle in of_text} if first[k] == k else set()
        for k, of_text in enumerate(sets(name))
    ]
    pairs = {}
    for b, of_b in enumerate(numbered):
        for a, of_a in enumerate(numbered[:b]):
            if of_a and of_b and not of_a.isdisjoint(of_b):
                pairs[a, b] = Counted(len(of_a & of_b), len(of_a), len(of_b))
    return pairs


@cache
def families(name: str) -> list[int]:
    """Return a family number for every text; texts of different families are nearly independent (J < .1)."""
    parent = list(range(len(documents(name))))

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    for (a, b), counted in all_pairs(name).items():
        if counted.resemblance >= 0.1:
            parent[root(a)] = root(b)
    return [root(k) for k in range(len(parent))]


@cache
def pairs_by_family(name: str, low: float, high: float) -> dict[int, list[tuple[int, int]]]:
    """Return the pairs with low ≤ J < high of every family; the whole is split by family to be thinned."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for pair, counted in all_pairs(name).items():
        if low <= counted.resemblance < high:
            found[families(name)[pair[0]]].append(pair)
    return dict(found)
