"""A request as the pages see it, and their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

from neardup.web.refusals import RefusedError

LONGEST = 2000
"""Characters of a filter, a note or a name."""

T = TypeVar("T", bound=str)


@dataclass(frozen=True)
class ReviewRequest:
    """A request: the values in its address and in its form, and the person who sends it.

    ``root`` is the beginning of all addresses; ``may_decide`` is False for readers.
    """

    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    may_decide: bool = True
    root: str = ""

    def text(self, name: str) -> str:
        """Return a value of the form or else of the address, "" if it is missing."""
        value = self.form.get(name, self.query.get(name, ""))
        if len(value) > LONGEST:
            raise RefusedError(422, f"{name} has more than {LONGEST:,} characters", "Less text")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number from 0 on, or None if it is missing."""
        value = self.text(name)
        if not value:
            return None
        if not (value.isascii() and value.isdigit()) or len(value) > 18:
            raise RefusedError(422, f"{name} is not a whole number", "A number of this review")
        return int(value)

    def share(self, name: str) -> float | None:
        """Return a number from 0 to 1, or None if it is missing."""
        value = self.text(name).strip().replace(",", ".")
        if not value:
            return None
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not isfinite(number) or not 0 <= number <= 1:
            raise RefusedError(422, f"{name} is not a similarity", "A number from 0 to 1")
        return number

    def one_of(self, name: str, allowed: tuple[T, ...], otherwise: T | None = None) -> T:
        """Return one of the allowed values; ``otherwise`` if it is missing."""
        value = self.text(name)
        if not value and otherwise is not None:
            return otherwise
        for each in allowed:
            if each == value:
                return each
        raise RefusedError(422, f"{name} has a value that does not exist", ", ".join(allowed))

    def pair(self, a: str, b: str) -> tuple[int, int] | None:
        """Return two keys, or None if one is missing."""
        keys = self.whole(a), self.whole(b)
        return None if keys[0] is None or keys[1] is None else (keys[0], keys[1])

    def need(self, name: str) -> int:
        """Return a whole number that the form must have."""
        value = self.whole(name)
        if value is None:
            raise RefusedError(422, f"{name} is missing", "A form of this review")
        return value

    def to(self, place: str, **values: Any) -> str:
        """Return an address of the review; values that are empty or None are left out."""
        given = {name: str(value) for name, value in values.items() if value is not None and value != ""}
        return f"{self.root}{place}{'?' if given else ''}{urlencode(given)}"


@dataclass(frozen=True)
class LivePage:
    """An answer: a template and its values."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Elsewhere:
    """An answer: the address to look at now."""

    address: str


@dataclass(frozen=True)
class Download:
    """An answer: a file to save."""

    name: str
    media: str
    pieces: Iterator[bytes]


ReviewAnswer: TypeAlias = LivePage | Elsewhere | Download
