"""Tokens and shingles of one text, and the overlap of two sets, as plain Python values."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import TypeAlias

import numpy as np

from neardup.errors import InputError
from neardup.kernels.text.keyed import AS_IS, PADDING
from neardup.kernels.text.keyed import hash_tokens as hash_all
from neardup.settings import Settings
from neardup.tables import UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.units import read

TextOrSet: TypeAlias = str | Set[object]
"""A text, which stands for the set of its shingles, or any set."""


def tokens(text: str, *, unit: str = "word") -> list[str]:
    """Return the tokens of a text in their compared form, in order; with ``unit="char"`` its characters.

    Case, punctuation and layout are normalised as in every comparison (docs/explanation/tokens.md). Raises
    InputError for anything but a str, and SettingError for another unit.

    >>> tokens("Dr. Müller PAYS!")
    ['dr', 'müller', 'pays']
    >>> tokens("A b", unit="char")
    ['a', ' ', 'b']
    """
    return read(text).units(_checked(5, unit)).strings


def shingles(text: str, *, length: int = 5, unit: str = "word") -> set[str]:
    """Return the shingles of a text: its runs of ``length`` tokens, joined by spaces, or of characters.

    A text with fewer tokens has one shingle, all of it; a text without a token has none. Raises InputError for
    anything but a str, and SettingError for a length or unit out of range.

    >>> sorted(shingles("a rose is a rose is a rose", length=4))
    ['a rose is a', 'is a rose is', 'rose is a rose']
    """
    by_word = _checked(length, unit)
    units, joint = read(text).units(by_word).strings, " " if by_word else ""
    if not units:
        return set()
    return {joint.join(units[at : at + length]) for at in range(max(1, len(units) - length + 1))}


def jaccard(a: TextOrSet, b: TextOrSet, *, length: int = 5, unit: str = "word") -> float:
    """Return the resemblance |A∩B| / |A∪B| of two texts, by their shingles, or of two sets of anything.

    Two empty sets have resemblance 1. Raises InputError for anything else, and SettingError for a length or unit
    out of range (Broder 1997, "On the resemblance and containment of documents", section 2).

    >>> jaccard({1, 2, 3}, {2, 3, 4}), jaccard("the night is dark", "the night is red", length=2)
    (0.5, 0.5)
    """
    one, other = _set_of(a, length, unit), _set_of(b, length, unit)
    union = len(one | other)
    return len(one & other) / union if union else 1.0


def containment(a: TextOrSet, b: TextOrSet, *, length: int = 5, unit: str = "word") -> float:
    """Return the containment |A∩B| / |A| of ``a`` in ``b``: the share of A that is in B.

    The empty set is contained in the empty set only. Arguments and errors are those of :func:`jaccard`.

    >>> containment("the night is", "the night is dark", length=2)
    1.0
    """
    one, other = _set_of(a, length, unit), _set_of(b, length, unit)
    return len(one & other) / len(one) if one else float(not other)


def hash_tokens(tokens: Iterable[str]) -> UInt64s:
    """Return the published hash of each token, uint64[n], in order; the tokens are not normalised.

    The hashes are the same in every installation. They are those of the words that signatures are made from,
    and they suit ``of_ids`` of any family. Raises InputError for anything but str.

    >>> [hex(value) for value in hash_tokens(["night", ""]).tolist()]
    ['0x4aee0ee892a2e805', '0x0']
    """
    if isinstance(tokens, str):
        raise InputError("The tokens are one str", "A list of str", "Use tokens(text) to cut a text into tokens")
    encoded = [_utf8(token) for token in tokens]
    stops = np.cumsum(np.array([len(token) for token in encoded], np.int64), dtype=np.int64)
    edges = np.column_stack((np.concatenate((np.zeros(1, np.int64), stops))[:-1], stops)).reshape(-1)
    data = np.frombuffer(b"".join(encoded) + bytes(PADDING), np.uint8)
    hashes = np.empty(len(encoded), np.uint64)
    hash_all(data, edges, len(encoded), AS_IS, PUBLIC, hashes)
    hashes[edges[::2] == edges[1::2]] = 0  # the kernel reads tokens of at least one byte
    return hashes


def _utf8(token: object) -> bytes:
    if not isinstance(token, str):
        raise InputError(f"A token is a {type(token).__name__}", "Tokens of type str", "Use of_ids for numbers")
    return token.encode("utf-8", "replace")


def _set_of(given: TextOrSet, length: int, unit: str) -> Set[object]:
    if isinstance(given, str):
        return shingles(given, length=length, unit=unit)
    if not isinstance(given, Set):
        raise InputError(f"One side is a {type(given).__name__}", "Two texts, or two sets", "Make a set of it")
    return given


def _checked(length: int, unit: str) -> bool:
    """Return whether the unit is the word. Raises SettingError for a length or unit out of range."""
    return Settings.of(length=length, unit=unit).shingles.unit == "word"
