"""Messages are compared by their parts: the value, the number, the option that is named, and not the sentence."""

from __future__ import annotations


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
