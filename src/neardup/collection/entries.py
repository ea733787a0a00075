"""Entries: the columns that a store keeps of documents, computed from their texts.

The entry of a large text is computed portion by portion, so that the work can stop between two portions. A text is
cut where neither normalisation nor tokens reach across: before an ASCII character that is not part of a token, or
before a Han ideograph, which is a token of its own. The tokens of the portions, one after the other, are the
tokens of the text. Shingles are made from stretches of these tokens, and the set is assembled by ranges of its
hashes.

Texts are stored compressed, after a checksum and their length. LZ4, because a search unpacks every candidate: zlib
needs a third fewer bytes for a text of 3 kB, but takes five times as long to unpack it, and eight times to pack it
(measured).
"""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.collection.contract import Entries, StoredRow
from neardup.collection.fields import differing_parts
from neardup.collection.records import CopyClass, Likeness
from neardup.collection.settings import CollectionSettings
from neardup.collection.store import Store
from neardup.comparison.first_difference import first_difference
from neardup.errors import FormatError
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch import ALL, sketch_sets
from neardup.kernels.sorting import sort_distinct
from neardup.kernels.text import Key, token_streams
from neardup.runtime import UNLIMITED, Deadline
from neardup.settings import TextSettings
from neardup.tables import Bools, Int64s, UInt8s, UInt32s, UInt64s
from neardup.text.characters import canonical
from neardup.text.keys import PUBLIC
from neardup.text.sketch import (
    SampledShingles,
    ShingleSets,
    classic_coefficients,
    clean_texts,
    shingle_sets,
    sign,
    text_batch,
    without_masks,
)
from neardup.unicode import unicode_tables

PORTION = 1 << 20
"""Bytes of a portion; it is longer where the text cannot be cut."""
STRETCH = 1 << 18
"""Shingles that are made and sorted at a time."""
_RUN = 4
"""A portion longer than this many times ``PORTION`` is measured before it is read as a whole."""

_BREAKS: Bools = np.zeros(256, np.bool_)
_BREAKS[:128] = [not (chr(byte).isalnum() or chr(byte) == "_") for byte in range(128)]
# the first bytes of U+5000 to U+8FFF: no normalisation changes these, or joins them to the preceding text
_BREAKS[0xE5:0xE9] = True


class Portioned(NamedTuple):
    """The data of one text: its token stream, number of tokens, sorted set of shingles, and signature."""

    stream: str
    tokens: int
    shingles: UInt64s
    signature: UInt32s


def portions(text: bytes, deadline: Deadline = UNLIMITED) -> Iterator[bytes]:
    """The text in portions that can be normalised and tokenised separately. Raises LimitError."""
    whole = np.frombuffer(text, np.uint8)
    begin = 0
    while begin < len(text):
        end = _next_break(whole, begin + PORTION, deadline)
        deadline.check()
        yield text[begin:end]
        begin = end


def _next_break(whole: UInt8s, begin: int, deadline: Deadline) -> int:
    for at in range(begin, len(whole), PORTION):
        deadline.check()
        found = _BREAKS[whole[at : at + PORTION]]
        first = int(np.argmax(found))
        if found[first]:
            return at + first
    return len(whole)


def streams(text: bytes, most: int, deadline: Deadline = UNLIMITED) -> Iterator[bytes | None]:
    """The token streams of the portions, ended by None if they have more than ``most`` bytes in sum.

    A long portion is measured in parts before it is normalised: a character becomes up to 18 others. Raises
    LimitError.
    """
    size = 0
    for portion in portions(text, deadline):
        ahead = 0
        if len(portion) > _RUN * PORTION:
            for at in range(0, len(portion), PORTION):
                deadline.check()
                ahead += len(_stream(portion[at : at + PORTION])[0])
                if size + ahead > most:
                    yield None
                    return
        stream, _ = _stream(portion)
        size += len(stream)
        if size > most:
            yield None
            return
        yield stream


def _stream(portion: bytes) -> tuple[bytes, int]:
    made, _, tokens = token_streams(text_batch(_array(portion)), unicode_tables())
    return made.tobytes(), int(tokens[0])


