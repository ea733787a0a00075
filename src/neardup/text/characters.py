r"""Differences of characters between two texts whose tokens are equal, which no count of tokens shows.

Case, punctuation, a sign before a number, an operator, a percent or currency mark and a decimal mark are in no
token. ``differences`` finds and names them: no other module decides on the kind of a character.
White space that both have, and Unicode's canonical normal form (NFC), are no difference. White space is Unicode's
property White_Space, and the normal form that of the pinned Unicode version: those of the interpreter are others.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import NamedTuple
from unicodedata import category, decomposition, normalize

import numpy as np

from neardup.tables import Bools, Int64s, numbers_in
from neardup.unicode import codepoints_of, nfc

SPACE, LEFT_OUT, FORM, CASE, PUNCTUATION, SIGN = range(6)
"""The kinds of a difference of characters, the weightiest last.

SPACE: white space where the other text has none. LEFT_OUT: words and numbers that are in no token because they do
not count. FORM: another form of the same letters (width, ligature, invisible characters). SIGN: a sign or
operator, a percent or currency mark, or a decimal mark between digits: they change a number or a formula.
"""
KINDS = ("white space", "text left out", "form of letters", "case", "punctuation", "sign or operator")
COUNTED = FORM
"""The first kind that counts as a difference; the kinds before it are shown and do not count."""

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with the property White_Space: Python's ``str.isspace`` has U+001C to U+001F, too."""

MARK = "\ufeff"
"""The byte order mark: at the beginning of a text it is none of its characters, elsewhere it is one."""

LONG = 512
"""Segments from which on they are compared all at once."""

AHEAD = 24
"""Characters after a bracket that are looked at: an amount in brackets is a negative one."""

LONGEST = 1 << 10
"""Characters of two gaps from which on their kind is not looked for: punctuation alone is never that long."""
_HELD = 1 << 14

FIELDS = re.compile(f"[^{WHITE_SPACE}]+")
"""Runs of characters without white space."""
_SPACES = re.compile(f"[{WHITE_SPACE}]+")
_DASHES = frozenset("-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d")

_SAME_MARKS = str.maketrans({**dict.fromkeys(_DASHES, "-"), "\u2019": "'"})
"""A typographic minus or dash is the same sign as the one of a typewriter."""
_DECIMAL_MARKS = frozenset(".,\u00b7\u2019'\u066b\u066c")
_NUMBER_MARKS = frozenset("%\u2030\u2031\u066a\uff05")
_CHECKS = frozenset("\u2610\u2611\u2612\u2713\u2714\u2715\u2716\u2717\u2718")
_BULLETS = re.compile("[\u25a0-\u25ff\u2756\u27a2\ufffd]")

_NOT_COUNTED = re.compile(r"[-+\u2212]?(?:\w|\ufdd0)+(?:[.,:'\u2019/-](?:\w|\ufdd0)+)*%?")
"""Words and numbers between tokens, with their signs: they are left out."""
_NEGATIVE = re.compile(r"\(\s?[$\u00a3\u00a5\u20ac]?\s?\d[\d.,'\u2019 ]*[.,]\d+\s?[%$\u00a3\u00a5\u20ac]?\)")
_FORMULA = ("<super>", "<sub>", "<fraction>")

_RULE = re.compile(r"([-=_~+*#.<>|\u2010-\u2015])\1\1+")
"""Equal characters in a row that are a ruled line, and no operator."""


class BetweenTokens(NamedTuple):
    """The text between two tokens, the last character before it, and the first characters after it."""

    text: str
    before: str = ""
    after: str = ""


class CharacterDifference(NamedTuple):
    """Characters [begin, end) of A and of B that differ, their kind, and where they are in the tokens.

    They are in tokens [first, last): in one token, or, if the two numbers are equal, before it.
    """

    kind: int
    first: int
    last: int
    a: tuple[int, int]
    b: tuple[int, int]


