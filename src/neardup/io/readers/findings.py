"""What a reader has to say of its input besides the rows: files left aside, encodings, guesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from neardup.io.formats.detection import UTF_8, Charset

LISTED = 1000
"""Files that ``run.json`` lists one by one; of more it has the number."""

NAMED = 3
"""Files that a note names."""


@dataclass(frozen=True)
class Aside:
    """A file or folder that is no input, and why."""

    name: str
    why: str


@dataclass
class Findings:
    """What is known of an input; readers add to it, the account of a run reads it."""

    notes: list[str] = field(default_factory=list)
    aside: list[Aside] = field(default_factory=list)
    encodings: dict[str, Charset] = field(default_factory=dict)

    def tell(self, name: str, charset: Charset) -> None:
        """Note the encoding of a file, unless it is plain UTF-8."""
        if charset != UTF_8:
            self.encodings[name] = charset

    def as_dict(self) -> dict[str, Any]:
        """Return it for ``run.json``, with lists of at most ``LISTED`` files."""
        encodings = sorted(self.encodings.items())
        return {
            "left_aside": len(self.aside),
            "left_aside_files": [asdict(aside) for aside in self.aside[:LISTED]],
            "encodings": dict(sorted(Counter(encoded.encoding for _, encoded in encodings).items())),
            "encoded_files": [{"file": name, **asdict(encoded)} for name, encoded in encodings[:LISTED]],
        }

    def encoding_notes(self) -> list[str]:
        """Return a sentence about files that are not UTF-8, known when all have been read."""
        if not self.encodings:
            return []
        by_name: dict[str, list[float]] = {}
        for _, encoded in sorted(self.encodings.items()):
            by_name.setdefault(encoded.encoding, []).append(encoded.certainty)
        parts = [f"{len(sure)} {name}{_certainty(sure)}" for name, sure in sorted(by_name.items())]
        return [f"not UTF-8: {', '.join(parts)}; run.json lists the files, --encoding overrides"]


def aside_note(aside: Sequence[Aside]) -> list[str]:
    """Return a sentence that names what was left aside, reason by reason."""
    if not aside:
        return []
    by_reason: dict[str, list[str]] = {}
    for item in aside:
        by_reason.setdefault(item.why, []).append(item.name)
    return [f"left aside: {'; '.join(f'{named(names)} ({why})' for why, names in by_reason.items())}"]


def named(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are.

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
