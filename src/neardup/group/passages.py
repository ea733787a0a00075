"""The passages that go with removed documents: runs of units outside all shingles that the group keeps."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import printable
from neardup.group.decide import Decisions, Passages
from neardup.group.lost import Standing
from neardup.group.rows import CopyClasses
from neardup.join.rows import Rows
from neardup.join.shingle_store import ShingleStore
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.text.keyed import Key
from neardup.settings import Settings, Shingles
from neardup.sketch.documents import shingle_sets
from neardup.tables import Int64s, UInt64s
from neardup.text.cleaning import Cleaner
from neardup.text.units import Units, read

SMALL = 1 << 21
"""Units of a small run, in which the passages of up to MOST_DOCUMENTS removed documents are looked up."""

MOST_DOCUMENTS = 1000

IN_LARGE_RUNS = 10
"""The number in all other runs: reading the texts again would take too long there."""

MOST_UNITS = 1 << 21
"""Units (tokens or characters) of these documents, and of the ones that stay in their groups, together."""

EXCERPT = 120
"""Characters of a passage that are shown."""


def with_passages(decisions: Decisions, documents: CopyClasses, now: Standing, rows: Rows) -> Decisions:
    """The decisions with the passages of the removed documents that lose most; one more pass over these texts."""
    if decisions.lost is None:
        return decisions
    of_row, lost = documents.of_row[decisions.rows], decisions.lost.lost
    entries = np.flatnonzero(lost > 0)
    losing, first = np.unique(of_row[entries], return_index=True)
    chosen = _chosen(losing, lost[entries[first]], now, rows.sets().bound(np.arange(len(rows.unique))))
    units, excerpts = np.where(lost == 0, 0, -1), np.full(len(lost), None, object)
    if len(chosen):
        found = _found(chosen, now, rows)
        inside = entries[np.isin(of_row[entries], chosen)]
        for entry, place in zip(inside.tolist(), np.searchsorted(chosen, of_row[inside]).tolist(), strict=True):
            units[entry], excerpts[entry] = found[place]
    passages = Passages(units, pa.array(excerpts, pa.string()))
    return replace(decisions, lost=replace(decisions.lost, passages=passages))


def passage_of(
    text: str, lost: UInt64s, form: Shingles, key: Key, cleaner: Cleaner | None = None
) -> tuple[int, str | None]:
    """(units in passages, beginning of the longest passage) of a text, given its ``lost`` shingles (ascending).

    A unit is in a passage if every shingle that covers it is lost. The text of the passage is on one line, with
    escapes for characters that could control a terminal; None without passages.

    >>> from neardup.text.keys import process_key
    >>> form, key = Shingles(length=2), process_key()
    >>> hashes = shingles_in_order("pay the mayor in gold", form, key)
    >>> passage_of("pay the mayor in gold", np.sort(hashes[1:]), form, key)
    (3, 'mayor in gold')
    """
    units = _units_of(text, form, key, cleaner)
    gone = np.isin(_shingle_hashes(units.hashes, form, key), lost)
    ends = np.zeros(len(units.hashes) + 1, np.int64)
    stays = np.flatnonzero(~gone)
    np.add.at(ends, stays, 1)
    np.add.at(ends, np.minimum(stays + form.length, len(units.hashes)), -1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], np.cumsum(ends[:-1]) == 0, [False])).astype(np.int8)))
    begin, until = edges[::2], edges[1::2]
    if not len(begin):
        return 0, None
    longest = int(np.argmax(until - begin))
    return int((until - begin).sum()), _excerpt(units.quote(int(begin[longest]), int(until[longest])))


def shingles_in_order(text: str, form: Shingles, key: Key) -> UInt64s:
    """The hashes of the shingles of a text, in its order, repeats included."""
    return _shingle_hashes(_units_of(text, form, key).hashes, form, key)


def _shingle_hashes(units: UInt64s, form: Shingles, key: Key) -> UInt64s:
    hashes = np.empty(max(1, len(units)), np.uint64)
    return hashes[: shingle_hashes(units, len(units), form.length, key.shingles, hashes)]


class _PlainTokens(NamedTuple):
    """The tokens of a plain text: their hashes, and their places in it."""

    text: str
    hashes: UInt64s
    places: list[tuple[int, int]]

    def quote(self, begin: int, end: int) -> str:
        """The text from the token ``begin`` to the one before ``end``."""
        return self.text[self.places[begin][0] : self.places[end - 1][1]]


def _units_of(text: str, form: Shingles, key: Key, cleaner: Cleaner | None = None) -> Units | _PlainTokens:
    """The units of a text. Those of most texts need no kernel that a run has not compiled anyway."""
    by_word = form.unit == "word"
    if cleaner is None and by_word and all(map(_is_plain, set(text))):
        places = [match.span() for match in re.finditer(r"\w+", text)]
        settings = Settings.of(unit=form.unit, length=form.length)
        hashes = shingle_sets(pa.array([text]), np.array([0]), settings, key, "tokens").hashes
        if len(hashes) == len(places):
            return _PlainTokens(text, hashes, places)
    return read(text, cleaner=cleaner, key=key).units(by_word)


@cache
def _is_plain(char: str) -> bool:
    """Whether tokens begin and end at this character as runs of \\w do: European letters, and no part of words."""
    if char.isascii():
        return True
    known = char < "\u0530" or "\u2010" <= char <= "\u2027"
    if not known or unicodedata.category(char).startswith("M"):
        return False
    normal = unicodedata.normalize("NFKC", char).casefold()
    return normal.isalpha() if char.isalpha() else not any(re.match(r"\w", part) for part in char + normal)


def _excerpt(passage: str) -> str:
    text = " ".join(passage[: 4 * EXCERPT].split())
    return printable(text[:EXCERPT]) + ("…" if len(text) > EXCERPT or len(passage) > 4 * EXCERPT else "")


def _chosen(losing: Int64s, lost: Int64s, now: Standing, size: Int64s) -> Int64s:
    """The documents (ascending) to look up: the ones that lose most, within the limits."""
    staying = np.bincount(now.group[now.stays], size[now.stays], len(size)).astype(np.int64)
    order = np.lexsort((losing, -lost))
    documents = losing[order]
    documents = documents[size[documents] + staying[now.group[documents]] <= MOST_UNITS // 4]
    cost = size[documents]
    _, first = np.unique(now.group[documents], return_index=True)
    cost[first] += staying[now.group[documents[first]]]
    most = MOST_DOCUMENTS if size.sum() <= SMALL else IN_LARGE_RUNS
    return np.sort(documents[np.cumsum(cost) <= MOST_UNITS][:most])


def _found(chosen: Int64s, now: Standing, rows: Rows) -> list[tuple[int, str | None]]:
    """The passages of the ``chosen`` documents (ascending), in that order."""
    lost = _lost_shingles(chosen, now, rows.sets())
    wanted = rows.unique[chosen]
    key, form, cleaner = rows.corpus.key, rows.settings.shingles, rows.settings.cleaning.cleaner

    def work(row: int, text: pa.Array) -> tuple[int, str | None]:
        return passage_of(_decoded(text), lost[int(np.searchsorted(wanted, row))], form, key, cleaner)

    return list(rows.corpus.with_texts(wanted, work))


def _lost_shingles(chosen: Int64s, now: Standing, store: ShingleStore) -> list[UInt64s]:
    """The shingles (ascending) of each document that no document of its group holds that stays."""
    asked = np.zeros(len(now.group), np.bool_)
    asked[now.group[chosen]] = True
    staying = np.flatnonzero(now.stays & asked[now.group])
    found = store.get(np.union1d(chosen, staying))
    held = {
        int(group): found.only(staying[now.group[staying] == group]).sets.hashes
        for group in np.unique(now.group[chosen])
    }
    sets = found.only(chosen).sets
    each = np.split(sets.hashes, sets.offsets[1:-1])
    return [np.setdiff1d(own, held[int(now.group[k])]) for k, own in zip(chosen, each, strict=True)]


def _decoded(text: pa.Array) -> str:
    """The only text of an array; invalid bytes read as U+FFFD, as everywhere."""
    return str(pc.cast(text, pa.large_binary())[0].as_py(), "utf-8", "replace")
