"""The text that counts, by hand: masks of Python's own expressions, and lists of tokens without some of them.

Python's ``re`` and RE2 agree on the expressions of the tests; on hostile texts only RE2 may be used.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from neardup.unicode import tokens


def masked(text: str, masks: Collection[str]) -> str:
    """Return the text with a space in place of each character that one of the masks matches."""
    gone = {at for mask in masks for found in re.finditer(mask, text) for at in range(*found.span())}
    return "".join(" " if at in gone else char for at, char in enumerate(text))


def remaining(text: str, masks: Collection[str], numbers: bool, stop_words: Collection[str]) -> list[str]:
    """Return the tokens that count."""
    out = {token for word in stop_words for token in tokens(word)}
    found = tokens(masked(text, masks))
    return [one for one in found if one not in out and not (numbers and _is_number(one))]


def by_hand(text: str, masks: Collection[str], numbers: bool, stop_words: Collection[str]) -> str:
    """Return the tokens that count as one text."""
    return " ".join(remaining(text, masks, numbers, stop_words))


def _is_number(token: str) -> bool:
    return all(unicodedata.category(char) == "Nd" for char in token)
