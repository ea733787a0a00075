"""The kinds of difference that a result does not store, computed in the background once they are asked for."""

from __future__ import annotations

import threading

import numpy as np

from neardup.display import counted, number
from neardup.errors import InputError
from neardup.review.desk.background import LAST_WAIT
from neardup.review.desk.lines import Lines
from neardup.tables import Int64s


class KindSweep:
    """Fills in ``VerdictIndex.kinds`` for members whose pair with the representative has no stored kind."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        members = len(lines.index.members)
        self._found = np.full(members, -1, np.int8)
        self._tried: Int64s = np.full(members, -1, np.int64)  # the representative that a member was compared with
        self._closed = False
        self.pending = False
        """Whether kinds were still being computed when they were last brought."""

    def bring(self) -> None:
        """Fill in the kinds computed by now, and have the others computed.

        Raises InputError if no kind is known and no text can be read.
        """
        self.pending = False
        if not len(self._waiting()):
            self._apply()
            return
        reader, made = self._lines.reader, self._lines.made
        fault = reader.fault()
        if fault:
            if (made.kinds[made.near] >= 0).any():
                return
            raise InputError(f"The kinds of difference are not stored. {fault}", "A result made with --kinds")
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._done.clear()
                self._thread = threading.Thread(target=self._run, name="kinds of difference", daemon=True)
                self._thread.start()
        self.pending = len(self._waiting()) > 0  # before the kinds are filled in, which then are all
        self._apply()

    def wait(self, seconds: float) -> None:
        """Wait until the kinds are computed."""
        self._done.wait(seconds)

    def note(self) -> str:
        """Return a sentence on the kinds that are still to compute; "" if there are none."""
        waiting, every = len(self._waiting()), int(self._lines.made.near.sum())
        if not waiting:
            return ""
        return f"kinds are known for {number(every - waiting)} of {counted(every, 'pair')} so far"

    def close(self) -> None:
        """Stop after the present pair."""
        self._closed = True
        if self._thread is not None:
            self._thread.join(LAST_WAIT)

    def _waiting(self) -> Int64s:
        """Return the members to compare."""
        index, made = self._lines.index, self._lines.made
        heads = made.heads[index.group]
        return np.flatnonzero(made.near & (made.kinds < 0) & (self._tried != heads))

    def _apply(self) -> None:
        index, made = self._lines.index, self._lines.made
        known = made.near & (made.kinds < 0) & (self._tried == made.heads[index.group])
        made.kinds[known] = self._found[known]

    def _run(self) -> None:
        index, made = self._lines.index, self._lines.made
        try:
            for place in self._waiting().tolist():
                if self._closed:
                    return
                head = int(made.heads[index.group[place]])
                self._found[place] = self._lines.differences.computed(int(index.members[place]), head)[0]
                self._tried[place] = head
        finally:
            self._done.set()
