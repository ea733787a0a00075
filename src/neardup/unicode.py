"""Unicode: its tables, texts as code points, and text in its compared form, one text at a time.

The version is pinned: another version of Unicode may normalise or split a text differently, and fingerprints from
two installations would not be comparable. ``scripts/make_unicode_tables.py`` makes the tables from the Unicode
Character Database; they are shipped with the package.

A token is a maximal run of letters, marks, numbers and connector punctuation of the normalised text, without the
connectors at its edges; in scripts written without spaces (Han, Hiragana, Thai, Lao, Khmer, Myanmar) each grapheme
cluster is a token. Normalised means toNFKC_Casefold of Unicode 15.0.0 without tatweel (U+0640), regardless of the
interpreter's version.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from neardup.errors import SettingError
from neardup.kernels.declarations import Int64s, Uint16s, Uint32s, record
from neardup.kernels.text import collapse_white_space, tokenise
from neardup.kernels.text import normalise as kernel_normalise

UNICODE_VERSION = "15.0.0"
TABLE_FILE = Path(__file__).with_name(f"unicode-{UNICODE_VERSION}.npz")

# Decimal digits zero (general category Nd, numeric value 0) of Unicode 15.0.0, except those that normalisation
# turns into another one; the digits 1 to 9 follow each of them.
DIGITS_ZERO = np.array(
    [
        *(0x0030, 0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66),
        *(0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50),
        *(0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x104A0, 0x10D30),
        *(0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0, 0x11650, 0x116C0, 0x11730, 0x118E0),
        *(0x11950, 0x11C50, 0x11D50, 0x11DA0, 0x11F50, 0x16A60, 0x16AC0, 0x16B50, 0x1E140, 0x1E2F0, 0x1E4F0),
        0x1E950,
    ],
    np.int64,
)

_SURELY_NORMAL = re.compile("[\0-\u02ff]*").fullmatch


@record
class UnicodeTables(NamedTuple):
    """The properties of all code points, as arrays passed to the kernels in one argument.

    The record of code point c is ``blocks[block_of[c >> 7] << 7 | c & 127]``: the low 8 bits are the flags
    named in ``kernels/text/unicode.py``, the rest is a payload. With flag MAPPED it is the NFKC_Casefold
    mapping: the one code point c maps to or, with TO_POOL, ``offset << 5 | length`` of a sequence in
    ``pool`` (length 0: c is removed). Without MAPPED it is ``ccc | (offset << 2 | length - 1) << 8``:
    the canonical combining class and the full canonical decomposition in ``decompositions`` (offset 0:
    none; Hangul syllables are decomposed by arithmetic, The Unicode Standard, section 3.12).
    """

    block_of: Uint16s  # [8704] number of the block
    blocks: Uint32s  # [128 * distinct blocks]
    pool: Uint32s  # code points
    decompositions: Uint32s  # code points
    pair_keys: Int64s  # first << 21 | second of a canonical composition; 0 = empty slot
    pair_values: Uint32s  # the composite of the same slot


@cache
def unicode_tables() -> UnicodeTables:
    """Return the tables of Unicode ``UNICODE_VERSION``. They are read once, shared and read-only."""
    with np.load(TABLE_FILE, allow_pickle=False) as stored:
        version = stored["version"].tobytes().decode("ascii")
        if version != UNICODE_VERSION:
            raise ValueError(f"{TABLE_FILE.name} holds Unicode {version}, not {UNICODE_VERSION}. Reinstall.")
        return _shared_tables(stored[name] for name in UnicodeTables._fields)


@cache
def canonical_tables() -> UnicodeTables:
    """Return the tables of the normal form NFC alone, which changes neither case nor form.

    A code point that is never in NFC is MAPPED to its canonical decomposition; of the other flags the records have
    WHITE_SPACE.
    """
    with np.load(TABLE_FILE, allow_pickle=False) as stored:
        return _shared_tables(stored[f"nfc_{name}"] for name in UnicodeTables._fields)


def _shared_tables(arrays: Iterable[NDArray[Any]]) -> UnicodeTables:
    tables = UnicodeTables(*map(np.ascontiguousarray, arrays))
    for array in tables:
        array.setflags(write=False)
    return tables


Codepoints = NDArray[np.uint32]


def codepoints_of(text: str) -> Codepoints:
    """Return the code points of a text, uint32[characters], including lone surrogates.

    >>> codepoints_of("a\\u6771").tolist()
    [97, 26481]
    """
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32, copy=False)


def text_of(codepoints: Codepoints) -> str:
    """Return the text of code points (uint32).

    >>> text_of(codepoints_of("\\u6771\\u4eac"))
    '東京'
    """
    return codepoints.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")


def of_each(codepoints: Codepoints, of: Callable[[str], Any], dtype: DTypeLike) -> NDArray[Any]:
    """Apply a function to each character: ``dtype``[characters]. It is called once per distinct character.

    >>> of_each(codepoints_of("noon"), lambda char: char == "o", np.bool_).tolist()
    [False, True, True, False]
    """
    seen = np.zeros(int(codepoints.max(initial=0)) + 1, np.bool_)
    seen[codepoints] = True
    different = np.flatnonzero(seen)
    answers = np.zeros(len(seen), dtype)
    answers[different] = [of(char) for char in map(chr, different.tolist())]
    return answers[codepoints]


Unit = Literal["word", "char"]


def normalise(text: str) -> str:
    """Return toNFKC_Casefold(text): no differences of case, width, ligatures, invisible characters or encoding.

    Tatweel, which stretches Arabic words, is left out like an invisible character.

    A lone surrogate, which UTF-8 text cannot contain, becomes U+FFFD.

    >>> normalise("ＦＵＬＬ　width, soft\\u00adhyphen, Stra\\u00dfe, e\\u0301")
    'full width, softhyphen, strasse, é'
    """
    codepoints, n = _normalise(text)
    return _text(codepoints, n)


def nfc(text: str) -> str:
    """Return a text in Unicode's canonical normal form: NFC of Unicode 15.0.0 under any version of Python.

    A lone surrogate becomes U+FFFD.

    >>> nfc("cafe\u0301")
    'café'
    """
    if text.isascii() or _SURELY_NORMAL(text):
        return text
    from neardup.kernels.text import normal_points

    data = _utf8(text)
    return _text(*normal_points(np.frombuffer(data, np.uint8), 0, len(data), canonical_tables()))


def tokens(text: str) -> list[str]:
    """Return the tokens of the normalised text, in order.

    >>> tokens("Two_words, _WORDS_; 東京です")
    ['two_words', 'words', '東', '京', 'で', 'す']
    """
    codepoints, n = _normalise(text)
    out = np.empty(4 * n + 64, np.uint8)
    ends = np.empty(n, np.int64)
    n_tokens = int(tokenise(codepoints, n, unicode_tables(), out, ends))
    stops = ends[:n_tokens].tolist()
    # '_' is byte 0x7F in the kernels' hash convention; DEL is never in a token, so the reverse mapping is unique
    words = out[: stops[-1] if stops else 0].tobytes().replace(b"\x7f", b"_")
    return [words[start:stop].decode("utf-8") for start, stop in zip([0, *stops], stops, strict=False)]


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
    units_of = units(text, unit)
    if not units_of:
        return set()
    last = max(len(units_of) - length, 0)
    return {tuple(units_of[start : start + length]) for start in range(last + 1)}


def units(text: str, unit: str) -> list[str]:
    """Return the units of shingles, in order: tokens, or the characters of the normalised text.

    >>> units("To be", "char")
    ['t', 'o', ' ', 'b', 'e']
    """
    return tokens(text) if unit == "word" else _characters(text)


def _normalise(text: str) -> tuple[NDArray[np.uint32], int]:
    """Return an array that begins with the normalised code points, and their number."""
    data = _utf8(text)
    codepoints, n, _ = kernel_normalise(np.frombuffer(data, np.uint8), 0, len(data), unicode_tables())
    return codepoints, int(n)


def _utf8(text: str) -> bytes:
    """Return a text in UTF-8, lone surrogates as U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text).encode("utf-8")


def _characters(text: str) -> list[str]:
    """Return the characters of the normalised text with white space collapsed and trimmed."""
    codepoints, n = _normalise(text)
    return list(_text(codepoints, int(collapse_white_space(codepoints, n, unicode_tables()))))


def _text(codepoints: NDArray[np.uint32], n: int) -> str:
    """Return the first n code points as a string."""
    return codepoints[:n].astype("<u4").tobytes().decode("utf-32-le")
