"""Exact or LSH: the cost of an exact join of the documents, and whether it is worth paying.

The memory is known after the first pass: an exact join uses a bounded number of bytes for each shingle of the
documents that are not exact copies. So is about the time, in constants that were measured once. The work is known
once the shingles are counted and the prefix lists are built: every document looks up its partners there, and the
number of look-ups follows from the frequencies of the shingles. Neither depends on the machine, so the same input
and settings lead to the same choice everywhere. The number of look-ups depends slightly on the key of the hashes,
because among equally frequent shingles the one with the smaller hash is looked up. Near the limit, look-ups are
therefore counted again with hashes that are the same in every run.
"""

from dataclasses import dataclass, replace
from typing import Any

from neardup.display import duration, size
from neardup.settings import MEASURES, JoinSettings, SearchSettings, join_bytes_of

BYTES_A_SHINGLE = 16
"""Upper bound for an exact join: 8 for the hash, up to 6 to count, the rest for prefix lists (measured: 9)."""

A_SECOND = 1_000_000_000
"""Nanoseconds that are not worth missing a pair for."""

LSH_TIME = {"word": 350, "char": 130}
"""Processor time of a whole run by LSH, in nanoseconds for each shingle of a ``unit`` (measured)."""

AGAIN_TIME = {"word": 60, "char": 40}
"""That of making the shingle sets from texts that are read again."""

JOIN_TIME = {"word": 130, "char": 240}
"""That of an exact join. Five characters are rarely rare, so its lists are long."""

FREE_LOOKUPS = 10_000_000
"""This many look-ups take one to three seconds: not worth missing a pair for."""

LOOKUPS = {"word": 1.0, "char": 0.4}
"""This many look-ups for each shingle of a ``unit`` take about as long as LSH (measured: 300 ns each)."""

CLOSE = 0.1
"""Look-ups within this share of the limit are counted again; between keys they differ by 0.01 (measured)."""

MOST_OF_A_LIST = 1000
"""Partners counted in one list; not all partners in a crowd are looked at."""


@dataclass(frozen=True)
class Choice:
    """The ``method`` of a run, and why; its documents contain at most ``shingles`` shingles.

    ``lookups`` is about how many pairs the exact join looks at, or None if no join was prepared. It varies a
    little from run to run and is never written to the output.
    """

    asked: str
    method: str
    why: str
    shingles: int
    lookups: int | None = None
    unit: str = "word"

    @property
    def memory(self) -> int:
        """Upper bound for the bytes an exact join needs."""
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


def surely_exact(search: SearchSettings) -> bool:
    """Whether LSH can be ruled out before any input is read.

    >>> surely_exact(SearchSettings(measure="overlap")), surely_exact(SearchSettings())
    (True, False)
    """
    return search.method == "exact" or not MEASURES[search.measure].by_lsh


def join_room(search: SearchSettings) -> int:
    """The bytes that an exact join uses at most; a join that needs more is made in parts (``exact_parts.py``).

    >>> join_room(SearchSettings(memory=2.0)), join_room(SearchSettings())
    (1057200000, 1000000000)
    """
    return search.join_bytes if search.limit is None else join_bytes_of(search.limit)


def by_simhash(settings: JoinSettings, shingles: int) -> Choice:
    """The choice for a run that was asked to use fingerprints within a distance as candidates.

    >>> from neardup.settings import Settings
    >>> by_simhash(Settings.of(sketch="simhash", distance=5), 1_000).why
    'asked for: Hamming distance at most 5 of 64-bit SimHash, features char:4'
    """
    return Choice(settings.search.method, "simhash", f"asked for: {settings.simhash.in_words}", shingles)


def extra_time(search: SearchSettings, shingles: int, unit: str) -> int:
    """The expected processor time of an exact join besides that of the first pass, in nanoseconds.

    Under a memory limit the first pass makes no shingle sets, so the texts are read again.
    """
    again = 0 if search.limit is None else AGAIN_TIME[unit]
    return (again + JOIN_TIME[unit]) * shingles


def choose(search: SearchSettings, shingles: int, unit: str = "word") -> Choice:
    """Choose the method from the settings, and from the memory and the time that an exact join would need.

    ``unit`` is the unit of the shingles, "word" or "char".

    >>> choose(SearchSettings(memory=2.0), 1_000_000).why
    'an exact join takes 16.0 MB at most, 1.1 GB are allowed'
    >>> choose(SearchSettings(memory=2.0), 1_000_000_000).method
    'lsh'
    >>> choose(SearchSettings(memory=2.0), 20_000_000, "char").why
    'an exact join would take about 5.6 s more than the first pass, LSH 2.6 s in all'
    """
    choice = Choice(search.method, search.method, "asked for", shingles, unit=unit)
    if search.method != "auto":
        return choice
    if not MEASURES[search.measure].by_lsh:
        return replace(choice, method="exact", why=f"LSH finds no pairs by their {search.measure}")
    needed, allowed = size(choice.memory), size(search.join_bytes)
    if choice.memory > search.join_bytes:
        return replace(choice, method="lsh", why=f"an exact join may take {needed}, --memory allows {allowed}")
    extra, whole = extra_time(search, shingles, unit), LSH_TIME[unit] * shingles
    if search.limit is not None and extra > max(whole, A_SECOND):
        cost = f"about {duration(extra / 1e9)} more than the first pass, LSH {duration(whole / 1e9)} in all"
        return replace(choice, method="lsh", why=f"an exact join would take {cost}")
    return replace(choice, method="exact", why=f"an exact join takes {needed} at most, {allowed} are allowed")


def reconsider(choice: Choice, search: SearchSettings, lookups: int) -> Choice:
    """Revise the choice once the prefix lists are built and the number of look-ups is known.

    >>> reconsider(choose(SearchSettings(), 1_000), SearchSettings(), 50).method
    'exact'
    >>> reconsider(choose(SearchSettings(), 1_000), SearchSettings(), 50_000_000).why
    'an exact join would look at more than 10,000,000 pairs for 1,000 shingles'
    """
    counted, most = replace(choice, lookups=lookups), most_lookups(choice)
    if surely_exact(search) or lookups <= most:
        return counted
    why = f"an exact join would look at more than {most:,} pairs for {choice.shingles:,} shingles"
    return replace(counted, method="lsh", why=why)


def most_lookups(choice: Choice) -> int:
    """How many pairs an exact join may look at: about the number that takes as long as LSH."""
    return max(FREE_LOOKUPS, round(LOOKUPS[choice.unit] * choice.shingles))


def is_close(choice: Choice, search: SearchSettings, lookups: int, tied: int) -> bool:
    """Whether the look-ups are close enough to the limit that another key could change the choice.

    ``tied`` prefix entries could differ under another key (``prefix_join.Joined``), with longer or shorter lists.

    >>> plain, counts = SearchSettings(), (8_000_000, 9_500_000, 12_000_000)
    >>> [is_close(choose(plain, 1_000), plain, count, 0) for count in counts]
    [False, True, False]
    >>> is_close(choose(SearchSettings(), 1_000), SearchSettings(), 8_000_000, 2_000)
    True
    """
    most = most_lookups(choice)
    return not surely_exact(search) and abs(lookups - most) <= CLOSE * most + tied * MOST_OF_A_LIST
