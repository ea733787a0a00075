"""Rejected rows, stored compactly: a million bad lines cost some bytes each, and become objects only on access."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from neardup.io.readers.base import Problem, RowNumbers


class _Lazy(Sequence[Problem]):
    """Problems that are created on access; equal to any sequence of the same problems."""

    def at(self, place: int) -> Problem:
        """Return the problem at a place, counted from 0."""
        raise NotImplementedError

    @overload
    def __getitem__(self, place: int) -> Problem: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Problem]: ...
    def __getitem__(self, place: int | slice) -> Problem | Sequence[Problem]:
        places = range(len(self))[place]
        return self.at(places) if isinstance(places, int) else tuple(map(self.at, places))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class LineProblems(_Lazy):
    """The rejected lines of one chunk. Repeated reasons and short lines share one string each."""

    def __init__(self, source: str, rows: RowNumbers, reasons: Sequence[str], raw: Sequence[str]) -> None:
        self._source, self._rows, self._reasons, self._raw = source, rows, reasons, raw

    def __len__(self) -> int:
        return len(self._rows)

    def at(self, place: int) -> Problem:
        """Return the problem at a place, counted from 0."""
        return Problem(self._source, int(self._rows[place]), self._reasons[place], self._raw[place])


class Problems(_Lazy):
    """The problems of many chunks, one after the other."""

    def __init__(self) -> None:
        self._parts: list[Sequence[Problem]] = []
        self._ends: list[int] = []

    def add(self, found: Sequence[Problem]) -> None:
        """Add the problems of one more chunk."""
        if found:
            self._ends.append(len(self) + len(found))
            self._parts.append(found)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Problem]:
        for part in self._parts:
            yield from part

    def at(self, place: int) -> Problem:
        """Return the problem at a place, counted from 0."""
        number = bisect_right(self._ends, place)
        return self._parts[number][place - (self._ends[number - 1] if number else 0)]
