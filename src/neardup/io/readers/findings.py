"""A reader's findings about its input besides the rows: files left aside, encodings, guesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from neardup.io.formats.charsets import UTF_8, Charset
from neardup.io.names import shown_name

LISTED = 1000
"""Maximum number of files that ``run.json`` lists one by one; beyond it, only the number is stored."""

NAMED = 3
"""Maximum number of files that a note names."""


@dataclass(frozen=True)
class Aside:
    """A file or folder that is not input, and why."""

    name: str
    why: str


@dataclass
class Findings:
    """The findings about an input; readers add to them, the account of a run reads them."""

    notes: list[str] = field(default_factory=list)
    aside: list[Aside] = field(default_factory=list)
    encodings: dict[str, Charset] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    """The folders that were named as input, and the fixed parts of patterns: names of outputs begin there."""

    def tell(self, name: str, charset: Charset) -> None:
        """Record the encoding of a file, unless it is plain UTF-8."""
        if charset != UTF_8:
            self.encodings[name] = charset

    def as_dict(self) -> dict[str, Any]:
        """Return the findings for ``run.json``, with lists of at most ``LISTED`` files."""
        encodings = sorted(self.encodings.items())
        return {
            "roots": list(map(shown_name, self.roots)),
            "left_aside": len(self.aside),
            "left_aside_files": [asdict(aside) for aside in self.aside[:LISTED]],
            "encodings": dict(sorted(Counter(encoded.encoding for _, encoded in encodings).items())),
            "encoded_files": [{"file": name, **asdict(encoded)} for name, encoded in encodings[:LISTED]],
        }

    def encoding_notes(self) -> list[str]:
        """Return a sentence about the files that are not UTF-8; complete when all files have been read."""
        if not self.encodings:
            return []
        by_name: dict[str, list[float]] = {}
        for _, encoded in sorted(self.encodings.items()):
            by_name.setdefault(encoded.encoding, []).append(encoded.certainty)
        parts = [f"{len(sure)} {name}{_certainty(sure)}" for name, sure in sorted(by_name.items())]
        return [f"not UTF-8: {', '.join(parts)}; run.json lists the files, --encoding overrides"]


def aside_note(aside: Sequence[Aside]) -> list[str]:
    """Return a sentence that names the files left aside, grouped by reason."""
    if not aside:
        return []
    by_reason: dict[str, list[str]] = {}
    for item in aside:
        by_reason.setdefault(item.why, []).append(item.name)
    return [f"left aside: {'; '.join(f'{named(names)} ({why})' for why, names in by_reason.items())}"]


def named(names: Iterable[str]) -> str:
    """Return the first names and the number of the others.

    >>> named(["a", "b"]), named("abcdef")
    ('a, b', 'a, b, c and 3 more')
    """
    every = list(names)
    more = f" and {len(every) - NAMED:,} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def _certainty(sure: Sequence[float]) -> str:
    low, high = min(sure), max(sure)
    if low == 1:
        return ""
    return f" (certainty {low:.2f})" if low == high else f" (certainty {low:.2f} to {high:.2f})"
