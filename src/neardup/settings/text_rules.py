"""Rules for the text that is left out: masks, and choices of stop words.

Modules of ``text`` are imported only for a value that is given.
"""

from __future__ import annotations

from typing import Any

from neardup.settings.rules import Rule, listed, several

MOST_MASKS, MOST_CHARACTERS = 32, 1_000
SYNTAX = "https://github.com/google/re2/wiki/Syntax"


def masks_rule() -> Rule:
    """Return the rule for masks, one or several.

    >>> rule = masks_rule()
    >>> rule.holds([r"\\d{4}", "(?i)page"]), rule.holds("a(?=b)"), rule.hint("a(?=b)")
    (True, False, 'Correct it; RE2 says: invalid perl operator: (?=')
    """
    allowed = (
        f"RE2 expressions ({SYNTAX}: no look-ahead, look-behind, backreferences or \\C), up to {MOST_MASKS} of at "
        f"most {MOST_CHARACTERS:,} characters, that do not match the empty text"
    )
    each = several(Rule(allowed, lambda value: not _fault(value), _fault))
    return Rule(allowed, lambda value: len(listed(value)) <= MOST_MASKS and each.holds(value), each.hint)


def tokenizer_rule() -> Rule:
    """Return the rule for the name of a tokenizer.

    >>> tokenizer_rule().holds("code"), tokenizer_rule().holds("no such")
    (True, False)
    """

    def names() -> tuple[str, ...]:
        from neardup.text.tokenizers import tokenizer_names

        return tokenizer_names()

    return Rule(
        "the name of a tokenizer: code, or one that an installed package registers (neardup.tokenizers)",
        lambda value: value == "" or value in names(),
        lambda value: f"Choose one of {', '.join(names())}, or install the package that has it",
    )


def stop_words_rule() -> Rule:
    """Return the rule for a choice of stop words: languages, words, or a choice that was made of these.

    >>> stop_words_rule().value(["The", "and"])
    'words:and the'
    """

    def holds(value: Any) -> bool:
        if value == "":
            return True
        from neardup.text.stop_words import is_choice

        return is_choice(value)

    def read(value: Any) -> Any:
        if value == "":
            return value
        from neardup.text.stop_words import chosen

        return chosen(value)

    return Rule("a language such as en, several with commas, or words", holds, read=read)


def _fault(value: Any) -> str:
    from neardup.text.masks import fault_of

    if not isinstance(value, str):
        return ""
    size = len(value)
    return fault_of(value) if size <= MOST_CHARACTERS else f"Shorten it: it has {size:,} characters"
