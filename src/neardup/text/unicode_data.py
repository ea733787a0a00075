"""The Unicode tables: their contents and how they are loaded.

The version is pinned: another version of Unicode may normalise or split a text differently, and fingerprints from
two installations would not be comparable. ``scripts/make_unicode_tables.py`` makes the tables from the Unicode
Character Database; they are shipped with the package.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNICODE_VERSION = "15.0.0"
TABLE_FILE = Path(__file__).with_name(f"unicode-{UNICODE_VERSION}.npz")


class UnicodeTables(NamedTuple):
    """The properties of all code points, as arrays passed to the kernels in one argument.

    The record of code point c is ``blocks[block_of[c >> 7] << 7 | c & 127]``: the low 8 bits are the flags
    named in ``kernels/text/unicode.py``, the rest is a payload. With flag MAPPED it is the NFKC_Casefold
    mapping: the one code point c maps to or, with TO_POOL, ``offset << 5 | length`` of a sequence in
    ``pool`` (length 0: c is removed). Without MAPPED it is ``ccc | (offset << 2 | length - 1) << 8``:
    the canonical combining class and the full canonical decomposition in ``decompositions`` (offset 0:
    none; Hangul syllables are decomposed by arithmetic, The Unicode Standard, section 3.12).
    """

    block_of: NDArray[np.uint16]  # [8704] number of the block
    blocks: NDArray[np.uint32]  # [128 * distinct blocks]
    pool: NDArray[np.uint32]  # code points
    decompositions: NDArray[np.uint32]  # code points
    pair_keys: NDArray[np.int64]  # first << 21 | second of a canonical composition; 0 = empty slot
    pair_values: NDArray[np.uint32]  # the composite of the same slot


@cache
def unicode_tables() -> UnicodeTables:
    """Return the tables of Unicode ``UNICODE_VERSION``. They are read once and shared: never write to them."""
    with np.load(TABLE_FILE, allow_pickle=False) as stored:
        version = stored["version"].tobytes().decode("ascii")
        if version != UNICODE_VERSION:
            raise ValueError(f"{TABLE_FILE.name} holds Unicode {version}, not {UNICODE_VERSION}. Reinstall.")
        arrays = [np.ascontiguousarray(stored[name]) for name in UnicodeTables._fields]
    return UnicodeTables(*arrays)
