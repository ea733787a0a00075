"""Files with words: one or several a line; ``#`` begins a comment."""

from __future__ import annotations

from pathlib import Path

from neardup.display import printable
from neardup.errors import InputError

MOST_BYTES = 1 << 20


def words_in(path: Path) -> list[str]:
    """Return the words in a UTF-8 file. Raises InputError for a file that is missing, large or without words."""
    name = printable(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError(
                f"{name} is too large for a list of words", f"At most {MOST_BYTES:,} bytes", "Shorten the list"
            )
        text = data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(
            f"There is no file {name}, and it is not a language",
            "A file with words, or a language such as en or de",
            "Check the name",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
        raise InputError(f"{name} cannot be read: {why}", "A UTF-8 file with words", "Check the file") from error
    words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
    if not words:
        raise InputError(f"{name} has no words", "A file with words, one a line", "Check the file")
    return words