def canonical(text: str) -> str:
    r"""Return a text in its normal form (NFC), with each run of white space as one space, none at the ends.

    A byte order mark at the beginning goes. Texts with the same canonical form have the same characters for a
    reader: they are *identical*. ``kernels.text.characters`` hashes the same form.

    >>> canonical(" cafe\u0301\r\n - 5")
    'café - 5'
    """
    return _collapse_spaces(text.removeprefix(MARK))


def _collapse_spaces(text: str) -> str:
    return _SPACES.sub(" ", nfc(text)).strip(" ")


def differences(
    a: str, b: str, spans_a: Int64s, spans_b: Int64s, bounds: tuple[tuple[int, int], tuple[int, int]] | None = None
) -> Iterator[CharacterDifference]:
    """Yield the differences of characters of two texts with equal tokens, from the beginning to the end.

    Token k is at the characters ``spans_a[k]`` of A and ``spans_b[k]`` of B (int64[n, 2]). ``bounds`` are the
    characters [begin, end) of A and of B to look at, by default all; white space at their ends does not count.

    >>> places = np.array([[0, 4], [7, 8]]), np.array([[0, 4], [6, 7]])
    >>> [(KINDS[each.kind], each.a, each.b) for each in differences("Rate: -5", "rate: 5", *places)]
    [('case', (0, 4), (0, 4)), ('sign or operator', (6, 7), (6, 6))]
    """
    (begin_a, end_a), (begin_b, end_b) = bounds or ((0, len(a)), (0, len(b)))
    if a[begin_a:end_a] == b[begin_b:end_b]:
        return
    edges = _edges(spans_a, begin_a, end_a), _edges(spans_b, begin_b, end_b)
    for segment, i, j, k, m in _differing_segments(a, b, edges):
        token, is_token = divmod(segment, 2)
        if is_token:
            kind = kind_of_tokens(a[i:j], b[k:m])
            if kind is not None:
                yield CharacterDifference(kind, token, token + 1, (i, j), (k, m))
            continue
        ends = token == 0, token == len(spans_a)
        (i, j), (k, m) = _without_ends(a, i, j, ends), _without_ends(b, k, m, ends)
        kind = kind_of_gaps(gap_of(a, i, j), gap_of(b, k, m))
        if kind is not None:
            yield CharacterDifference(kind, token, token, *differing_spans(a, (i, j), b, (k, m)))


def _without_ends(text: str, begin: int, end: int, ends: tuple[bool, bool]) -> tuple[int, int]:
    """Return a gap without the white space at the ends of all text that is looked at."""
    gap = text[begin:end]
    bare = gap.removeprefix(MARK) if begin == 0 else gap
    begin += (len(gap) - len(bare.lstrip(WHITE_SPACE))) * ends[0]
    return begin, max(begin, end - (len(gap) - len(gap.rstrip(WHITE_SPACE))) * ends[1])


def gap_of(text: str, begin: int, end: int) -> BetweenTokens:
    """Return the characters [begin, end) of a text with their neighbours."""
    gap = text[begin:end]
    return BetweenTokens(gap, text[max(begin - 1, 0) : begin], text[end : end + (AHEAD if "(" in gap else 2)])


def _edges(spans: Int64s, begin: int, end: int) -> list[int]:
    """Return where the gaps and tokens of a text begin: a gap, a token, …, a gap, and the end.

    A character that has several tokens (½) is the first of them; the others are empty.
    """
    return list(accumulate((begin, *spans.ravel().tolist(), end), max))


