"""Errors shared by several formats: a package that is not installed, a text that is too long."""

from __future__ import annotations

from neardup.errors import InputError, unusable
from neardup.io.formats.limits import TEXT_CHARACTERS


def missing(what: str, package: str, error: ImportError, extra: str = "formats") -> InputError:
    """Return the error for a format whose package cannot be imported, with the way out.

    >>> print(missing("A PDF file", "pypdfium2", ModuleNotFoundError(name="pypdfium2")))
    A PDF file needs pypdfium2, which is not installed. Try: pip install ".[formats]" in a clone of neardup.
    """
    why, do = unusable(package, extra, error)
    return InputError(f"{what} needs {package}, which {why}", "", do)


def too_long() -> InputError:
    """Return the error for a text that is longer than allowed."""
    return InputError(
        f"Its text has more than {TEXT_CHARACTERS // 10**6} million characters",
        "Documents that people read",
        "Split it, or leave it out",
    )
