r"""Names of files that are not Unicode, or in a locale without it: as people and tables see them, and back.

A file system keeps bytes. Python gives those that are not Unicode as lone surrogates, which neither tables nor
JSON can hold. They are shown as ``\xff`` instead; the file itself is opened and copied under its bytes.
"""

from __future__ import annotations

import codecs
import os
import re
from typing import Any

_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")

ESCAPED = "neardup.names"
"""The name of the error handler for the terminal."""


def shown_name(name: str) -> str:
    r"""Return a name of a file as Unicode, with escapes for bytes that are not UTF-8.

    >>> print(shown_name("b\udcff.txt"))
    b\xff.txt
    """
    if name.isascii():
        return name
    try:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a pair, which names on Windows may have
        return name.encode("utf-8", "backslashreplace").decode()


def path_of(shown: str) -> str:
    """Return the path that ``shown_name`` made this text of, as Python opens it in this locale.

    If a file has the escape itself in its name, that file is meant.
    """
    plain = shown if shown.isascii() else os.fsdecode(shown.encode("utf-8", "surrogateescape"))
    if "\\x" not in shown or os.path.lexists(plain):
        return plain
    raw = shown.encode("utf-8", "surrogateescape")
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), raw))


def name_below(shown: str, path: str) -> str:
    """Return the shown end of a ``path`` as Python opens it; for a name that is no such end, the name itself."""
    end = os.sep.join(path.split(os.sep)[-len(shown.replace(os.sep, "/").split("/")) :])
    return end if shown_name(end) == shown else os.fsdecode(shown.encode("utf-8", "surrogateescape"))


def shown_values(value: Any) -> Any:
    """Return lists and mappings of values with all strings as ``shown_name`` returns them."""
    if isinstance(value, str):
        return shown_name(value)
    if isinstance(value, dict):
        return {shown_values(key): shown_values(each) for key, each in value.items()}
    return [shown_values(each) for each in value] if isinstance(value, list | tuple) else value


def escape(error: UnicodeError) -> tuple[str, int]:
    r"""Return escapes for characters that an encoding lacks: \xff for a byte of a name, \u20ac for others.

    It is the error handler ``ESCAPED``; the latter are also those of JSON.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    some = error.object[error.start : error.end]
    found = (f"\\x{ord(char) - 0xDC00:02x}" if "\udc80" <= char <= "\udcff" else _escaped(char) for char in some)
    return "".join(found), error.end


def _escaped(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


codecs.register_error(ESCAPED, escape)
