"""Rules for SimHash fingerprints and for a search among them: widths, names of features, distances.

The functions check plain values and raise errors; ``settings.py`` and the SimHash packages share them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from neardup.errors import SettingError

WIDTHS = (64, 128)
LONGEST_FEATURE = 64

OWN = ("bits", "features", "distance")
"""Settings that exist only for a search by SimHash."""

FOREIGN = ("slots", "recall")
"""Settings without meaning for a search by SimHash."""


def features_of(name: object) -> tuple[str, int] | None:
    """Return the kind (char, joined, word, shingle) and length of the features; None for an unknown ``name``.

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
    """Raise SettingError unless ``bits`` is a supported width and ``distance`` is allowed for it."""
    if bits not in WIDTHS:
        raise SettingError(f"bits is {bits}", "64 or 128")
    if not 0 <= distance <= bits // 4:
        raise SettingError(
            f"distance is {distance}",
            f"a number from 0 to {bits // 4}, since unrelated fingerprints differ in about {bits // 2} of {bits} "
            "bits",
        )


def require_search(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise SettingError unless these values of all settings are valid for a search by SimHash."""
    check(values["bits"], values["distance"])
    if values["method"] != "auto":
        raise SettingError(
            f"method is {values['method']!r} and sketch is 'simhash'",
            "With sketch simhash, method auto: the candidates are all pairs within the distance",
            "Leave out method, or leave out sketch",
        )
    for name in FOREIGN:
        if values[name] != defaults[name]:
            raise SettingError(
                f"{name} is {values[name]!r} and sketch is 'simhash'",
                "With sketch simhash, neither slots nor recall: the distance alone decides",
                f"Leave out {name}; audit measures the recall",
            )


def require_none(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise SettingError if a SimHash setting is given for another search."""
    for name in OWN:
        if values[name] != defaults[name]:
            raise SettingError(
                f"{name} is {values[name]!r} and sketch is {values['sketch']!r}",
                f"{', '.join(OWN)} only with sketch simhash",
                f"Choose sketch simhash, or leave out {name}",
            )
