"""What could not be read, as a file of its own."""

from __future__ import annotations

from pathlib import Path

import msgspec

from neardup.writers.file import OutputFile


class ProblemList(OutputFile):
    """A ``problems.jsonl`` as a context manager: complete under its name, or not there at all.

    A list of an earlier run, or an empty file, is replaced.
    """

    kind = "list of problems"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, overwrite=True)

    def is_own(self, beginning: bytes) -> bool:
        """Whether it is empty, or begins as a row of such a list does."""
        return not beginning or beginning.startswith(b'{"source":')

    def write(self, problem: object) -> None:
        """Write a row: one JSON object on a line."""
        self.write_bytes(msgspec.json.encode(problem) + b"\n")
