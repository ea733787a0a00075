"""Formats of other packages: entry points of the group ``neardup.extractors``, one for each suffix of a file name.

The name of an entry point is the suffix ("odt"), its object a function from the bytes of a file to its text. The
formats of this program cannot be replaced, so that their texts do not depend on the other packages installed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import EntryPoint

from neardup.errors import InputError
from neardup.io.formats.content import Content
from neardup.text.entry_points import described_point, entry_points_of, loaded_point

GROUP = "neardup.extractors"
_SUFFIX = re.compile(r"\.?([a-z0-9]{1,16})")


def registered() -> Mapping[str, EntryPoint]:
    """Return the entry point of each suffix (".odt"), without those of other names."""
    return {f".{name}": point for name, point in entry_points_of(GROUP, _SUFFIX).items()}


def read_registered(suffix: str, data: bytes) -> Content:
    """Return the text of a file by the function registered for its suffix.

    Raises InputError if the function cannot be imported, or returns anything but a str. Its own errors pass.
    """
    point = registered()[suffix]
    extract = loaded_point(f"extractor for {suffix}", point)
    try:
        text = extract(data)
    except SystemExit as error:
        raise InputError(
            f"The extractor for {suffix} ({point.value}) ends the program: {error}", "A str"
        ) from error
    if not isinstance(text, str):
        raise InputError(f"The extractor for {suffix} ({point.value}) returns {type(text).__name__}", "A str")
    return Content(text)


def versions() -> dict[str, str]:
    """Return the package and version of each registered extractor, by ``neardup.extractors`` and suffix."""
    return {f"{GROUP} {suffix}": described_point(point) for suffix, point in registered().items()}
