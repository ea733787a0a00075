"""The text that options leave out: a file with stop words, in place of a language."""

from __future__ import annotations

from pathlib import Path


def stop_words(given: str) -> str:
    """Return the choice of stop words: of a language, or of the words in the file of that name.

    Raises InputError for a file that cannot be read.
    """
    from neardup.text.stop_words import chosen, is_choice, is_language

    if is_language(given) or is_choice(given):
        return str(chosen(given))
    from neardup.io.readers.text_files import words_in

    return str(chosen(words_in(Path(given))))
