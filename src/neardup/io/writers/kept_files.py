"""Kept text files: byte-identical copies in a folder ``kept``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from neardup.io.names import name_below, shown_name
from neardup.io.readers.base import NativeFiles
from neardup.io.readers.sources import Source
from neardup.io.urls import without_user


class FilesSink:
    """Copies files below one folder, each at its own relative path."""

    def __init__(self, path: Path, files: Sequence[Source]) -> None:
        self.path = path
        self._places = places_of_files(files)
        self.files = 0
        """The number of files written."""
        path.mkdir()

    def prepare(
        self, native: NativeFiles, keep: npt.NDArray[np.bool_], extra: Any
    ) -> list[tuple[str, Source]] | None:
        """Return the kept files and those left aside, with their places in the folder."""
        chosen = [*(native.sources[i] for i in np.flatnonzero(keep).tolist()), *native.left_aside]
        return [(self._places[source.path], source) for source in chosen] or None

    def write(self, item: list[tuple[str, Source]]) -> None:
        """Copy the files."""
        self.files += len(item)
        for place, source in item:
            target = self.path / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_local:
                shutil.copyfile(source.path, target)
            else:
                target.write_bytes(source.read_bytes())

    def close(self) -> None:
        """Do nothing: every file is closed already."""


def places_of_files(files: Sequence[Source]) -> dict[str, str]:
    """Return the place of each file by its full path; all places are distinct."""
    names = [os.path.normpath(file.name) for file in files]
    if any(
        os.path.isabs(name) or "://" in file.name or name.startswith("..")
        for name, file in zip(names, files, strict=True)
    ):
        # For names that lead out of the folder, files are placed relative to the common part of their paths.
        paths = [without_user(file.path).split("://", 1)[-1].lstrip("/") for file in files]
        base = os.path.commonpath(["/" + os.path.dirname(path) for path in paths])
        names = [shown_name(os.path.relpath("/" + path, base)) for path in paths]
    places: dict[str, str] = {}
    taken: set[str] = set()
    for file, name in zip(files, names, strict=True):
        # the escape of a name that is not Unicode may be the name of another file
        place = name if name not in taken else f"{name}.{len(taken)}"
        taken.add(place)
        places[file.path] = name_below(place, file.path)
    return places
