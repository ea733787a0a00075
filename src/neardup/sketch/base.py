"""The common base of all families: how texts become sets of shingles, and the provenance of signatures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neardup.errors import SettingError
from neardup.kernels.shingles import mix_all
from neardup.settings import TextSettings
from neardup.sketch.documents import ShingleSets, shingle_sets
from neardup.sketch.inputs import text_arrays, whole_numbers
from neardup.sketch.provenance import Provenance
from neardup.sketch.shown import html
from neardup.tables import Int64s, UInt64s
from neardup.text.keys import PUBLIC

Ids = Sequence[int] | NDArray[np.integer[Any]]
"""A set of whole numbers from 0 to 2⁶⁴ − 1: row numbers, or hashes of custom features."""


class ShingleFamily:
    """A way to sketch sets of shingles or of ids. ``family`` is its name in stored signatures."""

    family: ClassVar[str]

    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that define this family, seeds included, by argument name."""
        raise NotImplementedError

    def provenance(self, of_ids: bool = False) -> Provenance:
        """Return how its signatures are made: of texts, or of ids."""
        shingles = self.settings.shingles
        made = {"of": "ids"} if of_ids else {"of": "texts", "length": shingles.length, "unit": shingles.unit}
        return Provenance(self.family, {**self.parameters, **made})

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({given})"

    def _repr_html_(self) -> str:
        return html(type(self).__name__, [], self.provenance().parameters, getattr(self, "slots", 0))

    def sets_of(self, texts: Any) -> Iterator[ShingleSets]:
        """Yield the shingle sets of texts, a few megabytes of text at a time."""
        for array in text_arrays(texts):
            yield shingle_sets(array, np.arange(len(array)), self.settings, PUBLIC)


def mixed(ids: Ids) -> UInt64s:
    """Mix the ids, so that consecutive ids work as well as random ones. Raises InputError for anything else."""
    return mix(whole_numbers(ids))


def mix(values: UInt64s) -> UInt64s:
    """Return the values with their bits mixed, uint64[n]."""
    out = np.empty(len(values), np.uint64)
    mix_all(np.ascontiguousarray(values, np.uint64), out)
    return out


def offsets_of(ends: Sequence[Int64s]) -> Int64s:
    """Return the int64[n + 1] offsets of sets whose sizes come in blocks."""
    sizes = np.concatenate([np.zeros(1, np.int64), *ends])
    return np.cumsum(sizes)


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """Return ``value`` as an int from ``low`` to ``high``. Raises SettingError for anything else."""
    right = isinstance(value, int | np.integer) and not isinstance(value, bool) and low <= value <= high
    if not right:
        raise SettingError(f"{name} is {value!r}", f"a whole number from {low} to {high}")
    return int(value)
