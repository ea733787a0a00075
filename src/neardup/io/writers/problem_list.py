"""Write the list of problems as a separate file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from neardup.io.writers.access import EVERYBODY
from neardup.io.writers.file import OutputFile


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A row of such a list, with exactly these keys."""

    source: str
    row: int | None
    reason: str
    raw: str | None
    file: str | None
    kind: str | None


class ProblemList(OutputFile):
    """A ``problems.jsonl`` as a context manager: complete under its name, or absent.

    A list of an earlier run, or an empty file, is replaced.
    """

    kind = "a list of problems"

    def __init__(self, path: str | Path, *, access: int = EVERYBODY) -> None:
        super().__init__(path, overwrite=True, access=access)

    def is_own(self, path: Path) -> bool:
        """Return whether every line is a row of such a list."""
        rows = msgspec.json.Decoder(_Row)
        try:
            with open(path, "rb") as file:
                for line in file:
                    rows.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return False
        return True

    def write(self, problem: object) -> None:
        """Write a row: one JSON object on a line."""
        self.write_bytes(msgspec.json.encode(problem) + b"\n")
