"""Small document sets with exactly measured pairs: two of our own, and real ones from outside the repository.

``own`` and ``own_scripts`` are in ``tests/data`` (see ``make_own_collection``), so the laws that run over them
are never skipped. The folder of the real sets is named by the environment variable NEARDUP_SHARED_DATA, or is
../shared/data next to the repository; a test that asks for an absent set is skipped. The expectations of a set
are computed here with the naive twins of ``reference.py``: plain Python sets, once a set.
"""

from __future__ import annotations

import csv
import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from support import reference
from support.full_run import SHORT
from support.paths import ROOT

OWN = ("own", "own_scripts")
"""Sets in the repository. Their table of pairs is counted here, by the definition that the real sets have."""

LEAST_PUBLISHED = 0.15
"""The resemblance from which on a pair is in the table of a set of our own."""

PROSE = ("own", "django_docs", "law_de", "site_policy", "license_texts", "bible_pd", "irplag_java")
"""Sets whose exact pairs are over 5-word shingles and which have many documents."""

WORD_SETS = (*PROSE, "dolos_python", "textreuse")
CHAR_SETS = ("own_scripts", "udhr", "thaigov_th")
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
    a, b = (one if isinstance(one, AbstractSet) else set(one) for one in (a, b))
    return Counted(len(a & b), len(a), len(b))


def folder(name: str) -> Path:
    """Return the folder of a set, or skip the test."""
    found = _folder(name)
    if name not in OWN and not is_here(name):
        pytest.skip(f"the real data set {name} is not here (NEARDUP_SHARED_DATA names its folder)")
    return found


def _folder(name: str) -> Path:
    if name in OWN:
        return ROOT / "tests" / "data" / name
    return Path(os.environ.get("NEARDUP_SHARED_DATA", ROOT.parent / "shared" / "data")) / name


def is_here(name: str) -> bool:
    """Whether a set can be read; the short run reads only our own."""
    return (name in OWN or not SHORT) and (_folder(name) / "documents.jsonl").exists()


def here(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the sets that are here, for laws over all sets together."""
    return tuple(filter(is_here, names))


def or_own(name: str) -> str:
    """Return the name of a set, or of our own set with the same unit if it is not here."""
    return name if is_here(name) else "own_scripts" if name in CHAR_SETS else "own"


@cache
def documents(name: str) -> dict[str, str]:
    """Return the texts of a set by id, in file order."""
    with (folder(name) / "documents.jsonl").open(encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


@cache
def published_pairs(name: str) -> list[dict[str, str]]:
    """Return the rows of exact_pairs.tsv, counted by somebody else's program; those of our own sets by ours."""
    if name in OWN:
        return _counted_rows(name)
    with (folder(name) / "exact_pairs.tsv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def _counted_rows(name: str) -> list[dict[str, str]]:
    found = {id: published_shingles(text, name in CHAR_SETS) for id, text in documents(name).items()}
    rows = []
    for id_a, id_b in combinations(found, 2):
        counted = count(found[id_a], found[id_b])
        if counted.union and counted.resemblance >= LEAST_PUBLISHED:
            shares = (counted.resemblance, counted.shared / counted.size_a, counted.shared / counted.size_b)
            values = (id_a, id_b, *(f"{share:.4f}" for share in shares), str(counted.size_a), str(counted.size_b))
            rows.append(
                dict(zip(("id_a", "id_b", "jaccard", "a_in_b", "b_in_a", "n_a", "n_b"), values, strict=True))
            )
    return rows


def published_units(text: str, characters: bool) -> list[str]:
    """Return the units as the README of the real sets defines them, for the tables of pairs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    if characters:
        return list(re.sub(r"\s+", " ", folded).strip())
    return re.findall(r"\w+", folded)


def published_shingles(text: str, characters: bool) -> frozenset[tuple[str, ...]]:
    units = published_units(text, characters)
    return frozenset(tuple(units[k : k + 5]) for k in range(max(min(1, len(units)), len(units) - 4)))


@cache
def tokens(name: str) -> list[list[str]]:
    """Return the reference tokens of every text of a set."""
    return [reference.tokens(text) for text in documents(name).values()]


@cache
def sets(name: str) -> list[frozenset[tuple[str, ...]]]:
    """Return the reference 5-word shingle set of every text of a set."""
    return [frozenset(reference.shingles_of(of_text, 5)) for of_text in tokens(name)]


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
