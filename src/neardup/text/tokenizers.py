"""Tokenizers: functions from a text to its tokens, of this program or of another package.

A tokenizer takes a str and returns ``(token, begin, end)`` for each token, in order: the token comes from
``text[begin:end]``. The tokens are compared in place of the words of the text. Another package registers one as an
entry point of the group ``neardup.tokenizers``, whose name is the value of the setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError
from neardup.runtime import installed_version
from neardup.text.entry_points import described_point, entry_points_of, loaded_point

Tokenizer = Callable[[str], Iterable[tuple[str, int, int]]]

GROUP = "neardup.tokenizers"
_OWN = ("code",)
_NAME = re.compile(r"([a-z0-9][a-z0-9_-]{0,31})")
_SIGN = "\ua66e"  # a letter that few texts have: it begins the words that stand for other tokens


class TokenText(NamedTuple):
    """Tokens as one text of words, and the characters [begin, end) from which each of its characters comes.

    ``begins`` and ``ends`` are int64[len(text)]; a space between two tokens comes from the place between them.
    """

    text: str
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


def tokenizer_names() -> tuple[str, ...]:
    """Return the names of all tokenizers, those of this program first."""
    return (*_OWN, *sorted(set(entry_points_of(GROUP, _NAME)) - set(_OWN)))


def tokenizer_version(name: str) -> str:
    """Return the package and version of a tokenizer, for the account of a run."""
    if name in _OWN:
        return f"neardup {installed_version('neardup') or 'unknown'}"
    return described_point(entry_points_of(GROUP, _NAME)[name])


@cache
def tokenizer_of(name: str) -> Tokenizer:
    """Return a tokenizer by its name, one of ``tokenizer_names``. Raises InputError if it cannot be imported."""
    if name in _OWN:
        from neardup.text.source_code import tokens_of_code

        return tokens_of_code
    found: Tokenizer = loaded_point(f"tokenizer {name}", entry_points_of(GROUP, _NAME)[name])
    return found


def tokens_as_words(text: str, name: str) -> TokenText:
    """Return the tokens of a text, by the tokenizer ``name``, as a text in which each token is one word.

    A token of ASCII letters and digits is itself; any other is a word of its own that no other token has. Words
    are compared without case, as always. Raises InputError if the tokenizer fails, or returns anything else.

    >>> tokens_as_words("x1 := 42 // ten", "code").text.split(" ")[::2]
    ['id', 'num']
    """
    tokenizer = tokenizer_of(name)
    words: list[str] = []
    spans: list[int] = []
    before = (0, 0)
    try:
        for token, begin, end in tokenizer(text):
            in_order = before[0] <= begin < end <= len(text) and before[1] <= end
            if not (isinstance(token, str) and token and in_order):
                raise ValueError(f"{token!r} at {begin!r} to {end!r}")
            words.append(as_word(token))
            before = (begin, end)
            spans += before
    except (Exception, SystemExit) as error:  # of another package, given a text that nobody has seen
        raise _failed(name, error) from error
    return laid_out(words, np.array(spans, np.int64).reshape(-1, 2))


def laid_out(words: list[str], spans: NDArray[np.int64]) -> TokenText:
    """Join words by spaces; each of their characters comes from the span of its word (int64[words, 2])."""
    lengths = np.array([len(word) for word in words], np.int64)
    begins, ends = (np.repeat(spans[:, side], lengths + 1)[:-1] for side in (0, 1))
    between = np.cumsum(lengths + 1)[:-1] - 1
    begins[between] = ends[between] = spans[:-1, 1] if len(words) else spans[:, 1]
    return TokenText(" ".join(words), begins, ends)


def as_word(token: str) -> str:
    """Return a token as a single word."""
    if token.isascii() and token.isalnum():
        return token
    return _SIGN + token.casefold().encode("utf-8", "surrogatepass").hex()


def _failed(name: str, error: Any) -> InputError:
    return InputError(
        f"The tokenizer {name} fails on a text: {type(error).__name__}: {error}",
        "(token, begin, end) for each token in order, a str that is not empty and its place in the text",
        f"Mend the package {tokenizer_version(name)}, or choose another tokenizer",
    )
