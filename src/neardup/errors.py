"""All errors of neardup.

NeardupError
├── SettingError        a setting has a value that is not allowed (also a ValueError)
├── InputError          an input cannot be opened, or has not the columns asked for
├── OutputError         the result cannot be written where it was asked for
├── FormatError         a saved fingerprint or result of another kind, version or Unicode version
├── QueryError          a query that cannot be read, or that asks for what is not there
└── LimitError          what was asked for takes longer than it may

Each says what was given, what is allowed and what to do about it.
"""

from __future__ import annotations

from unicodedata import east_asian_width


class NeardupError(Exception):
    """Root of all errors of neardup.

    Parameters: ``given`` (what was found), ``allowed`` (what would be right), ``do`` (the way out).
    The message is the three in this order.
    """

    def __init__(self, given: str, allowed: str = "", do: str = "") -> None:
        self.given, self.allowed, self.do = given, allowed, do
        super().__init__(" ".join(_sentence(part) for part in (given, allowed, do) if part))


class SettingError(NeardupError, ValueError):
    """A setting has a value that is not allowed."""


class InputError(NeardupError):
    """An input cannot be opened, or has not the columns asked for."""


class OutputError(NeardupError):
    """The result cannot be written where it was asked for."""


class FormatError(NeardupError):
    """A saved fingerprint or result is of another kind, version or Unicode version than this program makes."""


class LimitError(NeardupError):
    """What was asked for takes longer than it may."""


class QueryError(NeardupError):
    """A query that cannot be read, or that asks for what is not there.

    ``position`` counts the characters of ``query`` in front of the place that is meant (int, from 0); the message
    shows that place with a caret under it.
    """

    def __init__(self, given: str, allowed: str = "", do: str = "", *, query: str = "", position: int = 0) -> None:
        super().__init__(given, allowed, do)
        self.query, self.position = query, position
        if query:
            self.given = f"{given} (character {position + 1}):\n{_pointed_at(query, position)}"
            rest = " ".join(_sentence(part) for part in (allowed, do) if part)
            self.args = (f"{self.given}\n{rest}".rstrip(),)


SHOWN_AROUND = 50
"""Characters of a query that are shown on either side of a mistake."""


def _pointed_at(query: str, position: int) -> str:
    """The place in the query on one line without control characters, and a caret under it."""
    begin, end = max(0, position - SHOWN_AROUND), position + SHOWN_AROUND
    before = ("…" if begin else "") + "".join(map(_visible, query[begin:position]))
    after = "".join(map(_visible, query[position:end])) + ("…" if end < len(query) else "")
    columns = sum(2 if east_asian_width(char) in "WF" else 1 for char in before)
    return f"  {before}{after}\n  {' ' * columns}^"


def _visible(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def _sentence(part: str) -> str:
    return part if part.endswith((".", "!", "?", ":", "\n")) else part + "."
