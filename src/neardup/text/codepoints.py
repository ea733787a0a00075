"""Texts as code points, for computing a property of every character of a long text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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
