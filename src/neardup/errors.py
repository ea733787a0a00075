"""All errors of neardup.

NeardupError
├── SettingError        a setting has a value that is not allowed (also a ValueError)
├── InputError          an input cannot be opened, or has not the columns asked for
├── OutputError         the result cannot be written where it was asked for
└── FormatError         a saved fingerprint or result of another kind, version or Unicode version

Each says what was given, what is allowed and what to do about it.
"""

from __future__ import annotations


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


def _sentence(part: str) -> str:
    return part if part.endswith((".", "!", "?", ":", "\n")) else part + "."
