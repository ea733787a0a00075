"""Stop words: words too common to matter, by language or as given."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from neardup.errors import SettingError
from neardup.tables import UInt64s
from neardup.text.units import words


def stop_word_hashes(chosen: str | Collection[str] | None) -> UInt64s:
    """Return the sorted distinct token hashes (uint64) of the chosen stop words.

    ``chosen`` is an ISO 639-1 code ("en") of a list in the package ``stopwordsiso``, or the words themselves; None
    means no words. Comparison works on tokens, so each token of an entry counts (``don't``: *don* and *t*). Raises
    SettingError for an unknown language, or if the package is not installed.

    >>> len(stop_word_hashes(["The", "don't"]))
    3
    """
    if chosen is None:
        return np.empty(0, np.uint64)
    entries = words_of(chosen) if isinstance(chosen, str) else list(chosen)
    if not all(isinstance(entry, str) for entry in entries):
        raise SettingError("Stop words of another type than str are not possible", "Words, each a str")
    return np.unique(words("\n".join(entries)).hashes)


def words_of(language: str) -> list[str]:
    """Return the stop words of a language, sorted (ISO 639-1 code, in either case)."""
    try:
        import stopwordsiso
    except ImportError:
        raise SettingError(
            f"The stop words of {language!r} are not here",
            "Lists by language come with the package stopwordsiso",
            "Install it with: pip install 'neardup[stopwords]', or give the words themselves",
        ) from None
    if not stopwordsiso.has_lang(language):
        known = ", ".join(sorted(stopwordsiso.langs()))
        raise SettingError(
            f"The language {language!r} has no list of stop words",
            f"One of {known}",
            "Give the words themselves, as a list",
        )
    return sorted(stopwordsiso.stopwords(language))
