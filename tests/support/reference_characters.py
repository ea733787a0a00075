"""A naive twin of ``text/characters.py``: the signs of a whole text by expressions, gaps compared one by one.

Where the module looks at a gap between two tokens, this one marks every sign in the text first, with its
neighbours in the expression, and then asks which marked characters differ.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from unicodedata import category, normalize

import regex

Span = tuple[int, int]

CLASSES_OF_15 = dict.fromkeys(range(0x10EFD, 0x10F00), 220) | {0x1E08F: 230, 0x11F41: 9, 0x11F42: 9}
"""Marks that an interpreter may not know yet, with their combining classes."""
LATER = {0x0897, *range(0x11380, 0x113E3), *range(0x1611E, 0x1612A), *range(0x16D63, 0x16D6B)}
"""Marks and compositions of later versions: Unicode 15 knows nothing of them."""


def nfc(text: str) -> str:
    """Return NFC of Unicode 15 whatever the version of the interpreter: decompose, sort the marks, compose."""
    points: list[tuple[int, str]] = []
    for char in text:
        own = char if ord(char) in LATER else normalize("NFD", char)
        points += [(_class(each), each) for each in own]
    at = 0
    while at < len(points):
        end = at
        while end < len(points) and points[end][0]:
            end += 1
        points[at:end] = sorted(points[at:end], key=lambda each: each[0])
        at = end + 1
    out: list[tuple[int, str]] = []
    starter = -1
    for own, char in points:
        # blocked: something between the starter and the character has no lower class
        blocked = starter < 0 or (starter != len(out) - 1 and out[-1][0] >= own)
        both = "" if blocked else _composed(out[starter][1], char)
        if both:
            out[starter] = (0, both)
            continue
        starter = len(out) if own == 0 else starter
        out.append((own, char))
    return "".join(char for _, char in out)


def _class(char: str) -> int:
    return 0 if ord(char) in LATER else CLASSES_OF_15.get(ord(char), unicodedata.combining(char))


def _composed(first: str, second: str) -> str:
    if LATER & {ord(first), ord(second)}:
        return ""
    both = normalize("NFC", first + second)
    return both if len(both) == 1 else ""


def canonical(text: str) -> str:
    """Return the fields between the white space of a text in NFC, after a byte order mark, with single spaces."""
    normal = nfc(text[1:] if text.startswith("\ufeff") else text)
    return " ".join(field for field in regex.split(r"\p{White_Space}+", normal) if field)


DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
_SIGNS = (
    r"[%\u2030\u2031\u066a\uff05\u2610-\u2612\u2713-\u2718^]",
    # a minus before a number, unless it begins a list; after one; before a variable
    rf"(?<![^\W\d_])[{DASHES}](?=[$\u00a3\u00a5\u20ac]*[.,\u00b7\u2019'\u066b\u066c]?\d)",
    rf"(?<![^\W\d_])[{DASHES}](?=[ \t\u00a0\u202f]+[$\u00a3\u00a5\u20ac]*[.,\u00b7\u2019'\u066b\u066c]?\d)",
    rf"(?<=\d)[{DASHES}](?=[\s)\]]|\Z)",
    rf"(?<![{DASHES}\w])[{DASHES}](?=[^\W\d_](?!\w))",
    r"(?<!\w)[.,\u066b](?=\d)",
    r"(?<!\w)!(?=[\w(=])",
    r"\*(?=\s*\d)|(?<=\w)\*(?=\w)",
    r"&(?=&)|(?<=&)&",
    r"\((?=\s?[$\u00a3\u00a5\u20ac]?\s?\d[\d.,'\u2019 ]*[.,]\d+\s?[%$\u00a3\u00a5\u20ac]?\))",
)
_LAYOUT = (
    r"(?m)^[ \t\r>]+",
    rf"(?m)^[ \t\r>]*[{DASHES}](?=[ \t\u00a0\u202f])",
    r"(?<!\w)<(?=[^\W\d_]|/)",
    r"(?<=\w)>(?!\w)(?!\s*\d)",
    r"(?<![\w|])\|(?![\w|])",
    r"([-=_~+*#.<>|\u2010-\u2015])\1\1+",
    r"[\u25a0-\u25ff\u2756\u27a2\ufffd]",
)


def is_white(char: str) -> bool:
    """Whether a character has the property White_Space."""
    return regex.fullmatch(r"\p{White_Space}", char) is not None


def signs(text: str) -> set[int]:
    """Return the places of all signs and operators of a text."""
    symbols = {
        place for place, char in enumerate(text) if category(char) in ("Sm", "Sc", "So") and char not in DASHES
    }
    marked = {match.start() for rule in _SIGNS for match in re.finditer(rule, text)}
    layout = {place for rule in _LAYOUT for match in re.finditer(rule, text) for place in range(*match.span())}
    return (symbols | marked) - layout


def differences(
    a: str, b: str, spans_a: Sequence[Span], spans_b: Sequence[Span]
) -> Iterator[tuple[str, Span, Span]]:
    """Yield the kind and the places of the differences between the tokens of two texts."""
    marked = signs(a), signs(b)
    ends = [(0, 0), *spans_a, (len(a), len(a))], [(0, 0), *spans_b, (len(b), len(b))]
    for k in range(len(spans_a) + 1):
        (_, i), (j, _), (_, m), (n, _) = ends[0][k], ends[0][k + 1], ends[1][k], ends[1][k + 1]
        while k == 0 and i < j and is_white(a[i]):
            i += 1
        while k == 0 and m < n and is_white(b[m]):
            m += 1
        while k == len(spans_a) and i < j and is_white(a[j - 1]):
            j -= 1
        while k == len(spans_a) and m < n and is_white(b[n - 1]):
            n -= 1
        gaps = [regex.sub(r"\p{White_Space}+", " ", nfc(gap)) for gap in (a[i:j], b[m:n])]
        if gaps[0] == gaps[1]:
            continue
        while i < j and m < n and a[i] == b[m]:
            i, m = i + 1, m + 1
        while i < j and m < n and a[j - 1] == b[n - 1]:
            j, n = j - 1, n - 1
        differing = [(0, place) for place in range(i, j)] + [(1, place) for place in range(m, n)]
        yield _kind(gaps, k, (a, b), ends, any(place in marked[side] for side, place in differing)), (i, j), (m, n)


def _kind(gaps: list[str], k: int, texts: tuple[str, str], ends: tuple[list[Span], ...], is_marked: bool) -> str:
    solid = [gap.replace(" ", "") for gap in gaps]
    end, begin = ends[0][k][1], ends[0][k + 1][0]
    digits = k > 0 and texts[0][end - 1 : end].isdecimal() and texts[0][begin : begin + 1].isdecimal()
    if solid[0] == solid[1]:
        return "sign or operator" if digits and solid[0] in list(".,\u00b7\u2019'\u066b\u066c") else "white space"
    plain = [re.sub(f"[{DASHES}]", "-", gap).replace("\u2019", "'") for gap in solid]
    if plain[0] == plain[1]:
        return "punctuation"
    attached = any(gap and " " not in gap for gap in gaps)
    return "sign or operator" if (digits and attached) or is_marked else "punctuation"
