"""Base text: shingles that do not count, and what is left of texts without them.

Shingles lose those of the base text. Measures of words or of common text count the units (tokens or characters)
that no base shingle covers, as if the others were not in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from neardup.kernels.sketch import documents as kernels
from neardup.kernels.text.keyed import Key
from neardup.measures import Features
from neardup.settings import TextSettings
from neardup.sketch.batches import text_batch
from neardup.sketch.cleaning import some_cleaned
from neardup.sketch.coefficients import classic_coefficients
from neardup.sketch.documents import ShingleSets, form_of, shingle_sets
from neardup.tables import Int64s, UInt32s, UInt64s
from neardup.text.keys import PUBLIC
from neardup.text.unicode_data import unicode_tables

# the kernels of ``kernels/sketch/left.py`` are imported late: runs without base text need none


@dataclass(frozen=True, eq=False)
class BaseText:
    """The shingles that do not count (uint64, sorted, distinct), by the key of counts and by the public one."""

    counted: UInt64s
    published: UInt64s

    def __len__(self) -> int:
        return len(self.counted)

    def __or__(self, other: BaseText) -> BaseText:
        return BaseText(np.union1d(self.counted, other.counted), np.union1d(self.published, other.published))

    def table(self, key: Key) -> UInt64s:
        """The table of the shingles under ``key``, which is the key of counts or the public one."""
        return self._tables[0] if key.tokens.size == 0 else self._tables[1]

    @cached_property
    def _tables(self) -> tuple[UInt64s, UInt64s]:
        from neardup.kernels.sketch.left import table_of

        return table_of(self.published), table_of(self.counted)


NO_BASE_TEXT = BaseText(np.empty(0, np.uint64), np.empty(0, np.uint64))


def base_text_of(texts: pa.Array, settings: TextSettings, key: Key) -> BaseText:
    """Return the shingles of all ``texts``."""
    rows = np.arange(len(texts))
    return BaseText(*(np.unique(shingle_sets(texts, rows, settings, each).hashes) for each in (key, PUBLIC)))


def left_sets(
    texts: pa.Array, rows: Int64s, settings: TextSettings, key: Key, features: Features, base: BaseText
) -> ShingleSets:
    """Return the ``features`` left of each text in ``rows``, like ``sketch.documents.shingle_sets``."""
    from neardup.kernels.sketch.left import left_sets as left

    texts, rows, settings = some_cleaned(texts, rows, settings)
    unit, length, _ = form_of(settings)
    form = {
        "shingles": (unit, length, length, kernels.DISTINCT, False),
        "words": (kernels.WORD, length, 1, kernels.DISTINCT, True),
        "occurrences": (unit, length, length, kernels.NUMBERED, False),
        "bag": (unit, length, 1, kernels.NUMBERED, True),
        "tokens": (unit, length, length, kernels.IN_ORDER, True),
        "runs": (unit, length, length, kernels.DISTINCT, True),
    }[features]
    keys, tables = (PUBLIC, key), (base.table(PUBLIC), base.table(key))
    hashes, ends, ranks = left(text_batch(texts), rows, unicode_tables(), np.array(form, np.int64), keys, tables)
    return ShingleSets(hashes, np.concatenate((np.zeros(1, np.int64), ends)), ranks)


def count_left(texts: pa.Array, rows: Int64s, settings: TextSettings, key: Key, base: BaseText) -> Int64s:
    """int64[rows, 3] of the texts in ``rows``: all shingles, those that count, and the units that count."""
    from neardup.kernels.sketch.left import count_left as count

    texts, rows, settings = some_cleaned(texts, rows, settings)
    counts = np.empty((len(rows), 3), np.int64)
    count(text_batch(texts), rows, unicode_tables(), form_of(settings)[:2], key, base.table(key), counts)
    return counts


def sign_left(texts: pa.Array, rows: Int64s, settings: TextSettings, base: BaseText, slots: int) -> UInt32s:
    """uint32[rows, slots]: the signatures of what is left of the texts in ``rows``."""
    from neardup.kernels.sketch.minhash import sketch_sets  # other runs need not wait for it

    sets = left_sets(texts, rows, settings, PUBLIC, "shingles", base)
    signatures, chosen = np.empty((len(rows), slots), np.uint32), np.empty((len(rows), slots), np.bool_)
    classic = settings.sketch.sketch == "classic"
    sketch_sets(sets.hashes, sets.offsets, classic, *classic_coefficients(slots), signatures, chosen)
    return signatures
