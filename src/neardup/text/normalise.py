"""Turn text into tokens and shingles: a plain interface to the kernels, one text at a time.

A token is a maximal run of letters, marks, numbers and connector punctuation of the normalised text; in scripts
written without spaces (Han, Hiragana, Thai, Lao, Khmer, Myanmar) each grapheme cluster is a token. Normalised
means toNFKC_Casefold of Unicode 15.0.0, regardless of the interpreter's version.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neardup.errors import SettingError
from neardup.kernels.text import tokens as token_kernel
from neardup.kernels.text import unicode as unicode_kernel
from neardup.text.unicode_data import unicode_tables

Unit = Literal["word", "char"]


def normalise(text: str) -> str:
    """Return toNFKC_Casefold(text): no differences of case, width, ligatures, invisible characters or encoding.

    A lone surrogate, which UTF-8 text cannot contain, becomes U+FFFD.

    >>> normalise("ＦＵＬＬ　width, soft\\u00adhyphen, Stra\\u00dfe, e\\u0301")
    'full width, softhyphen, strasse, é'
    """
    codepoints, n = _normalised(text)
    return _text(codepoints, n)


def tokens(text: str) -> list[str]:
    """Return the tokens of the normalised text, in order.

    >>> tokens("Two_words, WORDS; 東京です")
    ['two_words', 'words', '東', '京', 'で', 'す']
    """
    codepoints, n = _normalised(text)
    out = np.empty(4 * n + 64, np.uint8)
    ends = np.empty(n, np.int64)
    n_tokens = int(token_kernel.tokenise(codepoints, n, unicode_tables(), out, ends))
    stops = ends[:n_tokens].tolist()
    # '_' is byte 0x7F in the kernels' hash convention; DEL is never in a token, so the reverse mapping is unique
    found = out[: stops[-1] if stops else 0].tobytes().replace(b"\x7f", b"_")
    return [found[start:stop].decode("utf-8") for start, stop in zip([0, *stops], stops, strict=False)]


def shingles(text: str, length: int = 5, unit: Unit = "word") -> set[tuple[str, ...]]:
    """Return the set of all runs of ``length`` consecutive units of the text.

    The units are its tokens or, with ``unit="char"``, the characters of the normalised text with white space
    collapsed and trimmed. A text with fewer units, but at least one, has one shingle: all of them. A text without
    units has no shingle.

    >>> sorted(shingles("the cat sat down", length=3))
    [('cat', 'sat', 'down'), ('the', 'cat', 'sat')]
    >>> shingles("the cat")
    {('the', 'cat')}
    """
    if length < 1:
        raise SettingError(f"A shingle length of {length} is not possible", "1 or more")
    if unit not in get_args(Unit):
        raise SettingError(f"The unit {unit!r} is not known", f"One of {', '.join(get_args(Unit))}")
    found = units(text, unit)
    if not found:
        return set()
    last = max(len(found) - length, 0)
    return {tuple(found[start : start + length]) for start in range(last + 1)}


def units(text: str, unit: str) -> list[str]:
    """Return the units of shingles, in order: tokens, or the characters of the normalised text.

    >>> units("To be", "char")
    ['t', 'o', ' ', 'b', 'e']
    """
    return tokens(text) if unit == "word" else _characters(text)


def _normalised(text: str) -> tuple[NDArray[np.uint32], int]:
    """Return an array that begins with the normalised code points, and their number."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        data = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text).encode("utf-8")
    codepoints, n, _ = unicode_kernel.normalise(np.frombuffer(data, np.uint8), 0, len(data), unicode_tables())
    return codepoints, int(n)


def _characters(text: str) -> list[str]:
    """Return the characters of the normalised text with white space collapsed and trimmed."""
    codepoints, n = _normalised(text)
    return list(_text(codepoints, int(token_kernel.collapse_white_space(codepoints, n, unicode_tables()))))


def _text(codepoints: NDArray[np.uint32], n: int) -> str:
    """Return the first n code points as a string."""
    return codepoints[:n].astype("<u4").tobytes().decode("utf-32-le")
