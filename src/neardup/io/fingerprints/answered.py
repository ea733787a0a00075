"""Chunks of a part whose texts are elsewhere: only the shingle sets of its rows are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neardup.errors import InputError
from neardup.io.fingerprints.exchange import Answer
from neardup.io.fingerprints.reading import SavedFingerprints
from neardup.io.readers.base import NativeRows, ReadRows
from neardup.tables import Int64s, UInt64s


class UnreachableError(InputError):
    """The texts of a part are not where they were read, and no other place was named."""


@dataclass(frozen=True, eq=False)
class AnsweredChunk:
    """A chunk whose texts are not read: an answer has the shingle sets of its rows."""

    index: int
    part: SavedFingerprints
    answer: Answer
    first_row: int

    @property
    def source(self) -> str:
        """The folder of the part."""
        return str(self.part.folder)

    def sets_at(self, places: Int64s, features: str) -> tuple[UInt64s, Int64s]:
        """Return the hashes and the offsets of the sets of the rows at some places. Raises InputError."""
        rows, known = self.first_row + places, self.answer.rows
        at = np.searchsorted(known, rows)
        there = at < len(known)
        there[there] = known[at[there]] == rows[there]
        if features not in self.answer.sets or not there.all():
            raise InputError(
                f"The answer for {self.part.folder} lacks sets that this merge needs",
                "Answers to a request with the same parts and settings",
                "Ask again with neardup merge --wanted",
            )
        hashes, offsets = self.answer.sets[features]
        starts, sizes = offsets[at], offsets[at + 1] - offsets[at]
        ends = np.cumsum(sizes)
        taken = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
        return hashes[taken], np.concatenate((np.zeros(1, np.int64), ends))

    def read(self, columns: Sequence[str]) -> ReadRows:
        """Refuse: the texts are elsewhere."""
        raise UnreachableError(
            f"The texts of the part {self.part.folder} are not read, since an answer replaces them",
            "Settings that need only shingle sets",
            "Merge without --shingles where the texts can be read",
        )

    def read_native(self) -> NativeRows:
        """Refuse: the texts are elsewhere."""
        raise NotImplementedError("the rows of saved parts are written part by part")
