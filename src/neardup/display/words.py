"""Format numbers, sizes and untrusted text for people, and measure the width of text on a terminal."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from functools import lru_cache
from textwrap import fill
from typing import NamedTuple, TypeAlias
from unicodedata import category, east_asian_width

Line = tuple[str, str]
"""A label and its text."""


WITHOUT_TEXT = "without text"
BASE_TEXT_ONLY = "base text only"
ALL_LEFT_OUT = "all text left out"
"""The label for documents without a token."""

_WORD_BEGIN, _WORD_END = re.compile(r"\A[^\W_]*"), re.compile(r"[^\W_]*\Z")
BYTE_UNITS = ("kB", "MB", "GB", "TB", "PB")


# Controls other than tab and line feed; marks that change the direction of text or are invisible; code points that
# are not characters. Joiners, soft hyphens and variation selectors stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)

TAB = "    "
_RESET = "\x1b[0m"
_SOFT_HYPHEN = "\u00ad"  # a format character that terminals nevertheless give a column


def printable(id: object) -> str:
    r"""Return an id on one line, with escapes for the control characters that could control the terminal.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(id))


def escaped_parts(text: str) -> Iterator[tuple[str, bool]]:
    r"""Split a text of several lines into parts, each with a flag: whether it is an escape.

    Characters that are invisible, control the terminal or change the direction of text become escapes. Line ends
    become line feeds.

    >>> list(escaped_parts("pay\u202e 12\r\n"))
    [('pay', False), ('\\u202e', True), (' 12\n', False)]
    """
    start, text = 0, text.replace("\r\n", "\n")
    for match in _UNSEEN.finditer(text):
        if match.start() > start:
            yield text[start : match.start()], False
        yield match[0].encode("unicode_escape").decode(), True
        start = match.end()
    if start < len(text):
        yield text[start:], False


def visible(text: str) -> str:
    r"""Return a text of several lines in a form that is safe to print: see ``escaped_parts``.

    >>> visible("pay\u202e 12\x1b[2J\r\nnow")
    'pay\\u202e 12\\x1b[2J\nnow'
    """
    return "".join(part for part, _ in escaped_parts(text))


