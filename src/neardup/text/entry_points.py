"""Functions that other packages register for texts, as entry points."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from neardup.errors import InputError


@cache
def entry_points_of(group: str, name: re.Pattern[str]) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by what ``name`` matches of their names in lower case: its first group.

    Of several for one name, the first by package and object counts; others are left out.
    """
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (described_point(point), point.value)):
        if named := name.fullmatch(point.name.lower()):
            points.setdefault(named[1], point)
    return points


def loaded_point(role: str, point: EntryPoint) -> Any:
    """Return the object of an entry point. Raises InputError that names its ``role`` if it cannot be imported."""
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # the package of somebody else can fail in any way
        raise InputError(
            f"The {role} cannot be loaded ({point.value}): {type(error).__name__}: {error}",
            "",
            f"Mend or remove the package {described_point(point)}",
        ) from error


def described_point(point: EntryPoint) -> str:
    """Return the package of an entry point and its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
