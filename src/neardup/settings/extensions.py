"""Functions that other packages register for texts, as entry points."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from neardup.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

TOKENIZERS = "neardup.tokenizers"
"""The group of tokenizers."""
OWN = ("code",)
"""The tokenizers of this program."""
_NAME = re.compile(r"([a-z0-9][a-z0-9_-]{0,31})")


@cache
def entry_points_of(group: str, name: re.Pattern[str]) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by what ``name`` matches of their names in lower case: its first group.

    Of several for one name, the first by package and object counts; others are left out.
    """
    from importlib.metadata import entry_points  # imported late: few settings need packages

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


def tokenizer_names() -> tuple[str, ...]:
    """Return the names of all tokenizers, those of this program first."""
    return (*OWN, *sorted(set(entry_points_of(TOKENIZERS, _NAME)) - set(OWN)))


def tokenizer_version(name: str) -> str:
    """Return the package and version of a tokenizer, for the account of a run."""
    if name in OWN:
        from neardup.runtime import installed_version

        return f"neardup {installed_version('neardup') or 'unknown'}"
    return described_point(tokenizer_point(name))


def tokenizer_point(name: str) -> EntryPoint:
    """Return the entry point of a tokenizer that another package registers, one of ``tokenizer_names``."""
    return entry_points_of(TOKENIZERS, _NAME)[name]
