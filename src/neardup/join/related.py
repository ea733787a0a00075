"""Which documents may be pairs: those with the same value in some columns, and with different values in another.

Documents of different ``within`` values must never meet. The value is therefore part of their band keys and of the
shingles under which an exact join lists them, which makes buckets and lists smaller. Documents of the same
``across`` value meet, and their pairs are left out one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from neardup.tables import Bools, Int32s, Int64s, UInt64s, column


def _nothing() -> UInt64s:
    return np.empty(0, np.uint64)


@dataclass(frozen=True, eq=False)
class Related:
    """A hash of the values of each document, or of each row: equal for equal values. Empty: all are related.

    ``within`` and ``across`` are uint64[n].
    """

    within: UInt64s = field(default_factory=_nothing)
    across: UInt64s = field(default_factory=_nothing)

    @property
    def restricts(self) -> bool:
        """Whether some documents are not related to others."""
        return bool(len(self.within) or len(self.across))

    def of(self, rows: Int64s) -> Related:
        """The same for some of the rows only, in that order."""
        return Related(
            self.within[rows] if len(self.within) else self.within,
            self.across[rows] if len(self.across) else self.across,
        )

    def simplified(self) -> Related:
        """The same relations; if all have the same value within, nothing needs to be kept apart."""
        several = len(self.within) > 0 and bool((self.within != self.within[0]).any())
        return self if several else Related(across=self.across)

    def may_pair(self, a: Int64s, b: Int64s) -> Bools:
        """bool[n]: whether the documents a[k], b[k] may be a pair."""
        may = np.ones(len(a), np.bool_)
        if len(self.within):
            may &= self.within[a] == self.within[b]
        if len(self.across):
            may &= self.across[a] != self.across[b]
        return may

    def apart(self, hashes: UInt64s, owner: Int32s | Int64s) -> UInt64s:
        """Hashes that are equal only for equal ``hashes`` (uint64[n]) of owners with the same ``within`` value."""
        return hashes ^ self.within[owner] if len(self.within) else hashes

    def pairs(self, table: pa.Table) -> pa.Table:
        """The rows of a table with columns a and b whose documents may be a pair."""
        if not self.restricts:
            return table
        return table.filter(pa.array(self.may_pair(column(table, "a"), column(table, "b"))))


EVERYONE = Related()
"""All documents are related to all others."""
