"""Stop words: words too common to matter, by language or as given.

A choice is one string, which settings can hold: ``en@1a2b3c4d`` (a list of the package ``stopwordsiso`` and a
digest of it) or ``words:and the`` (tokens). ``chosen`` makes it from a language or from words.
"""

import re
from collections.abc import Collection

from neardup.errors import SettingError, unusable

OWN = "words:"
_LISTED = re.compile(r"[a-z]{2}@[0-9a-f]{8}(,[a-z]{2}@[0-9a-f]{8})*")
_LANGUAGES = re.compile(r"[a-z]{2}( *, *[a-z]{2})*", re.IGNORECASE)


def is_language(given: str) -> bool:
    """Whether a string has the form of one or several languages.

    >>> is_language("en"), is_language("de,EN"), is_language("words.txt")
    (True, True, False)
    """
    return bool(_LANGUAGES.fullmatch(given.strip()))


def is_choice(given: str) -> bool:
    """Whether a string is a choice that ``chosen`` has made."""
    return not given or given.startswith(OWN) or bool(_LISTED.fullmatch(given))


def chosen(given: object) -> object:
    """Return the choice that ``given`` means: a language, several with commas, words, or a choice already.

    Comparison works on tokens, so each token of a word counts (``don't``: *don* and *t*). Anything else is
    returned as it is. Raises SettingError for an unknown language, for words that are not str, or if the package
    of the lists is not installed.

    >>> chosen(["The", "don't"])
    'words:don t the'
    """
    if given is None:
        return ""
    if isinstance(given, str):
        if is_choice(given) or not (given.strip().isalpha() or is_language(given)):
            return given
        codes = sorted({code.strip().lower() for code in given.split(",")})
        return ",".join(f"{code}@{_digest(words_of(code))}" for code in codes)
    if not isinstance(given, Collection):
        return given
    if not all(isinstance(entry, str) for entry in given):
        raise SettingError("Stop words of another type than str are not possible", "Words, each a str")
    return OWN + " ".join(_tokens(given)) if given else ""


def language_or_count(choice: str) -> str | int:
    """Return the languages of a choice, or the number of its words.

    >>> language_or_count("en@1a2b3c4d"), language_or_count("words:and the"), language_or_count("")
    ('en', 2, 0)
    """
    if not choice or choice.startswith(OWN):
        return len(choice.removeprefix(OWN).split())
    return ",".join(part.partition("@")[0] for part in choice.split(","))


def stop_words_of(choice: str) -> list[str]:
    """Return the distinct tokens of a choice, sorted.

    Raises SettingError if the list of a language is another one than in the choice.
    """
    if choice.startswith(OWN):
        return choice.removeprefix(OWN).split()
    words: list[str] = []
    for part in filter(None, choice.split(",")):
        language, _, digest = part.partition("@")
        entries = words_of(language)
        if _digest(entries) != digest:
            raise SettingError(
                f"The stop words of {language!r} are the list {digest}, and the list here is {_digest(entries)}",
                "The same list as before, since other words would not compare",
                "Install the version of stopwordsiso that was used, or give the words themselves",
            )
        words += entries
    return _tokens(words)


def words_of(language: str) -> list[str]:
    """Return the stop words of a language, sorted (ISO 639-1 code, in either case)."""
    try:
        import stopwordsiso
    except ImportError as error:
        why, do = unusable("stopwordsiso", "stopwords", error)
        raise SettingError(
            f"The stop words of {language!r} are not here: the package stopwordsiso {why}",
            "Lists by language come with that package",
            f"{do}, or give the words themselves",
        ) from None
    if not stopwordsiso.has_lang(language.lower()):
        known = ", ".join(sorted(stopwordsiso.langs()))
        raise SettingError(
            f"The language {language!r} has no list of stop words",
            f"One of {known}",
            "Give the words themselves, as a list",
        )
    return sorted(stopwordsiso.stopwords(language.lower()))


def _tokens(entries: Collection[str]) -> list[str]:
    from neardup.unicode import tokens

    return sorted(set(tokens("\n".join(entries))))


def _digest(entries: Collection[str]) -> str:
    import hashlib  # imported late: help needs no digest

    return hashlib.sha256("\n".join(entries).encode()).hexdigest()[:8]
