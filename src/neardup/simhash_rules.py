"""What SimHash fingerprints and a search among them may be: widths, names of features, distances.

Plain values in, errors out; ``settings.py`` and the rooms of SimHash ask the same questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from neardup.errors import SettingError

WIDTHS = (64, 128)
LONGEST_FEATURE = 64

OWN = ("bits", "features", "distance")
"""The settings that only a search by SimHash has."""

FOREIGN = ("slots", "recall")
"""Settings that mean nothing to a search by SimHash."""


def features_of(name: object) -> tuple[str, int] | None:
    """The kind of features (char, joined, word, shingle) that vote, and their length; None if ``name`` names none.

    >>> features_of("char:4"), features_of("word"), features_of("char:0")
    (('char', 4), ('word', 1), None)
    """
    if name == "word":
        return "word", 1
    matched = re.fullmatch(r"(char|joined|shingle):([1-9][0-9]?)", name) if isinstance(name, str) else None
    if matched is None or int(matched[2]) > LONGEST_FEATURE:
        return None
    return matched[1], int(matched[2])


def check(bits: int, distance: int) -> None:
    """Raise SettingError unless fingerprints are that wide and may differ in so many bits."""
    mistakes = []
    if bits not in WIDTHS:
        mistakes.append(f"bits is {bits}. Allowed: 64 or 128.")
    elif not 0 <= distance <= bits // 4:
        mistakes.append(
            f"distance is {distance}. Allowed: a number from 0 to {bits // 4}, for unrelated fingerprints differ "
            f"in about {bits // 2} of {bits} bits."
        )
    if mistakes:
        raise SettingError("\n".join(mistakes))


def require_search(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise SettingError unless these values of all settings make sense for a search by SimHash."""
    check(values["bits"], values["distance"])
    if values["method"] != "auto":
        raise SettingError(
            f"method is {values['method']!r} and sketch is 'simhash'",
            "With simhash the candidates are all pairs within the distance",
            "Leave out method, or leave out sketch",
        )
    for name in FOREIGN:
        if values[name] != defaults[name]:
            raise SettingError(
                f"{name} is {values[name]!r} and sketch is 'simhash'",
                "A search by distance has no slots, and its recall is not planned",
                f"Leave out {name}; audit measures the recall",
            )


def require_none(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise SettingError where a setting of SimHash is given to another search."""
    for name in OWN:
        if values[name] != defaults[name]:
            raise SettingError(
                f"{name} is {values[name]!r} and sketch is {values['sketch']!r}",
                f"{', '.join(OWN)} are settings of sketch simhash",
                f"Choose sketch simhash, or leave out {name}",
            )
