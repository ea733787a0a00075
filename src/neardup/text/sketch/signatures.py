"""Signatures with the names of their documents: written to a file, read back, and compared across files.

Signatures of the package datasketch are imported unchanged. Their hash functions differ from those of this
program: they can be compared with each other, banded with ``LSH`` and stored, but not compared with signatures
made here. The objects are recognised by their attributes (``hashvalues`` and ``seed``); the package itself is not
needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.errors import FormatError, InputError, NeardupError
from neardup.io.outputs import write_table
from neardup.io.sources import read_table
from neardup.settings import Settings
from neardup.tables import Floats, Int64s, UInt64s
from neardup.text.sketch.buckets import BucketMinHash
from neardup.text.sketch.families import OfFamily, PlainSlotFamily, SlotFamily, whole_number
from neardup.text.sketch.minhash import MinHash, WeightedMinHash
from neardup.text.sketch.provenance import KEY, Provenance, html, require_same, signature_column
from neardup.text.sketch.samples import BottomK, SampledShingles, Samples
from neardup.text.sketch.simhash import SimHash
from neardup.text.sketch.textbook import BBit, ModP, MultiplyShift

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
        sketch, values = _hash_values(number, one)
        if family is not None and sketch.provenance() != family.provenance():
            raise FormatError(
                f"MinHash 0 is {family.provenance()}; number {number} is {sketch.provenance()}",
                "Objects of one num_perm, seed and scheme",
                "Import them apart",
            )
        family = family or sketch
        rows.append(values.astype(sketch.dtype))
    family = family or Datasketch()
    return family, np.stack(rows) if rows else np.empty((0, family.slots), family.dtype)


def _hash_values(number: int, one: Any) -> tuple[Datasketch, NDArray[Any]]:
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


AnyFamily = SlotFamily[Any] | SampledShingles | SimHash

_KINDS: tuple[Any, ...] = (
    MinHash,
    WeightedMinHash,
    SimHash,
    SampledShingles,
    BottomK,
    BucketMinHash,
    ModP,
    MultiplyShift,
    BBit,
    Datasketch,
)
FAMILIES = {kind.family: kind for kind in _KINDS}
"""The stored families by name."""


@dataclass(frozen=True, eq=False, repr=False)
class Signatures(OfFamily):
    """Signatures of one family and the ``ids`` of their documents (an Arrow array).

    ``values`` is the array that ``sketch()`` of the ``family`` returns ([n, slots], or fingerprints), or its
    ``Samples``.
    """

    _data = "provenance", "ids", "values"

    family: AnyFamily
    ids: pa.Array
    values: NDArray[Any] | Samples
    of_ids: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Signatures({len(self)} documents, {self.family!r}{', of ids' * self.of_ids})"

    def _repr_html_(self) -> str:
        slots = 0 if isinstance(self.values, Samples) else getattr(self.family, "slots", 0)
        return html("Signatures", [("documents", f"{len(self):,}")], self.provenance.parameters, slots)

    def resemblances(self, pairs: Any, other: "Signatures | None" = None) -> Floats:
        """Return the estimated resemblance (float64[m]) of ``pairs`` of rows, the second of ``other`` if given.

        Raises FormatError, which names both, for signatures of another family, other parameters or versions, and
        InputError for SimHash, which has :meth:`distances` instead.
        """
        theirs = self._comparable(other)
        family: Any = self.family
        if isinstance(family, SimHash):
            raise InputError(f"The signatures are {self.provenance}", "Distances only", "Use distances()")
        estimates: Floats = family.resemblances(self.values, pairs, theirs)
        return estimates

    def distances(self, pairs: Any, other: "Signatures | None" = None) -> Int64s:
        """Return the number of bits (int64[m]) in which the SimHash fingerprints of ``pairs`` of rows differ.

        Arguments and errors are those of :meth:`resemblances`, which is for the other families.
        """
        theirs: Any = self._comparable(other)
        if not isinstance(self.family, SimHash) or isinstance(self.values, Samples):
            raise InputError(f"The signatures are {self.provenance}", "Resemblances only", "Use resemblances()")
        return self.family.distances(self.values, pairs, theirs)

    def to_arrow(self) -> pa.Table:
        """Return the table in which they are stored."""
        family: Any = self.family
        kind = {} if isinstance(self.values, Samples) else {"of_ids": self.of_ids}
        return family.to_arrow(self.ids, self.values, **kind)

    @classmethod
    def of(cls, table: pa.Table) -> "Signatures":
        """Read the ``to_arrow`` output of a family. Raises FormatError for other tables and other versions."""
        provenance = Provenance.of(table.schema.metadata)
        family = _family_of(provenance)
        of_ids = provenance.parameters.get("of") == "ids"
        if family.provenance(of_ids) != provenance:
            raise _unknown_error(provenance)
        values, offsets = signature_column(table)
        if isinstance(family, SampledShingles):
            checked: Any = _samples(family, values, offsets, of_ids)
        elif isinstance(family, SimHash):
            rows = _array(family, values, offsets, family.bits // 64, np.uint64)
            checked = rows.reshape(-1) if family.bits == 64 else rows
        else:
            checked = _array(family, values, offsets, family.slots, family.dtype)
        return cls(family, table.column("id").combine_chunks(), checked, of_ids)

    def _comparable(self, other: "Signatures | None") -> NDArray[Any] | Samples | None:
        """Return the values of ``other``, if they are comparable with these."""
        if other is None:
            return None
        require_same(self, other)
        return other.values


def read_signatures(source: str | Path | pa.Table) -> Signatures:
    """Read the output of ``write_signatures`` (a path or URL) or of ``to_arrow`` (a table).

    Raises InputError for a file that cannot be read, and FormatError for a table without signatures, or with
    signatures of another version; the error names both versions.
    """
    return Signatures.of(source if isinstance(source, pa.Table) else read_table(source))


def write_signatures(table: pa.Table | Signatures, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the output of ``to_arrow`` as Parquet (``.parquet``) or as an Arrow file (``.arrow``).

    Raises FormatError for any other table, and OutputError if the file cannot be written, or exists and
    ``overwrite`` is not set.
    """
    checked = table if isinstance(table, Signatures) else Signatures.of(table)
    write_table(checked.to_arrow(), path, KEY, overwrite=overwrite)


