"""Columns of texts as the kernels read them, without the parts that do not count.

This is the one place where settings leave out text. Masks are Arrow kernels over the whole column, a tokenizer is
a function of Python, dropped tokens are a kernel of ours. The result is a column of texts of the same number, from
which all features are made; keys of exact copies, lengths and kept rows come from the texts themselves.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from neardup.kernels.sketch import TextBatch
from neardup.kernels.text import PADDING
from neardup.settings import Cleaning, TextSettings
from neardup.tables import Int64s, UInt8s, UInt64s
from neardup.text.cleaning import Cleaner, cleaner_of, covered_mask, places_of
from neardup.text.keys import process_key
from neardup.text.tokenizers import tokens_as_words
from neardup.unicode import DIGITS_ZERO, unicode_tables

_SPACE = 0x20


def text_batch(texts: pa.Array) -> TextBatch:
    """Return the buffers of a string or binary array in the form the kernels need; nulls count as empty."""
    if texts.null_count:
        texts = pc.fill_null(texts, pa.scalar(b"" if _is_binary(texts.type) else "", texts.type))
    large = pt.is_large_string(texts.type) or pt.is_large_binary(texts.type)
    _, offset_buffer, value_buffer = texts.buffers()
    if len(texts) == 0 or offset_buffer is None or value_buffer is None:
        nothing = np.frombuffer(bytes(PADDING), np.uint8)
        return TextBatch(nothing, np.zeros(len(texts) + 1, np.int64), nothing, np.int64(0))
    stored = np.frombuffer(offset_buffer, "<i8" if large else "<i4")
    offsets: Int64s = stored[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.frombuffer(value_buffer, np.uint8)
    first_close = np.searchsorted(offsets[1:], data.size - PADDING, side="right")
    tail_begin = offsets[first_close]
    tail = np.frombuffer(data[tail_begin : offsets[-1]].tobytes() + bytes(PADDING), np.uint8)
    return TextBatch(data, offsets, tail, tail_begin)


def _is_binary(type_: Any) -> bool:
    return bool(pt.is_binary(type_) or pt.is_large_binary(type_))


@dataclass(frozen=True, eq=False)
class Cleaned:
    """Texts (an Arrow array) under ``settings`` that leave out nothing more, and what was left out of them.

    ``counts`` is int64[masks + 2, 2]: the places, and the texts with any, of each mask, of dropped numbers and of
    dropped stop words; int64[0, 2] if the settings leave out nothing.
    """

    texts: pa.Array
    settings: TextSettings
    counts: Int64s


def clean_texts(texts: pa.Array, settings: TextSettings) -> Cleaned:
    """Leave out the parts of string or binary ``texts`` that the settings name; nulls count as empty.

    >>> from neardup.settings import Settings
    >>> made = clean_texts(pa.array(["Paid 12 to a@b.org"]), Settings.of(mask=[r"\\S+@\\S+"], ignore_numbers=True))
    >>> made.texts[0].as_py().split(), made.counts.tolist()
    ([b'Paid', b'to'], [[1, 1], [1, 1], [0, 0]])
    """
    cleaner = cleaner_of(settings.cleaning)
    if cleaner is None:
        return Cleaned(texts, settings, nothing_left_out(settings))
    batch, counts = text_batch(texts), nothing_left_out(settings)
    if cleaner.masks:
        batch = _mask(batch, cleaner, counts)
    if cleaner.tokenizer:
        batch = _tokenize(batch, cleaner.tokenizer)
    if cleaner.drops:
        batch = _drop(batch, cleaner, counts)
    offsets, data = np.ascontiguousarray(batch.offsets), np.ascontiguousarray(batch.data)
    array = pa.Array.from_buffers(
        pa.large_binary(), len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(data)], null_count=0
    )
    return Cleaned(array, replace(settings, cleaning=Cleaning()), counts)


def nothing_left_out(settings: TextSettings) -> Int64s:
    """Return the ``counts`` of no texts, to which others are added."""
    rows = len(settings.cleaning.mask) + 2 if settings.cleaning.is_on else 0
    return np.zeros((rows, 2), np.int64)


def some_cleaned(texts: pa.Array, rows: Int64s, settings: TextSettings) -> tuple[pa.Array, Int64s, TextSettings]:
    """Return texts without the parts that the settings leave out, the places of ``rows`` in them, and settings.

    Only the texts in ``rows`` are cleaned; all are returned as they are if the settings leave out nothing.
    """
    if not settings.cleaning.is_on:
        return texts, rows, settings
    whole = len(rows) == len(texts) and bool((rows == np.arange(len(texts))).all())
    clean = clean_texts(texts if whole else texts.take(pa.array(rows)), settings)
    return clean.texts, np.arange(len(rows)), clean.settings


def without_masks(text: bytes, settings: TextSettings) -> tuple[bytes, TextSettings]:
    """Return a text with spaces over its masked places, tokenized, and the settings that leave out the rest.

    The rest are tokens: a text may be cut between tokens first.
    """
    rules = settings.cleaning
    if not rules.mask and not rules.tokenizer:
        return text, settings
    of_whole_text = replace(settings, cleaning=Cleaning(mask=rules.mask, tokenizer=rules.tokenizer))
    clean = clean_texts(pa.array([text], pa.large_binary()), of_whole_text)
    return clean.texts[0].as_py(), replace(settings, cleaning=replace(rules, mask=(), tokenizer=""))


def both_keys(words: UInt64s, tokens: UInt64s) -> UInt64s:
    """Return stream keys, uint64[n, 2], that are equal only where both the given ones are."""
    pairs = np.ascontiguousarray(np.concatenate((words, tokens), axis=1))
    digests = b"".join(blake2b(pair, digest_size=16, person=b"tokenizer").digest() for pair in pairs)
    return np.frombuffer(digests, np.uint64).reshape(-1, 2).copy()


def _mask(batch: TextBatch, cleaner: Cleaner, counts: Int64s) -> TextBatch:
    """Put spaces over the masked bytes; the texts keep their places."""
    first, end = int(batch.offsets[0]), int(batch.offsets[-1])
    offsets = batch.offsets - first
    data = batch.data[first:end]
    spans = places_of(cleaner.masks, data, offsets)
    for number, places in enumerate(spans):
        of_text = np.searchsorted(offsets, places[:, 0], side="right")
        counts[number] = len(places), len(np.unique(of_text))
    places = np.concatenate(spans)
    masked = np.where(covered_mask(len(data), places), np.uint8(_SPACE), data) if len(places) else data
    return _pad(masked, offsets)


def _tokenize(batch: TextBatch, name: str) -> TextBatch:
    """Put the tokens of a tokenizer in place of the texts."""
    first, end = int(batch.offsets[0]), int(batch.offsets[-1])
    data, edges = batch.data[first:end].tobytes(), (batch.offsets - first).tolist()
    texts = (data[begin:stop].decode("utf-8", "replace") for begin, stop in pairwise(edges))
    encoded = [tokens_as_words(text, name).text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return _pad(np.frombuffer(b"".join(encoded), np.uint8), ends)


def _drop(batch: TextBatch, cleaner: Cleaner, counts: Int64s) -> TextBatch:
    """Put white space in place of numbers and stop words."""
    from neardup.kernels.text import drop_tokens

    dropped = np.empty((len(batch.offsets) - 1, 2), np.int64)
    rule = (cleaner.numbers, cleaner.stop_words)
    data, ends = drop_tokens(batch, unicode_tables(), process_key(), rule, DIGITS_ZERO, dropped)
    counts[-2:, 0], counts[-2:, 1] = dropped.sum(axis=0), (dropped > 0).sum(axis=0)
    return _pad(data, np.concatenate((np.zeros(1, np.int64), ends)))


def _pad(data: UInt8s, offsets: Int64s) -> TextBatch:
    """The texts in a buffer with room after the last of them, so that none needs a tail."""
    whole = np.concatenate((data, np.zeros(PADDING, np.uint8)))
    nothing = np.frombuffer(bytes(PADDING), np.uint8)
    return TextBatch(whole, offsets, nothing, np.int64(len(whole)))
