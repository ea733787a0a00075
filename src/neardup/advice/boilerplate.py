"""Passages that appear in a large share of all documents: letterheads, disclaimers, licence headers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from neardup.advice.choices import sets_of
from neardup.advice.record import Boilerplate
from neardup.settings import Settings
from neardup.sketch.base_text import NO_BASE_TEXT, BaseText
from neardup.tables import UInt64s
from neardup.text.normalise import tokens

COMMON = 0.2
"""A passage in more than this share of the documents is boilerplate."""

FEW = 20
"""With fewer documents than this, no passage counts as common."""

SHOWN_WORDS = 40


def boilerplate(texts: pa.Array, settings: Settings, base: BaseText = NO_BASE_TEXT) -> Boilerplate | None:
    """Find the boilerplate of texts (large_binary[n]) without near copies; None if there are too few texts.

    ``base`` does not count. Counts words even if shingles are characters: a common run of letters is not a
    passage.
    """
    if len(texts) < FEW:
        return None
    words = in_words(settings)
    sets = sets_of(texts, words, base)
    hashes, documents = np.unique(sets.hashes, return_counts=True)
    common = hashes[documents > COMMON * len(texts)]
    counted = np.concatenate(([0], np.cumsum(np.isin(sets.hashes, common))))
    of_each = np.diff(counted[sets.offsets]) / np.maximum(sets.sizes, 1)
    length = words.shingles.length
    if not len(common):
        return Boilerplate(len(texts), length, 0.0, "", 0)
    most = hashes[documents == documents.max()]
    first = int(np.searchsorted(sets.offsets, np.flatnonzero(np.isin(sets.hashes, most))[0], side="right")) - 1
    passage = _passage(texts[first].as_py().decode("utf-8", "replace"), most, common, words)
    return Boilerplate(len(texts), length, float(of_each.mean()), passage, int(documents.max()))


def in_words(settings: Settings) -> Settings:
    """Return the settings themselves, or runs of words instead of runs of characters."""
    by_word = settings.shingles.unit == "word"
    return settings if by_word else Settings.of(ignore_common=settings.base.ignore_common)


def _passage(text: str, seeds: UInt64s, common: UInt64s, settings: Settings) -> str:
    """Return the tokens of the run of common shingles around the first of the ``seeds``, cut if it is long."""
    found, length = tokens(text), settings.shingles.length
    windows = [" ".join(found[k : k + length]) for k in range(max(len(found) - length, 0) + 1)]
    in_order = sets_of(pa.array([window.encode() for window in windows], pa.large_binary()), settings)
    if (in_order.sizes != 1).any():  # some tokens tokenise differently on their own
        return ""
    at = np.flatnonzero(np.isin(in_order.hashes, seeds))
    if not len(at):
        return ""
    rare = np.flatnonzero(~np.isin(in_order.hashes, common))
    begin = int(rare[rare < at[0]].max(initial=-1)) + 1
    end = int(rare[rare > at[0]].min(initial=len(windows))) - 1 + length
    more = " …" if end - begin > SHOWN_WORDS else ""
    return " ".join(found[begin : min(end, begin + SHOWN_WORDS)]) + more
