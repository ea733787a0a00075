"""Numbers, amounts, dates, addresses and paths: several tokens that readers take as one; and readings of OCR.

They are for display alone: where one of them differs, it is shown as a whole. Counts and measures stay by tokens.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

_MONTH = (
    r"(?:jan|f[eé]v|feb|m[aä]r|ma[iyg]|apr|avr|abr|jun|jui|jul|aug|ao[uû]|ago|sep|set|oct|okt|ott|out|nov|dec|d[eé]c"
    r"|dez|dic|gen|ene|giu|lug|mei|mrt)[a-zéûçä]{0,8}\.?"
)
_SIGNED = "(?:(?<![\\w)\\]%])[-+\u2212\u00b1\u2013])?(?:[$\u20ac\u00a3\u00a5\u20b9][-\u2212]?)?"
_GROUPED = "\\d{1,3}(?:[ \u00a0\u202f]\\d{3}){1,3}(?!\\w|[ ]\\d)(?:[.,]\\d{1,9})?"
_JOINED = (
    "(?:(?<![\\w.])\\.)?(?<!\\w)[^\\W\\d]{0,8}\\d\\w{0,64}"
    "(?:[.,:'\u2019/\\-\u2013\u2011\u00d7][^\\W\\d]{0,8}\\d\\w{0,64}){0,32}"
)
_MINUS_AFTER = r"(?:-(?=[\s)\]]|$))?"
_NO_BEGIN = r"(?!(?<=\w)[^\W\d]|[^\W\d]+(?:[ \u00a0]\D|[\t\n\r,;!?)\]\"\u201d\u2019]))"
"""No expression begins inside a word, or with a word before another word or a mark: a quick look at a place."""
_EXPRESSION = re.compile(
    _NO_BEGIN
    + "(?:"
    + "|".join(
        (
            r"(?:\b[a-z][a-z0-9+.-]{1,15}://|\bwww\.)[^\s<>\"'\u201c\u201d]{1,2000}(?<![.,;:!?)\]}])",
            r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}",
            r"(?<![\w/])(?:[a-z]:\\|~?/|\.{1,2}/|\\\\)[\w.+-]{1,255}(?:[\\/][\w.+-]{1,255}){1,32}(?<!\.)",
            rf"(?<!\w)\d{{1,2}}(?:st|nd|rd|th|er|\.)?[ \u00a0](?:of )?{_MONTH},?[ \u00a0]\d{{4}}(?!\w)",
            rf"(?<!\w){_MONTH}[ \u00a0]\d{{1,2}}(?:st|nd|rd|th)?,[ \u00a0]\d{{4}}(?!\w)",
            "\\([$\u20ac\u00a3\u00a5]?\\d[\\d.,'\u2019 ]{0,32}[.,]\\d{1,9}[%\u20ac]?\\)",
            f"{_SIGNED}(?:{_GROUPED}|{_JOINED})(?:[ \u00a0]?[%\u2030\u20ac]|[$\u00a3\u00a5\u00b0])?{_MINUS_AFTER}",
        )
    )
    + ")",
    re.IGNORECASE,
)
_SIGN_OF_ONE = re.compile(r"[\d@]|://|[\\/]\w")
"""A text without a match has no expression."""

_LIKE_DIGITS = {"1": "lIi|!", "0": "oO", "5": "sS", "8": "B"}
_ONE_FOR_ONE = {frozenset((digit, letter)) for digit, letters in _LIKE_DIGITS.items() for letter in letters}
_ONE_FOR_ONE |= {frozenset(pair) for pair in ("lI", "l|", "l!", "I|", "I!", "i|", "i!")}
_TWO_FOR_ONE = {("r", "m"): "rn", ("c", "d"): "cl", ("v", "w"): "vv", ("V", "W"): "VV"}
_NUMERALS = frozenset("0123456789oOlI|!")
_LIGATURES = str.maketrans(
    {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st", 0xAD: ""}
)
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010]\s*[\r\n]\s*(?=[^\W\d_])")
"""A hyphen at the end of a line, inside a word."""
LONGEST_READING = 512
"""Characters of a place from which on no explanation by OCR is looked for."""


class Expression(NamedTuple):
    """The tokens [first, last) of an expression, and its characters [begin, end)."""

    first: int
    last: int
    begin: int
    end: int


def expressions_of(
    text: str, spans: Sequence[tuple[int, int]], token: int, begin: int, end: int
) -> Iterator[Expression]:
    """Yield the expressions in the characters [begin, end) of a text, with tokens from ``token`` on at ``spans``.

    A word or a number that is one token and no more is none.

    >>> from neardup.text.units import words
    >>> text = "Pay -$1,000.50 by 3 May 2026, and 7 more."
    >>> found = expressions_of(text, words(text).spans.tolist(), 0, 0, len(text))
    >>> [text[each.begin : each.end] for each in found]
    ['-$1,000.50', '3 May 2026']
    """
    if not _SIGN_OF_ONE.search(text, begin, end):
        return
    for match in _EXPRESSION.finditer(text, begin, end):
        first = bisect_right(spans, match.start(), key=itemgetter(1))
        last = bisect_left(spans, match.end(), key=itemgetter(0))
        if first >= last:
            continue
        start = max(begin, min(match.start(), spans[first][0]))
        stop = min(end, max(match.end(), spans[last - 1][1]))
        if last - first > 1 or stop - start > spans[first][1] - spans[first][0]:
            yield Expression(token + first, token + last, start, stop)


def without_numbers(text: str) -> str:
    """Return a text with 0 in place of each expression, with its sign and its marks, and of each number.

    >>> without_numbers("Pay -$1,000.50 > 7 or 8,5")
    'Pay 0 > 0 or 0'
    """
    return _EXPRESSION.sub("0", text) if _SIGN_OF_ONE.search(text) else text


def is_number(text: str) -> bool:
    """Whether a text is one number with its marks: an amount, a share, a clause; no address.

    >>> [is_number(text) for text in ("-$1,200.50", "1 200 000", "12/3", "12 of 14", "a1@example.org", "twelve")]
    [True, True, True, False, False, False]
    """
    address = "@" in text or "//" in text or "\\" in text
    return not address and any(map(str.isdigit, text)) and without_numbers(text) == "0"


_DATE = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th|er|\.)?[ \u00a0](?:of )?{_MONTH},?[ \u00a0]\d{{4}}"
    rf"|{_MONTH}[ \u00a0]\d{{1,2}}(?:st|nd|rd|th)?,[ \u00a0]\d{{4}}"
    r"|\d{4}-\d{1,2}-\d{1,2}|\d{1,2}([./-])\d{1,2}\1(?:\d{2}|\d{4})",
    re.IGNORECASE,
)


def is_date(text: str) -> bool:
    """Whether a text is one date, in words or figures.

    >>> is_date("3 May 2026"), is_date("2026-05-03"), is_date("3.5"), is_date("1,200.00")
    (True, True, False, False)
    """
    return _DATE.fullmatch(text) is not None


_MONTHS = (
    "jan ene gen", "feb fév fev", "mar mär mrt", "apr avr abr", "may mai mei mag", "jun juin giu",
    "jul jui lug", "aug aoû aou ago", "sep set", "oct okt ott out", "nov", "dec déc dez dic",
)  # fmt: skip
"""How the names of the months begin, in the languages that ``is_date`` knows; longer ones count before shorter."""


def day_of(text: str) -> float | None:
    """Return a number that orders dates by day; None for another text. 4/5/2026 is read as the fourth of May.

    >>> day_of("3 May 2026") < day_of("2026-05-04") < day_of("5.5.2026")
    True
    """
    if not is_date(text):
        return None
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    name = re.search(r"[a-zéûä]{3,}", text.casefold())
    if name is not None:
        day, year = numbers
        starts = ((start, month) for month, every in enumerate(_MONTHS, 1) for start in every.split())
        month = max(((len(start), month) for start, month in starts if name[0].startswith(start)), default=(0, 0))[
            1
        ]
    elif len(re.split(r"\D", text)[0]) == 4:
        year, month, day = numbers
    else:
        day, month, year = numbers
    return (year + 2000 * (year < 100)) * 400.0 + month * 32 + day


def amount_of(text: str) -> float | None:
    """Return the number in an amount; None for another text. One comma or full stop before three digits groups.

    >>> amount_of("$1,200.50"), amount_of("1.200,50 €"), amount_of("-7%"), amount_of("1,200"), amount_of("Anna 7")
    (1200.5, 1200.5, -7.0, 1200.0, None)
    """
    digits = re.sub(r"[\s$€£¥₹%‰'’]", "", text)
    if not re.fullmatch(r"[-+−(]?\d[\d.,]*\)?", digits):
        return None
    negative, digits = digits[0] in "-−(", digits.strip("-+−()")
    last = max(digits.rfind("."), digits.rfind(","))
    same = last >= 0 and digits.count(digits[last]) > 1
    groups = last < 0 or same or (len(digits) - last == 4 and len(set(digits) & {".", ","}) == 1)
    whole, part = (digits, "") if groups else (digits[:last], digits[last + 1 :])
    value = float(re.sub(r"\D", "", whole) + "." + (re.sub(r"\D", "", part) or "0"))
    return -value if negative else value


def reads_alike(before: str, after: str) -> bool:
    """Whether OCR may have read one of two different texts for the other.

    It takes l, I, | and ! for each other or for 1, i for 1, O for 0, S for 5, B for 8, rn for m, cl for d and vv
    for w, splits and joins words, and writes ligatures and hyphens at line ends. A digit is never another digit,
    and no number gains or loses one. A word of one character is no digit. A word of letters with a capital may be
    a name, and has no other letters.

    >>> reads_alike("the rn0dern  con-\\ntract", "the modern contract"), reads_alike("l,2O0.00", "1,200.00")
    (True, True)
    >>> reads_alike("10", "100"), reads_alike("1 0", "10"), reads_alike("Klern", "Klem"), reads_alike("B", "8")
    (False, False, False, False)
    """
    if before == after or max(len(before), len(after)) > LONGEST_READING:
        return False
    (a, words_a), (b, words_b) = _solid(before), _solid(after)
    i = j = 0
    while i < len(a) and j < len(b):
        one, other, step_a, step_b = a[i], b[j], 1, 1
        if one != other:
            words = words_a[i], words_b[j]
            if frozenset((one, other)) in _ONE_FOR_ONE:
                digit, word = (one, words[0]) if one.isdigit() else (other, words[1])
                if digit.isdigit() and not _may_be_digit(digit, word):
                    return False
            elif a.startswith(_TWO_FOR_ONE.get((one, other), "\0"), i):
                step_a = 2
            elif b.startswith(_TWO_FOR_ONE.get((other, one), "\0"), j):
                step_b = 2
            else:
                return False
            if all(map(_may_be_name, words)):
                return False
        i, j = i + step_a, j + step_b
    return i == len(a) and j == len(b)


def _solid(text: str) -> tuple[str, list[str]]:
    """Return a text without spaces, but for those in numbers, and hyphenation; and the word of each character."""
    solid, words = "", list[str]()
    for word in _BROKEN.sub("", text.translate(_LIGATURES)).split():
        parts = solid[-1:] in _NUMERALS and word[0] in _NUMERALS and (solid[-1:] + word[0]).strip("oOlI|!") != ""
        solid, words = solid + " " * parts + word, words + [word] * (parts + len(word))
    return solid, words


def _may_be_digit(digit: str, word: str) -> bool:
    """Whether a digit in a word may be a letter: it is not alone, and 5 and 8 have letters beside them."""
    return len(word) > 1 and (digit not in "58" or any(map(str.isalpha, word)))


def _may_be_name(word: str) -> bool:
    """Whether a word is of letters with a capital at its beginning; an l among capitals is none of its letters."""
    bare = word.strip(".,;:()\"\u201c\u201d\u2018\u2019'")
    if not bare[:1].isupper() or not bare.replace("-", "").isalpha():
        return False
    return not ("l" in bare and len(bare) > 2 and bare.replace("l", "").isupper())