def _differing_segments(
    a: str, b: str, edges: tuple[list[int], list[int]]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield the number of each segment whose characters differ, and its characters [i, j) of A and [k, m) of B."""
    one, other = edges
    numbers: Iterable[int] = range(len(one) - 1)
    if len(one) > LONG:
        numbers = np.flatnonzero(~_same_segments(a, b, (np.array(one), np.array(other)))).tolist()
    for segment in numbers:
        i, j, k, m = one[segment], one[segment + 1], other[segment], other[segment + 1]
        if a[i:j] != b[k:m]:
            yield segment, i, j, k, m


def _same_segments(a: str, b: str, edges: tuple[Int64s, Int64s]) -> Bools:
    """Return bool[segments]: where the text between two edges is equal, character by character."""
    sizes, others = (np.diff(side) for side in edges)
    same: Bools = sizes == others
    compared = np.flatnonzero(same & (sizes > 0))
    sizes = sizes[compared]
    ends = np.cumsum(sizes)
    if not len(ends):
        return same
    one, other = (
        codepoints_of(text[side[0] : side[-1]])[numbers_in(side[compared] - side[0], sizes)]
        for text, side in zip((a, b), edges, strict=True)
    )
    same[compared[np.searchsorted(ends, np.flatnonzero(one != other), "right")]] = False
    return same


def differing_spans(
    a: str, own: tuple[int, int], b: str, other: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the characters of two gaps that differ, without what they have in common at their ends."""
    one, two = a[slice(*own)], b[slice(*other)]
    begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    most = min(len(one), len(two)) - begin
    pairs = zip(reversed(one), reversed(two), strict=False)
    end = min(most, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return (
        _without_space(one, own[0] + begin, begin, len(one) - end),
        _without_space(two, other[0] + begin, begin, len(two) - end),
    )


def _without_space(gap: str, place: int, begin: int, end: int) -> tuple[int, int]:
    """Return where gap[begin:end], which begins at ``place``, has more than white space; the place if nowhere."""
    middle = gap[begin:end]
    solid = middle.strip(WHITE_SPACE)
    first = place + middle.find(solid) if solid else place
    return first, first + len(solid)


@lru_cache(_HELD)
def kind_of_tokens(a: str, b: str) -> int | None:
    """Return the kind of difference of two forms of one token; None if only their normal form differs.

    >>> [KINDS[kind_of_tokens(*forms)] for forms in (("The", "the"), ("m\\u00b2", "m2"), ("\\ufb01t", "fit"))]
    ['case', 'sign or operator', 'form of letters']
    """
    if _collapse_spaces(a) == _collapse_spaces(b) or not (
        a and b
    ):  # the second token of a character, such as the 2 of ½, goes with the first
        return None
    a, b = nfc(a), nfc(b)
    forms = [[(char, decomposition(char)) for char in token if decomposition(char)[:1] == "<"] for token in (a, b)]
    raised = [[char for char, form in token if form.startswith(_FORMULA)] for token in forms]
    if raised[0] != raised[1]:
        return SIGN
    if a.casefold() == b.casefold() and forms[0] == forms[1]:
        return CASE
    return FORM if _letters(a) == _letters(b) else LEFT_OUT


def _letters(token: str) -> str:
    """Return the letters and digits of a token, whatever their form."""
    plain = normalize("NFKD", normalize("NFKC", token).casefold())
    return "".join(char for char in plain if category(char) not in ("Mn", "Cf") and char != "\u0640")


@lru_cache(_HELD)
def kind_of_gaps(a: BetweenTokens, b: BetweenTokens) -> int | None:
    """Return the kind of difference of the texts between the same two tokens; None for white space that both have.

    >>> KINDS[kind_of_gaps(BetweenTokens(": -", "e", "5,"), BetweenTokens(": ", "e", "5,"))]
    'sign or operator'
    >>> KINDS[kind_of_gaps(BetweenTokens(". ", "e", "an"), BetweenTokens(", ", "e", "an"))]
    'punctuation'
    """
    one, other = (_SPACES.sub(" ", nfc(gap.text)) for gap in (a, b))
    if one == other:
        return None
    if len(one) + len(other) > LONGEST:
        return PUNCTUATION
    if _has_words(one) or _has_words(other):
        left = kind_of_gaps(*(gap._replace(text=_NOT_COUNTED.sub(" ", gap.text)) for gap in (a, b)))
        return LEFT_OUT if left is None else max(left, LEFT_OUT)
    solid = [gap.replace(" ", "") for gap in (one, other)]
    digits = a.before.isdecimal() and a.after[:1].isdecimal()
    if solid[0] == solid[1]:
        return SIGN if digits and solid[0] in _DECIMAL_MARKS else SPACE
    if solid[0].translate(_SAME_MARKS) == solid[1].translate(_SAME_MARKS):
        return PUNCTUATION
    if digits and any(gap and gap == bare for gap, bare in zip((one, other), solid, strict=True)):
        return SIGN
    (i, j), (k, m) = differing_spans(a.text, (0, len(a.text)), b.text, (0, len(b.text)))
    kinds = [_kind(a, place) for place in range(i, j)] + [_kind(b, place) for place in range(k, m)]
    return max(kinds, default=SPACE)


def _has_words(gap: str) -> bool:
    return any(char.isalnum() or char == "\ufdd0" for char in gap)


def _kind(gap: BetweenTokens, place: int) -> int:
    """Return the kind of one character of a gap, by itself and by its neighbours."""
    char, text = gap.text[place], gap.text
    if char in WHITE_SPACE:
        return SPACE
    if char in _NUMBER_MARKS or char in _CHECKS:
        return SIGN
    if _BULLETS.match(char) or any(rule.start() <= place < rule.end() for rule in _RULE.finditer(text)):
        return PUNCTUATION
    last, after = text[place - 1] if place else gap.before, text[place + 1 :] + gap.after
    if char in _DASHES:
        return SIGN if _is_minus(gap, place, last, after) else PUNCTUATION
    kind = category(char)
    if kind == "Sm":
        return PUNCTUATION if _is_layout(gap, place, last, after) else SIGN
    if kind[0] == "P":
        return SIGN if _is_operator(char, last, after) else PUNCTUATION
    if kind == "Sk":
        return SIGN if char == "^" else PUNCTUATION
    return SIGN if kind[0] == "S" else FORM


def _begins_line(gap: BetweenTokens, place: int) -> bool:
    """Whether only white space and marks of quoted text are before a character in its line."""
    before = gap.text[:place]
    line = before.rpartition("\n")[2]
    begins = gap.before in ("", "\n", "\r") or len(line) < len(before)
    return begins and not line.strip(" \t\r>")


def _is_minus(gap: BetweenTokens, place: int, last: str, after: str) -> bool:
    """Whether a dash is the sign of a number or variable, before or after it, or between two numbers."""
    spaces = len(after) - len(after.lstrip(" \t\u00a0\u202f"))
    operand = after[spaces:].lstrip("$\u00a3\u00a5\u20ac")
    if operand[:1].isdecimal() or (operand[:1] in _DECIMAL_MARKS and operand[1:2].isdecimal()):
        is_bullet = spaces and _begins_line(gap, place)
        return not is_bullet and not last.isalpha()  # COVID-19, and a list of numbers
    if last.isdecimal():
        return not after or after[0] in WHITE_SPACE or after[0] in ")]"  # 5,000.00- of accounts
    variable = after[:1].isalpha() and not after[1:2].isalnum()
    return variable and not last.isalnum() and last not in _DASHES


def _is_layout(gap: BetweenTokens, place: int, last: str, after: str) -> bool:
    """Whether a mathematical sign is a mark of quoted text, a bracket, or the border of a column."""
    char, following = gap.text[place], after[:1]
    if char == "|":
        return not last.isalnum() and not following.isalnum() and "|" not in (last, following)
    if char == "<":  # <address>, <b>, </b>
        return not last.isalnum() and (following.isalpha() or following == "/")
    if char == ">":
        is_bracket = last.isalnum() and not following.isalnum() and not after.lstrip()[:1].isdecimal()
        return is_bracket or _begins_line(gap, place)
    return False


def _is_operator(char: str, last: str, after: str) -> bool:
    """Whether a punctuation mark is a decimal mark, an operator, or the bracket of a negative amount."""
    following, nearest = after[:1], after.lstrip()[:1]
    if char in ".,\u066b":  # .5
        return following.isdecimal() and not last.isalnum()
    if char == "!":
        return not last.isalnum() and (following.isalnum() or following in ("(", "="))
    if char == "*":
        return nearest.isdecimal() or (last.isalnum() and following.isalnum())
    if char == "&":
        return "&" in (last, following)
    return char == "(" and _NEGATIVE.match(char + after) is not None