def portioned_data(text: bytes, settings: CollectionSettings, deadline: Deadline = UNLIMITED) -> Portioned:
    """All data of a text. Raises LimitError when the deadline passes, between two portions."""
    kept: list[str] = []
    n_tokens = 0
    counted: list[UInt64s] = []
    published: list[UInt64s] = []
    for portion in portions(text, deadline):
        stream, n = _stream(portion)
        kept.append(stream.decode("utf-8"))
        n_tokens += n
    masked, form = without_masks(text, settings.fingerprint)
    for portion in portions(masked, deadline):
        for key, into in ((settings.key, counted), (PUBLIC, published)):
            deadline.check()
            into.append(_tokens(portion, form, key))
    signature = _signature(_joined_sets(published), settings, deadline)
    published.clear()
    return Portioned("".join(kept), n_tokens, _shingle_set(_joined_sets(counted), settings, deadline), signature)


def _tokens(portion: bytes, form: TextSettings, key: Key) -> UInt64s:
    return shingle_sets(_array(portion), np.zeros(1, np.int64), form, key, "tokens").hashes


def _array(portion: bytes) -> Any:
    return pa.array([portion], pa.large_binary())


def _joined_sets(parts: list[UInt64s]) -> UInt64s:
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _stretches(tokens: UInt64s, length: int, key: Key, deadline: Deadline) -> Iterator[UInt64s]:
    """The hashes of the shingles in text order, ``STRETCH`` at a time."""
    for begin in range(0, max(1, len(tokens) - length + 1), STRETCH):
        deadline.check()
        part = tokens[begin : begin + STRETCH + length - 1]
        hashes = np.empty(max(len(part), 1), np.uint64)
        yield hashes[: shingle_hashes(part, len(part), length, key.shingles, hashes)]


def _distinct(hashes: UInt64s) -> UInt64s:
    found: UInt64s = hashes[: sort_distinct(hashes, len(hashes), np.empty_like(hashes))]
    return found


