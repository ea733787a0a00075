"""Exact or LSH: what an exact join of these documents would cost, and whether that is worth it.

The memory is known after the first pass: what an exact join holds, it holds for each shingle of the documents
that are no exact copies. The work is known when the shingles are counted and the prefix lists stand: every
document looks up its partners there, and how many that are follows from the frequencies of the shingles.
Neither depends on the machine, so that the same input and settings choose the same on every one. How many look-ups
there are depends a little on the key of the hashes, for among equally frequent shingles those of smaller hash
are looked up; near the limit they are counted again by hashes that are the same in every run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from neardup.display import size
from neardup.settings import Search, Settings

BYTES_A_SHINGLE = 16
"""What an exact join takes at most: 8 for the hash, up to 6 to count, the rest for prefix lists (measured: 9)."""

FREE_LOOKUPS = 10_000_000
"""So many take about half a second: not worth missing a pair for."""

CLOSE = 0.1
"""Look-ups within this share of the limit are counted again; between keys they differ by .01 (measured)."""

MOST_OF_A_LIST = 1000
"""Partners in one list that count: a crowd's are not all looked at."""


@dataclass(frozen=True)
class Choice:
    """The ``method`` of a run, and why; ``shingles`` at most are in its documents.

    ``lookups`` is about how many pairs the exact join looks at, or None where no join was prepared; it differs a
    little from run to run and is not written anywhere.
    """

    asked: str
    method: str
    why: str
    shingles: int
    lookups: int | None = None

    @property
    def memory(self) -> int:
        """Bytes an exact join takes at most."""
        return BYTES_A_SHINGLE * self.shingles

    def as_dict(self) -> dict[str, Any]:
        """The choice as plain data."""
        return {
            "asked": self.asked,
            "method": self.method,
            "why": self.why,
            "shingles": self.shingles,
            "exact_memory_bytes": self.memory,
        }


def surely_exact(search: Search) -> bool:
    """Whether LSH is out of the question before anything is read.

    >>> surely_exact(Search(measure="overlap")), surely_exact(Search())
    (True, False)
    """
    return search.method == "exact" or search.measure != "resemblance"


def by_simhash(settings: Settings, shingles: int) -> Choice:
    """The choice of a run whose candidates are fingerprints within a distance, as it was asked to.

    >>> by_simhash(Settings.of(sketch="simhash", distance=5), 1_000).why
    'asked for: Hamming distance at most 5 of 64-bit SimHash, features char:4'
    """
    return Choice(settings.search.method, "simhash", f"asked for: {settings.simhash.in_words}", shingles)


def choose(search: Search, shingles: int) -> Choice:
    """The method by what was asked and by the memory that an exact join would take.

    >>> choose(Search(memory=2.0), 1_000_000).why
    'an exact join takes 16.0 MB at most, 2.0 GB are allowed'
    >>> choose(Search(memory=2.0), 1_000_000_000).method
    'lsh'
    """
    choice = Choice(search.method, search.method, "asked for", shingles)
    if search.method != "auto":
        return choice
    if search.measure != "resemblance":
        return replace(choice, method="exact", why=f"LSH finds no pairs by their {search.measure}")
    needed, allowed = size(choice.memory), size(round(search.memory * 1e9))
    if choice.memory <= search.memory * 1e9:
        return replace(choice, method="exact", why=f"an exact join takes {needed} at most, {allowed} are allowed")
    return replace(choice, method="lsh", why=f"an exact join may take {needed}, --memory allows {allowed}")


def reconsider(choice: Choice, search: Search, lookups: int) -> Choice:
    """The choice when the prefix lists stand and the number of look-ups is known.

    >>> reconsider(choose(Search(), 1_000), Search(), 50).method
    'exact'
    >>> reconsider(choose(Search(), 1_000), Search(), 50_000_000).why
    'an exact join would look at more than 10,000,000 pairs for 1,000 shingles'
    """
    counted, most = replace(choice, lookups=lookups), most_lookups(choice)
    if surely_exact(search) or lookups <= most:
        return counted
    why = f"an exact join would look at more than {most:,} pairs for {choice.shingles:,} shingles"
    return replace(counted, method="lsh", why=why)


def most_lookups(choice: Choice) -> int:
    """How many pairs an exact join may look at: about as long as LSH takes."""
    return max(FREE_LOOKUPS, choice.shingles)


def is_close(choice: Choice, search: Search, lookups: int, tied: int) -> bool:
    """Whether so many look-ups are so near the limit that there might be too many, or not, under another key.

    ``tied`` prefix entries may be others under another key (``hubs.Joined``), with longer lists or shorter ones.

    >>> [is_close(choose(Search(), 1_000), Search(), count, 0) for count in (8_000_000, 9_500_000, 12_000_000)]
    [False, True, False]
    >>> is_close(choose(Search(), 1_000), Search(), 8_000_000, 2_000)
    True
    """
    most = most_lookups(choice)
    return not surely_exact(search) and abs(lookups - most) <= CLOSE * most + tied * MOST_OF_A_LIST
