"""The displayed form of texts: characters that cannot be shown as they are, are spelled out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.kernels.text.wrapping import spell
from neardup.tables import Int64s
from neardup.text.codepoints import Codepoints, codepoints_of, of_each, text_of

_RETURN, _FEED = ord("\r"), ord("\n")


@dataclass(frozen=True, eq=False)
class Spelled:
    """A text spelled out: its code points, and where each character of the original begins (None: unchanged)."""

    codepoints: Codepoints
    begins: Int64s | None

    @property
    def text(self) -> str:
        """The text, spelled out."""
        return text_of(self.codepoints)

    def at(self, characters: Int64s) -> Int64s:
        """Return where these characters of the original begin."""
        return characters if self.begins is None else self.begins[characters]


def spelled(text: str, of: Callable[[str], str]) -> Spelled:
    r"""Replace each character by the result of ``of``, and a two-character line end by a line feed.

    >>> spelled("a\r\n<b>", lambda char: "&lt;" if char == "<" else char).text
    'a\n&lt;b>'
    """
    codepoints = codepoints_of(text)
    words = [""]

    def number_of(char: str) -> int:
        word = of(char)
        if word == char:
            return 0
        words.append(word)
        return len(words)

    spelling = of_each(codepoints, number_of, np.int32)
    spelling[:-1][(codepoints[:-1] == _RETURN) & (codepoints[1:] == _FEED)] = 1
    if not spelling.any():
        return Spelled(codepoints, None)
    bounds = np.cumsum([0, *map(len, words)])
    return Spelled(*spell(codepoints, spelling, codepoints_of("".join(words)), bounds))
