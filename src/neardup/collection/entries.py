"""Compute the columns that a store keeps of texts; pure functions over Arrow arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.collection.contract import Entries
from neardup.collection.packing import pack
from neardup.collection.portions import PORTION, portioned
from neardup.collection.settings import CollectionSettings
from neardup.kernels.sketch.samples import ALL
from neardup.kernels.text.streams import token_streams
from neardup.runtime import UNLIMITED, Deadline
from neardup.sketch.batches import text_batch
from neardup.sketch.cleaning import cleaned
from neardup.sketch.documents import ShingleSets, shingle_sets, sign
from neardup.sketch.sampled import SampledShingles
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.text.unicode_data import unicode_tables


def entries_of(
    texts: pa.Array,
    ids: Sequence[str],
    metadata: Sequence[Mapping[str, Any]],
    settings: CollectionSettings,
    deadline: Deadline = UNLIMITED,
) -> Entries:
    """Compute the entries of texts: an Arrow array of strings or bytes, nulls counting as empty.

    Releases the GIL for most of its time. With a limited ``deadline``, it processes a few texts at a time, and a
    large text portion by portion, and raises LimitError when the deadline passes between two of them.
    """
    if not deadline.limited:
        return _entries(texts, ids, metadata, settings)
    parts = []
    for begin, end in _together(np.diff(text_batch(texts).offsets)):
        deadline.check()
        of = texts[begin:end], ids[begin:end], metadata[begin:end], settings
        size = pc.sum(pc.binary_length(of[0])).as_py() or 0
        parts.append(_entries(*of) if size <= PORTION else _large(*of, deadline))
    return parts[0] if len(parts) == 1 else _joined(parts) if parts else _entries(texts, ids, metadata, settings)


def _together(sizes: Int64s) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive texts with at most PORTION bytes together; a larger text has a range of its own."""
    begin = total = 0
    for k, size in enumerate(sizes.tolist()):
        if total + size > PORTION and k > begin:
            yield begin, k
            begin, total = k, 0
        total += size
    if begin < len(sizes):
        yield begin, len(sizes)


def _large(
    texts: pa.Array,
    ids: Sequence[str],
    metadata: Sequence[Mapping[str, Any]],
    settings: CollectionSettings,
    deadline: Deadline,
) -> Entries:
    """The entries of ``texts``, which holds one large text."""
    batch = text_batch(texts)
    [text] = pc.cast(texts, pa.large_binary()).to_pylist()
    made = portioned(text, settings, deadline)
    deadline.check()
    whole = ShingleSets(made.shingles, np.array([0, len(made.shingles)], np.int64))
    hashes, offsets = sample(whole, settings.sample)
    return Entries(
        ids=ids,
        packed=[pack(text)],
        metadata=metadata,
        streams=[made.stream],
        sizes=np.diff(batch.offsets),
        tokens=np.array([made.tokens], np.int64),
        shingles=whole.sizes,
        hashes=hashes,
        offsets=offsets,
        signatures=made.signature.reshape(1, -1),
    )


def _joined(parts: Sequence[Entries]) -> Entries:
    lists: dict[str, Any] = {
        name: [each for part in parts for each in getattr(part, name)]
        for name in ("ids", "packed", "metadata", "streams")
    }
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("sizes", "tokens", "shingles", "hashes", "signatures")
    }
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    return Entries(**lists, **arrays, offsets=np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))))


def _entries(
    texts: pa.Array, ids: Sequence[str], metadata: Sequence[Mapping[str, Any]], settings: CollectionSettings
) -> Entries:
    batch = text_batch(texts)
    streams = token_stream(texts)
    sets = shingle_sets(texts, np.arange(len(texts)), settings.fingerprint, settings.key)
    hashes, offsets = sample(sets, settings.sample)
    bounds = batch.offsets.tolist()
    whole = memoryview(batch.data)
    return Entries(
        ids=ids,
        packed=[pack(whole[begin:end]) for begin, end in pairwise(bounds)],
        metadata=metadata,
        streams=streams.texts,
        sizes=np.diff(batch.offsets),
        tokens=streams.tokens,
        shingles=sets.sizes,
        hashes=hashes,
        offsets=offsets,
        signatures=_signatures(texts, settings),
    )


class TokenStream(NamedTuple):
    """The tokens of each text, each followed by a space, and their number (int64[n])."""

    texts: list[str]
    tokens: Int64s


def token_stream(texts: pa.Array) -> TokenStream:
    """The tokens of texts as text again."""
    streams, ends, tokens = token_streams(text_batch(texts), unicode_tables())
    whole = streams.tobytes()
    return TokenStream([whole[begin:end].decode("utf-8") for begin, end in pairwise([0, *ends.tolist()])], tokens)


def sample(sets: ShingleSets, family: SampledShingles) -> tuple[UInt64s, Int64s]:
    """The samples of shingle sets, as ``family.sketch`` makes them: (hashes uint64, offsets int64[n + 1]).

    A set is sorted, so its sample is its beginning.
    """
    below = np.zeros(len(sets.hashes) + 1, np.int64)
    np.cumsum((sets.hashes < np.uint64(family.limit)) | (np.uint64(family.limit) == ALL), out=below[1:])
    kept = below[sets.offsets[1:]] - below[sets.offsets[:-1]]
    kept = np.maximum(kept, np.minimum(sets.sizes, family.floor))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept)))
    places = np.repeat(sets.offsets[:-1] - offsets[:-1], kept) + np.arange(offsets[-1])
    return sets.hashes[places], offsets


def _signatures(texts: pa.Array, settings: CollectionSettings) -> UInt32s:
    """The signatures of ``MinHash``, which have no secret; all ones for a text without words that count."""
    made, signatures = cleaned(texts, settings.fingerprint), np.empty((len(texts), settings.slots), np.uint32)
    units, _ = sign(made.texts, made.settings, signatures, np.empty((0, 2), np.uint64))
    signatures[units == 0] = np.uint32(0xFFFF_FFFF)
    return signatures


__all__ = ["TokenStream", "entries_of", "sample", "token_stream"]