def from_datasketch(minhashes: Sequence[Any], ids: Any = None) -> Signatures:
    """Import MinHash or LeanMinHash objects of the package datasketch, all of one seed, length and scheme.

    ``ids`` name the documents (default: their numbers). Objects without a ``scheme`` come from a version before
    2.0. Raises InputError for other objects, and FormatError, which names both, for objects of two families.

    >>> class Stand:
    ...     hashvalues, seed, num_perm, scheme = np.array([1, 2, 3], np.uint32), 1, 3, "affine32"
    >>> from_datasketch([Stand(), Stand()]).resemblances([(0, 1)])
    array([1.])
    """
    family, values = taken_over(minhashes)
    return Signatures.of(family.to_arrow(range(len(values)) if ids is None else ids, values))


def _family_of(provenance: Provenance) -> AnyFamily:
    """Return the family of that provenance; the caller checks that the family reproduces the provenance."""
    given = {name: value for name, value in provenance.parameters.items() if name != "of"}
    try:
        if provenance.family == BBit.family:
            name, bits, parameters = (given.pop(key) for key in ("base", "bits", "base_parameters"))
            if name == BBit.family:
                raise TypeError("small copies are not cut again")
            of: Any = _family_of(Provenance(name, {**parameters, **given}))
            return BBit(of, bits)
        kind = FAMILIES[provenance.family]
        if kind is MinHash:
            given.pop("seed", None)
        made_again: AnyFamily = kind(**given)
    except (NeardupError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unknown_error(provenance) from error
    return made_again


def _unknown_error(provenance: Provenance) -> FormatError:
    return FormatError(
        f"The signatures are {provenance}",
        f"Families of this program: {', '.join(FAMILIES)}",
        "Sketch the texts again",
    )


def _array(
    family: AnyFamily, values: NDArray[Any], offsets: Int64s | None, slots: int, dtype: Any
) -> NDArray[Any]:
    if offsets is not None or values.shape[1] != slots or values.dtype != dtype:
        raise FormatError(
            f"The table says {family.provenance()} and holds other signatures", f"Lists of {slots} values each"
        )
    return values


def _samples(family: SampledShingles, hashes: UInt64s, offsets: Int64s | None, of_ids: bool) -> Samples:
    if offsets is None or hashes.dtype != np.uint64:
        raise FormatError(f"The table says {family.provenance()} and holds no lists of 64-bit hashes")
    rising = np.ones(len(hashes), np.bool_)
    rising[1:] = hashes[1:] > hashes[:-1]
    firsts = offsets[:-1]
    rising[firsts[firsts < len(hashes)]] = True
    if not rising.all():
        raise FormatError("The samples of the table are damaged: their hashes do not ascend")
    return Samples(family, hashes, offsets, of_ids)
