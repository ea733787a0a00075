"""``neardup.compare``: two documents, each a text or a file."""

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from neardup import display
from neardup.comparison.compare import Comparison, LeftOut
from neardup.comparison.compare import compare as compare_texts
from neardup.errors import InputError
from neardup.io.contents import Content, differing_kinds
from neardup.io.inputs import document_content, names_among


def compare(
    a: str | Path,
    b: str | Path,
    *,
    length: int = 5,
    unit: str = "word",
    min_chunk: int | None = None,
    seconds: float | None = None,
    **left_out: Unpack[LeftOut],
) -> Comparison:
    """Compare two documents by every measure, with the evidence.

    A str is a text, and a Path a file, whose text is read as a run over its folder reads it. A str that is the
    name of a file that exists is refused, since either may be meant; with a space after it, it is a text.

    A shingle is ``length`` units (``word``: tokens; ``char``: characters). A matching chunk has at least
    ``min_chunk`` units (default: ``length``). Some text may be left out before anything else, as in a run:
    what the regular expressions ``mask`` match (RE2), tokens that consist of digits (``ignore_numbers``), and
    ``stop_words``, a language code ("en") or a collection of words. ``tokenizer`` ("code") makes the tokens of the
    rest, in place of words. ``ignore`` are base texts, such as templates,
    whose shingles count in no measure; ``base_a`` and ``base_b`` are their places. Two texts without a token are
    equal; a text without a token resembles no other text.

    Raises SettingError for an invalid setting, InputError for the name of a file in a str, for a file that cannot
    be read and for anything that is neither a str nor a Path, and LimitError if the comparison takes longer than
    ``seconds``. The time is checked before each of fourteen steps.

    >>> found = compare("The night is dark and the moon is red.", "I can see: the moon is red; the night is dark")
    >>> found.measures["shared"], found.measures["shingles_a"], found.measures["shingles_b"]
    (0, 5, 7)
    >>> found = compare("The night is dark and the moon is red.", "the moon is red; the night is dark", length=3)
    >>> found.measures["chunk_longest_literal"], found.tiles.tolist()
    (0.8888888888888888, [[0, 4, 4], [5, 0, 4]])
    >>> [chunk["text_b"] for chunk in found.chunks()]
    ['the night is dark', 'the moon is red']
    """
    named = names_among([one for one in (a, b) if isinstance(one, str)])
    if named:
        shown = display.printable(named[0])
        raise InputError(
            f"{shown!r} is the name of a file, given as a text",
            "A str is a text, a pathlib.Path a file",
            f"Give Path({shown!r}) to read the file, or add a space to compare the name itself",
        )
    one, other = (document_content(given) if isinstance(given, Path) else Content(given) for given in (a, b))
    compared = compare_texts(
        one.text, other.text, length=length, unit=unit, min_chunk=min_chunk, seconds=seconds, **left_out
    )
    return replace(compared, not_compared=differing_kinds(one.attachments, other.attachments))
