"""Messages are compared by their parts: the value, the number, the option that is named, and not the sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from neardup.errors import NeardupError


def has_parts(message: str, *parts: str) -> bool:
    """Whether a message has all parts, in this order, with any words between them.

    >>> has_parts("slots is 5000. Allowed: a number from 1 to 4,096.", "slots is 5000", "1 to 4,096")
    True
    >>> has_parts("slots is 5000. Allowed: a number from 1 to 4,096.", "1 to 4,096", "slots is 5000")
    False
    """
    place = 0
    for part in parts:
        place = message.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def each_has_parts(messages: Iterable[str], *parts: tuple[str, ...]) -> bool:
    """Whether there are as many messages as tuples, and each message has the parts of its tuple."""
    given = list(messages)
    return len(given) == len(parts) and all(
        has_parts(message, *each) for message, each in zip(given, parts, strict=True)
    )


def assert_refused(*cases: tuple[type[BaseException], str, Callable[[], object]]) -> None:
    """Each call raises its error with the words (a pattern), and an error of ours has the way out, too."""
    for kind, words, call in cases:
        with pytest.raises(kind, match=words or None) as refused:
            call()
        if isinstance(refused.value, NeardupError):
            assert refused.value.given, words
            assert refused.value.allowed or refused.value.do, words
