"""Formats of other packages: entry points of the group ``neardup.extractors``, one for each suffix of a file name.

The name of an entry point is the suffix ("odt"), its object a function from the bytes of a file to its text. The
formats of this program cannot be replaced, so that their texts do not depend on the other packages installed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from neardup.errors import InputError
from neardup.io.formats.content import Content

GROUP = "neardup.extractors"
_SUFFIX = re.compile(r"\.?([a-z0-9]{1,16})")


@cache
def registered() -> Mapping[str, EntryPoint]:
    """Return the entry point of each suffix (".odt"); of several for one, the first by package and object."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=_order):
        if named := _SUFFIX.fullmatch(point.name.lower()):
            found.setdefault(f".{named[1]}", point)
    return found


def read_registered(suffix: str, data: bytes) -> Content:
    """Return the text of a file by the function registered for its suffix.

    Raises InputError if the function cannot be imported, or returns anything but a str. Its own errors pass.
    """
    point = registered()[suffix]
    try:
        extract = point.load()
    except Exception as error:  # the package of somebody else can fail in any way
        raise InputError(
            f"The extractor for {suffix} cannot be loaded ({point.value}): {type(error).__name__}: {error}",
            "",
            f"Mend or remove the package {_package(point)}",
        ) from error
    text = extract(data)
    if not isinstance(text, str):
        raise InputError(f"The extractor for {suffix} ({point.value}) returns {type(text).__name__}", "A str")
    return Content(text)


def versions() -> dict[str, str]:
    """Return the package and version of each registered extractor, by ``neardup.extractors`` and suffix."""
    return {f"{GROUP} {suffix}": _package(point) for suffix, point in registered().items()}


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _order(point: EntryPoint) -> tuple[str, str]:
    return _package(point), point.value