def _shingle_set(tokens: UInt64s, settings: CollectionSettings, deadline: Deadline) -> UInt64s:
    """The sorted set of the shingles.

    Each stretch is sorted separately; then all stretches are merged, one range of hashes at a time.
    """
    sets = [_distinct(hashes).copy() for hashes in _stretches(tokens, settings.length, settings.key, deadline)]
    if len(sets) == 1:
        return sets[0]
    edges = np.array([((1 << 64) * k) // len(sets) for k in range(1, len(sets))], np.uint64)
    cuts = [[0, *np.searchsorted(part, edges).tolist(), len(part)] for part in sets]
    merged = []
    for k in range(len(sets)):
        deadline.check()
        ranges = [part[at[k] : at[k + 1]] for part, at in zip(sets, cuts, strict=True)]
        merged.append(_distinct(np.concatenate(ranges)))
    return np.concatenate(merged)


def _signature(tokens: UInt64s, settings: CollectionSettings, deadline: Deadline) -> UInt32s:
    """The signature of the whole text, from the signatures of its stretches.

    A slot chosen by some shingle has the least value among the stretches that chose it, any other slot the least
    of all.
    """
    a, b = classic_coefficients(settings.slots)
    least = np.full((2, settings.slots), np.uint32(0xFFFF_FFFF))
    chosen_by_any = np.zeros(settings.slots, np.bool_)
    for hashes in _stretches(tokens, settings.length, PUBLIC, deadline):
        found, chosen = np.empty((1, settings.slots), np.uint32), np.empty((1, settings.slots), np.bool_)
        sketch_sets(hashes, np.array([0, len(hashes)], np.int64), False, a, b, found, chosen)
        for row, slots in ((0, chosen[0]), (1, ~chosen[0])):
            np.minimum(least[row], found[0], out=least[row], where=slots)
        chosen_by_any |= chosen[0]
    signature: UInt32s = np.where(chosen_by_any, least[0], least[1])
    return signature


_CODEC = pa.Codec("lz4_raw")
_HEAD = struct.Struct("<II")
_MOST = 255
"""The most bytes that one byte of LZ4 expands to."""


def pack(text: bytes | memoryview) -> bytes:
    """Compress a text.

    >>> unpack(pack(b"some text"), "an id")
    b'some text'
    """
    data: bytes = _CODEC.compress(text, asbytes=True)
    return _HEAD.pack(zlib.crc32(text), len(text)) + data


def text_bytes(packed: bytes) -> int:
    """Return the bytes of a text as its stored form states them; 0 for bytes that are none."""
    return int(_HEAD.unpack_from(packed)[1]) if len(packed) >= _HEAD.size else 0


def unpack(packed: bytes, id: str) -> bytes:
    """Restore the text of the document ``id``. Raises FormatError if the stored bytes are damaged."""
    try:
        check, length = _HEAD.unpack_from(packed)
        if length <= _MOST * len(packed):
            text: bytes = _CODEC.decompress(memoryview(packed)[_HEAD.size :], length, asbytes=True)
            if zlib.crc32(text) == check:
                return text
    except (OSError, TypeError, struct.error) as error:  # TypeError: a flipped bit made it a non-bytes value
        raise _damaged_error(id) from error
    raise _damaged_error(id)


def likeness(
    own: Mapping[str, Any], other: Mapping[str, Any], texts: tuple[bytes, bytes] | None, *, known: bool
) -> Likeness:
    """Return the likeness of two documents by their metadata, and by their ``texts`` if they may be copies.

    ``known``: a document whose metadata names no parts beside its text has none.
    """
    return Likeness(*_class_of(*texts) if texts else (None, None), differing_parts(own, other, known=known))


def _class_of(own: bytes, other: bytes) -> tuple[CopyClass | None, str | None]:
    """Return the class of two texts as copies, and the first difference of the same words."""
    if own == other:
        return "identical", None
    if canonical(own.decode("utf-8", "replace")) == canonical(other.decode("utf-8", "replace")):
        return "identical", None
    first, second = token_stream(pa.array([own, other], pa.large_binary())).texts
    if first != second:
        return None, None
    return "same words", first_difference(own, other)


def _damaged_error(id: str) -> FormatError:
    return FormatError(
        f"The stored text of document {id!r} is damaged",
        "",
        "Restore the collection from a copy, or remove the document and add it again",
    )


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
    return (
        parts[0]
        if len(parts) == 1
        else _joined_entries(parts)
        if parts
        else _entries(texts, ids, metadata, settings)
    )


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
    made = portioned_data(text, settings, deadline)
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


def _joined_entries(parts: Sequence[Entries]) -> Entries:
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
    made, signatures = clean_texts(texts, settings.fingerprint), np.empty((len(texts), settings.slots), np.uint32)
    units, _ = sign(made.texts, made.settings, signatures, np.empty((0, 2), np.uint64))
    signatures[units == 0] = np.uint32(0xFFFF_FFFF)
    return signatures


def entries_again(store: Store, numbers: Int64s) -> Entries:
    """Recompute the entries of stored documents from their texts, in the order of ``numbers``."""
    read = loaded_texts(store, numbers)
    rows, texts = [row for row, _ in read], [text for _, text in read]
    made = entries_of(
        pa.array(texts, pa.large_binary()),
        [row.id for row in rows],
        [row.metadata for row in rows],
        store.settings,
    )
    # as stored: another LZ4 may compress differently, and the totals count the stored bytes
    return replace(made, packed=store.packed(numbers))


def loaded_texts(store: Store, numbers: Int64s) -> list[tuple[StoredRow, bytes]]:
    """Return documents with their texts, in the order of ``numbers``. Raises FormatError if any is incomplete."""
    try:
        rows, packed = store.rows(numbers), store.packed(numbers)
        read = [(row, unpack(data, row.id)) for row, data in zip(rows, packed, strict=True)]
    except (KeyError, ValueError) as error:
        raise FormatError(
            "The collection is damaged: documents lack their row or their text", "", "Restore it from a copy"
        ) from error
    for row, text in read:
        if len(text) != row.size:
            raise FormatError(f"The text of document {row.id!r} is not its own", "", "Restore it from a copy")
    return read
