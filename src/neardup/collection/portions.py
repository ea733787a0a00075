"""Compute the entry of a large text portion by portion, so that the work can stop between two portions.

A text is cut where neither normalisation nor tokens reach across: before an ASCII character that is not part of a
token, or before a Han ideograph, which is a token of its own. The tokens of the portions, one after the other, are
the tokens of the text. Shingles are made from stretches of these tokens, and the set is assembled by ranges of its
hashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from neardup.collection.settings import CollectionSettings
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.sketch.minhash import sketch_sets
from neardup.kernels.sorting import sort_distinct
from neardup.kernels.text.keyed import Key
from neardup.kernels.text.streams import token_streams
from neardup.runtime import UNLIMITED, Deadline
from neardup.settings import TextSettings
from neardup.sketch.batches import text_batch
from neardup.sketch.cleaning import without_masks
from neardup.sketch.coefficients import classic_coefficients
from neardup.sketch.documents import shingle_sets
from neardup.tables import Bools, UInt8s, UInt32s, UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.unicode_data import unicode_tables

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


def portioned(text: bytes, settings: CollectionSettings, deadline: Deadline = UNLIMITED) -> Portioned:
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
    signature = _signature(_joined(published), settings, deadline)
    published.clear()
    return Portioned("".join(kept), n_tokens, _set(_joined(counted), settings, deadline), signature)


def _tokens(portion: bytes, form: TextSettings, key: Key) -> UInt64s:
    return shingle_sets(_array(portion), np.zeros(1, np.int64), form, key, "tokens").hashes


def _array(portion: bytes) -> Any:
    return pa.array([portion], pa.large_binary())


def _joined(parts: list[UInt64s]) -> UInt64s:
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


def _set(tokens: UInt64s, settings: CollectionSettings, deadline: Deadline) -> UInt64s:
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


__all__ = ["PORTION", "Portioned", "portioned", "portions", "streams"]
