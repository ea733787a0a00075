"""Numbers, amounts, dates, addresses and paths: several tokens that readers take as one, with their marks.

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
_EXPRESSION = re.compile(
    "|".join(
        (
            r"(?:\b[a-z][a-z0-9+.-]{1,15}://|\bwww\.)[^\s<>\"'\u201c\u201d]{1,2000}(?<![.,;:!?)\]}])",
            r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,8}",
            r"(?<![\w/])(?:[a-z]:\\|~?/|\.{1,2}/|\\\\)[\w.+-]{1,255}(?:[\\/][\w.+-]{1,255}){1,32}(?<!\.)",
            rf"(?<!\w)\d{{1,2}}(?:st|nd|rd|th|er|\.)?[ \u00a0](?:of )?{_MONTH},?[ \u00a0]\d{{4}}(?!\w)",
            rf"(?<!\w){_MONTH}[ \u00a0]\d{{1,2}}(?:st|nd|rd|th)?,[ \u00a0]\d{{4}}(?!\w)",
            "\\([$\u20ac\u00a3\u00a5]?\\d[\\d.,'\u2019 ]{0,32}[.,]\\d{1,9}[%\u20ac]?\\)",
            f"{_SIGNED}(?:{_GROUPED}|{_JOINED})(?:[ \u00a0]?[%\u2030\u20ac]|[$\u00a3\u00a5\u00b0])?{_MINUS_AFTER}",
        )
    ),
    re.IGNORECASE,
)
_SIGN_OF_ONE = re.compile(r"[\d@]|://|[\\/]\w")
"""A text without a match has no expression."""


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