def number(count: int) -> str:
    """Return an integer with thousands separators.

    >>> number(1234567)
    '1,234,567'
    """
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return an integer followed by the noun it counts.

    >>> counted(1, "group"), counted(2048, "near copy", "near copies")
    ('1 group', '2,048 near copies')
    """
    return f"{number(count)} {noun if count == 1 else plural or noun + 's'}"


def similarity(value: float, digits: int = 3) -> str:
    """Return a similarity rounded down: .9997 is not shown as 1, nor a value below a threshold as reaching it.

    The shortest decimal that identifies the float is cut, so 57/100 stays .570.

    >>> similarity(0.99999), similarity(0.57), similarity(1)
    ('0.999', '0.570', '1.000')
    """
    return str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN))


def percent(part: float, whole: float) -> str:
    """Return a share in per cent with one decimal; only a full share is shown as 100.

    >>> percent(1, 3), percent(999_999, 1_000_000), percent(0, 0)
    ('33.3 %', '99.9 %', '0.0 %')
    """
    return f"{similarity(100 * part / whole if whole else 0.0, 1)} %"


def size(amount: int) -> str:
    """Return an amount of bytes in decimal units.

    >>> size(999), size(1_500_000)
    ('999 bytes', '1.5 MB')
    """
    value, unit = float(amount), ""
    for larger in BYTE_UNITS:
        if value < 999.95:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit else counted(amount, "byte")


def duration(seconds: float) -> str:
    """Return a time span in a suitable unit.

    >>> duration(0.0123), duration(4.21), duration(3723)
    ('0.01 s', '4.2 s', '1 h 02 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


class Extent(NamedTuple):
    """Documents, files or shards that a statement is about: ``seen``, ``skipped``, and ``unreadable``.

    Statements with *all*, *every*, *none* and *complete* about them are worded here: they say so only if nothing
    was left out, and otherwise how much was. ``tests/house/test_extent.py`` enforces it.
    """

    noun: str
    seen: int
    skipped: int = 0
    unreadable: int = 0
    plural: str = ""

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return not (self.skipped or self.unreadable)

    def all(self) -> str:
        """Return the things looked at, as the subject of a sentence.

        >>> Extent("shard", 3).all(), Extent("shard", 2, unreadable=1).all(), Extent("row", 1).all()
        ('all 3 shards', '2 of 3 shards', 'the one row')
        """
        if not self.whole:
            total = self.seen + self.skipped + self.unreadable
            return f"{number(self.seen)} of {counted(total, self.noun, self.plural)}"
        one = {0: f"no {self.noun}", 1: f"the one {self.noun}"}
        return one.get(self.seen) or f"all {counted(self.seen, self.noun, self.plural)}"

    def rest(self) -> str:
        """Return the things left out, after a semicolon, and why; "" if there are none.

        >>> Extent("file", 7, skipped=1, unreadable=2).rest()
        '; 1 file was not looked at; 2 files could not be read'
        """
        verb = "was" if self.skipped == 1 else "were"
        return "".join(
            f"; {counted(count, self.noun, self.plural)} {words}"
            for count, words in ((self.skipped, f"{verb} not looked at"), (self.unreadable, "could not be read"))
            if count
        )

    def were(self, done: str) -> str:
        """Return what was done with them, as a sentence without a full stop.

        >>> Extent("row", 5).were("read"), Extent("row", 4, unreadable=1).were("read")
        ('All 5 rows were read', '4 of 5 rows were read; 1 row could not be read')
        """
        verb = "was" if self.seen + self.skipped + self.unreadable < 2 else "were"
        subject = self.all()
        return f"{subject[0].upper()}{subject[1:]} {verb} {done}{self.rest()}"

    def no(self, noun: str) -> str:
        """Return that none of a kind is among them.

        >>> Extent("document", 62, skipped=217).no("missed pair")
        'no missed pair among 62 of 279 documents; 217 documents were not looked at'
        """
        return f"no {noun} among {self.all()}{self.rest()}"

    def sure(self, recall: float = 1.0) -> str:
        """Return how sure it is that nothing is missing from an answer that finds a match with this probability.

        >>> Extent("shard", 3).sure(), Extent("shard", 3).sure(0.99), Extent("shard", 2, unreadable=1).sure()
        ('complete', 'recall 0.9900 or more', 'not complete: 2 of 3 shards; 1 shard could not be read')
        """
        if not self.whole:
            return f"not complete: {self.all()}{self.rest()}"
        return "complete" if recall == 1 else f"recall {similarity(recall, 4)} or more"


def aligned_lines(lines: Sequence[Line], width: int | None = None) -> Iterator[str]:
    """Yield labelled lines as text, the labels in a column of their own; long lines are folded to ``width``."""
    column = max((len(label) for label, _ in lines), default=0) + 2
    for label, text in lines:
        line = f"{label:<{column}}{text}"
        yield line if width is None else fill(line, max(width, 2 * column), subsequent_indent=" " * column)


Fragment: TypeAlias = tuple[str, str]
"""A piece of text and the name of its style, "" for none."""


def columns(text: str) -> int:
    """Return the number of terminal columns a text needs: two for wide letters, none for marks and joiners.

    >>> columns("東京 e\\u0301")
    6
    """
    return len(text) if text.isascii() else sum(map(_column, text))


@lru_cache(1 << 12)
def _column(char: str) -> int:
    if "\u1160" <= char <= "\u11ff":  # vowels and finals of Hangul join the syllable before them
        return 0
    if category(char) in ("Mn", "Me", "Cf"):
        return int(char == _SOFT_HYPHEN)
    return 2 if east_asian_width(char) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """Return the text, cut to ``width`` columns if it is longer.

    >>> shorten("the night is dark", 12), shorten("dark", 12)
    ('the night i…', 'dark')
    """
    if text.isascii():
        return text if len(text) <= width else text[: width - 1] + "…"
    taken = cut = 0
    for place, char in enumerate(text):
        taken += _column(char)
        if taken > width:
            return text[:cut] + "…"
        if taken < width:
            cut = place + 1
    return text


def without_common(*names: str) -> tuple[str, tuple[str, ...]]:
    """Return the folders that names share, and the rest of each name, which is never empty.

    >>> without_common("contracts/24/old_v1.txt", "contracts/24/old_v2.txt"), without_common("site/page/")
    (('contracts/24/', ('old_v1.txt', 'old_v2.txt')), ('site/', ('page/',)))
    """
    shared = _common_prefix(names)[: max(min(map(len, names)) - 1, 0)]
    shared = shared[: max(map(shared.rfind, "/\\")) + 1]
    return shared, tuple(name[len(shared) :] for name in names)


def distinct(names: Sequence[str], width: int) -> tuple[str, ...]:
    """Return names of at most ``width`` columns that lack their common beginning, or else their middle.

    If two names were equal then, the cuts are where the names begin to differ, also inside a word.

    >>> distinct(["Agreement_of_2024-03-01_final.txt", "Agreement_of_2024-03-15_final.txt"], 20)
    ('…01_final.txt', '…15_final.txt')
    """
    if max(map(columns, names)) <= width:
        return tuple(names)
    shared = _common_prefix(names)
    for words, begin in ((True, _WORD_END.sub("", shared)), (False, shared)):
        cut = tuple(middle_cut(f"…{name[len(begin) :]}" if begin else name, width, words) for name in names)
        if len(set(cut)) == len(set(names)):
            break
    return cut


def beginning(names: Sequence[str]) -> str:
    """Return the whole words with which all names begin.

    >>> beginning(["agreement_24_v1.txt", "agreement_24_v2.txt"]), beginning(["claim.txt", "claim_signed.pdf"])
    ('agreement_24', 'claim')
    """
    shared = _common_prefix(names)
    within_word = any(name[len(shared) :][:1].isalnum() for name in names)
    return (_WORD_END.sub("", shared) if within_word else shared).strip(" _-.,#")


def _common_prefix(names: Sequence[str]) -> str:
    """Return the characters with which all names begin."""
    low, high = min(names), max(names)
    length = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return low[:length]


def middle_cut(text: str, width: int, words: bool = True) -> str:
    """Return a text of at most ``width`` columns that lacks its middle: names differ at their end.

    With ``words`` the cuts are between words, unless a word is longer than half of the room.

    >>> middle_cut("contracts/2403/agreement_2403_v2.txt", 24), middle_cut("a" * 20 + "1.txt", 12)
    ('…/agreement_2403_v2.txt', 'aaa…aa1.txt')
    """
    if columns(text) <= width:
        return text
    begin, end = shorten(text, max(width // 3, 1))[:-1], tail(text, width - width // 3)[1:]
    if not words:
        return f"{begin}…{end}"
    before = _WORD_END.sub("", begin) if text[len(begin)].isalnum() else begin
    before = begin if before == "…" else before  # the names differ in this word
    behind = tail(text, width - columns(before))[1:]
    whole = _WORD_BEGIN.sub("", behind) if text[-len(behind) - 1].isalnum() else behind
    return f"{before}…{whole}" if 2 * len(whole) >= len(behind) else f"{begin}…{end}"


def tail(text: str, width: int) -> str:
    """Return the end of a text, because file names differ there.

    >>> tail("reports/2001/march.txt", 12)
    '…1/march.txt'
    """
    return text if columns(text) <= width else "…" + shorten(text[::-1], width)[-2::-1]


def colour_line(line: Iterable[Fragment], codes: Mapping[str, str]) -> Iterator[str]:
    r"""Yield a line as strings with styles as colours (``codes``: SGR parameters by style; empty: no colour).

    >>> "".join(colour_line([("gone", "removed"), (" stays", "")], {"removed": "31"}))
    '\x1b[31mgone\x1b[0m stays'
    """
    for text, style in line:
        code = codes.get(style)
        yield f"\x1b[{code}m{text}{_RESET}" if code else text
