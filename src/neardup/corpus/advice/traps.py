"""Properties of these documents and settings that mislead, with their numbers; passages that most texts share."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.advice.effects import shingles_lost, sturdy_from
from neardup.corpus.advice.record import Boilerplate, ShingleChoice, Taken, Trap
from neardup.corpus.advice.sample import sets_of
from neardup.display import counted, number, percent, similarity
from neardup.settings import JoinSettings, Settings, TextSettings
from neardup.tables import UInt64s
from neardup.text.sketch import NO_BASE_TEXT, BaseText
from neardup.unicode import tokens

COMMON = 0.2
"""A passage in more than this share of the documents is boilerplate."""

FEW = 20
"""With fewer documents than this, no passage counts as common."""

SHOWN_WORDS = 40


def boilerplate(texts: pa.Array, words: TextSettings, base: BaseText = NO_BASE_TEXT) -> Boilerplate | None:
    """Find the boilerplate of texts (large_binary[n]) without near copies; None if there are too few texts.

    ``words`` has runs of words, see ``in_words``: a common run of letters is not a passage. ``base`` does not
    count.
    """
    if len(texts) < FEW:
        return None
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


def in_words(settings: JoinSettings) -> JoinSettings:
    """Return the settings themselves, or runs of words instead of runs of characters."""
    by_word = settings.shingles.unit == "word"
    return settings if by_word else Settings.of(ignore_common=settings.base.ignore_common)


def _passage(text: str, seeds: UInt64s, common: UInt64s, settings: TextSettings) -> str:
    """Return the tokens of the run of common shingles around the first of the ``seeds``, cut if it is long."""
    words, length = tokens(text), settings.shingles.length
    windows = [" ".join(words[k : k + length]) for k in range(max(len(words) - length, 0) + 1)]
    in_order = sets_of(pa.array([window.encode() for window in windows], pa.large_binary()), settings)
    if (in_order.sizes != 1).any():  # some tokens tokenise differently on their own
        return ""
    places = np.flatnonzero(np.isin(in_order.hashes, seeds))
    if not len(places):
        return ""
    rare = np.flatnonzero(~np.isin(in_order.hashes, common))
    begin = int(rare[rare < places[0]].max(initial=-1)) + 1
    end = int(rare[rare > places[0]].min(initial=len(windows))) - 1 + length
    more = " …" if end - begin > SHOWN_WORDS else ""
    return " ".join(words[begin : min(end, begin + SHOWN_WORDS)]) + more


ALIKE_AT_RANDOM = 0.1
"""From this resemblance of random pairs on, the lower part of the scale is meaningless."""

SHORTER, FRAGILE, BOILERPLATE, COPIES = 0.01, 0.1, 0.1, 0.1
"""Shares of documents (of an average document) from which each trap is mentioned."""


def traps(
    taken: Taken, own: ShingleChoice, words: ShingleChoice, stock: Boilerplate | None, threshold: float
) -> Iterator[Trap]:
    """Yield the traps; ``own`` are the shingles asked for, ``words`` those of five words."""
    noun = "words" if own.unit == "word" else "characters"
    if own.unit == "char" and own.random_median >= ALIKE_AT_RANDOM:
        yield Trap("character-shingles", own.random_median, _alike_at_random(own, words))
    if own.shorter >= SHORTER:
        text = (
            f"{percent(own.shorter, 1)} of the documents have fewer than {own.length} {noun}, less than one "
            "shingle. Such a document can be an exact copy, but not a near copy, of another one."
        )
        yield Trap("shorter-than-a-shingle", own.shorter, text)
    if own.fragile >= FRAGILE and threshold < 1:
        yield Trap("short-documents", own.fragile, _fragile(own, threshold))
    if stock is not None and stock.share >= BOILERPLATE:
        yield Trap("boilerplate", stock.share, _boilerplate(stock))
    if taken.exact_copies >= COPIES * max(taken.documents, 1):
        share = taken.exact_copies / max(taken.documents, 1)
        text = (
            f"{counted(taken.exact_copies, 'document is an exact copy', 'documents are exact copies')} of an "
            f"earlier one ({percent(share, 1)}): the same words in the same order. They are removed at every "
            "threshold. The line of threshold 1 in the table shows the removals without near copies."
        )
        yield Trap("exact-copies", share, text)
    if taken.pairs_left_out:
        text = (
            f"Thousands of documents are all alike. About {counted(taken.pairs_left_out, 'pair')} within such "
            "crowds were not listed: counts of pairs are lower bounds; groups and removals are complete."
        )
        yield Trap("crowds", 1.0, text)


def numbers_only(texts: pa.Array, full: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[Trap]:
    """Report documents with tokens (``full``, bool[n]) but without a letter, in any script."""
    as_text = pa.array([None if row is None else row.decode("utf-8", "replace") for row in texts.to_pylist()])
    letters = pc.fill_null(pc.match_substring_regex(as_text.cast(pa.large_string()), r"\p{L}"), False)
    bare = int((full & ~letters.to_numpy(zero_copy_only=False)).sum())
    if bare:
        text = (
            f"{counted(bare, 'document has', 'documents have')} numbers but no letter. Two tables with many equal "
            "figures count as near copies, although they may state different facts: examine them separately."
        )
        yield Trap("numbers-only", bare / len(texts), text)


def _alike_at_random(own: ShingleChoice, words: ShingleChoice) -> str:
    return (
        f"With runs of {own.length} characters, two random documents already have resemblance "
        f"{similarity(own.random_median, 2)} (1 pair in 20: {similarity(own.random_high, 2)} or more); with runs "
        f"of 5 words, {similarity(words.random_median, 2)}. Long texts share most short runs of letters, whatever "
        "they are about. Choose words, or longer runs."
    )


def _fragile(own: ShingleChoice, threshold: float) -> str:
    lost = shingles_lost(own.unit, own.length)
    return (
        f"{percent(own.fragile, 1)} of the documents have fewer than {sturdy_from(threshold, lost):.0f} shingles. "
        f"One changed word in the middle takes such a document below {threshold:g}: it replaces {lost} of n "
        f"shingles by {lost} others, so the resemblance is (n - {lost}) / (n + {lost}). Shorter shingles or a "
        "lower threshold find them."
    )


def _boilerplate(stock: Boilerplate) -> str:
    shown = f' The most common passage is in {number(stock.passage_documents)}: "{stock.passage}".' * bool(
        stock.passage
    )
    return (
        f"{percent(stock.share, 1)} of an average document is text that more than {COMMON * 100:g} % of the "
        f"{number(stock.documents)} documents share.{shown} It makes unlike documents look alike, most of all "
        "short ones: a high resemblance may come from the form, not from the content."
    )
