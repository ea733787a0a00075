"""Signatures imported unchanged from the package datasketch, for comparison among themselves.

Their hash functions differ from those of this program. They can be compared with each other, banded with ``LSH``
and stored, but not compared with signatures made here. The objects are recognised by their attributes
(``hashvalues`` and ``seed``); the package itself is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.errors import FormatError, InputError
from neardup.settings import Settings
from neardup.sketch.base import whole_number
from neardup.sketch.provenance import Provenance
from neardup.sketch.slots import PlainSlotFamily
from neardup.tables import Int64s, UInt64s

_SCHEMES = {"affine32": np.uint32, "affine64": np.uint64, "legacy": np.uint32}
"""The dtype of the values of each scheme; "legacy" are the 32 bits of versions before 2.0."""


class Datasketch(PlainSlotFamily):
    """The family of datasketch MinHashes with one number of permutations, one seed and one scheme.

    The objects do not always record the hash function that made their values. The user must ensure that it was the
    same.
    """

    family = "datasketch minhash"

    def __init__(self, num_perm: int = 128, seed: int = 1, scheme: str = "affine32") -> None:
        super().__init__(Settings.of())
        if scheme not in _SCHEMES:
            raise FormatError(f"The scheme of the MinHash is {scheme!r}", f"one of {', '.join(_SCHEMES)}")
        self.slots, self.seed, self.scheme = whole_number("num_perm", num_perm, 1, 1 << 20), seed, scheme
        self.dtype = _SCHEMES[scheme]

    @property
    def parameters(self) -> dict[str, Any]:
        """num_perm, seed and scheme."""
        return {"num_perm": self.slots, "seed": self.seed, "scheme": self.scheme}

    def provenance(self, of_ids: bool = False) -> Provenance:
        """Return how they were made; texts and shingles are unknown here."""
        return Provenance(self.family, {**self.parameters, "of": "sets"})

    def _sketch(self, elements: UInt64s, offsets: Int64s) -> NDArray[Any]:
        raise FormatError(
            "Signatures of datasketch are made by datasketch",
            "Its MinHash objects",
            "Use neardup.from_datasketch()",
        )


def taken_over(minhashes: Sequence[Any]) -> tuple[Datasketch, NDArray[Any]]:
    """Return the common family of MinHash or LeanMinHash objects, and their signatures [n, num_perm].

    Raises InputError for other objects, and FormatError, which names both, for objects of two families.
    """
    family: Datasketch | None = None
    rows = []
    for number, one in enumerate(minhashes):
        made, values = _taken(number, one)
        if family is not None and made.provenance() != family.provenance():
            raise FormatError(
                f"MinHash 0 is {family.provenance()}; number {number} is {made.provenance()}",
                "Objects of one num_perm, seed and scheme",
                "Import them apart",
            )
        family = family or made
        rows.append(values.astype(made.dtype))
    family = family or Datasketch()
    return family, np.stack(rows) if rows else np.empty((0, family.slots), family.dtype)


def _taken(number: int, one: Any) -> tuple[Datasketch, NDArray[Any]]:
    values: Any = getattr(one, "hashvalues", None)
    seed = getattr(one, "seed", None)
    whole = isinstance(values, np.ndarray) and values.dtype.kind == "u" and values.ndim == 1
    if not whole or not isinstance(seed, int | np.integer):
        raise InputError(
            f"Number {number} is a {type(one).__name__} and no MinHash of datasketch",
            "Objects with hashvalues (an array of unsigned whole numbers) and a seed",
        )
    family = Datasketch(len(values), int(seed), str(getattr(one, "scheme", "legacy")))
    stated = getattr(one, "num_perm", len(values))
    if stated != len(values) or (len(values) and int(values.max()) > np.iinfo(family.dtype).max):
        raise InputError(
            f"MinHash number {number} says num_perm {stated} and scheme {family.scheme}, and holds {len(values)} "
            f"values up to {int(values.max())}",
            "num_perm values that the scheme can give",
        )
    return family, values


__all__ = ["Datasketch", "taken_over"]
