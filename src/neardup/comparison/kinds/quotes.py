"""How deep each word of a mail is quoted, and whether one text quotes the other.

Quoted are lines that begin with ``>``, and everything after the header of a quoted mail: a line such as *On
Tuesday A wrote:*, unless marked lines follow it, or a block of *From: … To: … Subject: …* inside the text.
"""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter

import numpy as np

from neardup.comparison.kinds.blocks import Blocks
from neardup.tables import Int64s
from neardup.text.codepoints import codepoints_of
from neardup.text.units import Units

LONGEST = 1 << 20
"""Texts of more characters are not searched for quotes."""

_MARKED = re.compile(r"^[ \t]*[>＞][>＞ \t]*", re.MULTILINE)
_ENDS_IN_COLON = re.compile(r"^[^\n]{0,400}[:：][ \t\r]*$", re.MULTILINE)
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|schreibt|écrit|escribió|escreveu|ha scritto|scrisse|schreef|skrev|kirjoitti"
    r"|napisał|napsala?|napísala?|írta|a scris|έγραψε|написала?|пише|пишет|писал|написав|yazdı|đã viết|menulis)\b"
    r"|写道|寫道|さんは書きました|のメッセージ|님이 작성|כתב|كتب|เขียนว่า",
    re.IGNORECASE,
)
_HEADERS = re.compile(
    r"^(?P<label>[^\n:：]{1,30})[:：][^\n]*\n(?:[^\n:：]{1,30}[:：][^\n]*(?:\n|\Z)){2,}", re.MULTILINE
)
_DATE_OR_ADDRESS = re.compile(r"[@\d]")
_START, _NEXT = re.compile(r"[ \t>＞]*"), re.compile(r"(?:[ \t>＞]*\r?\n)*([ \t>＞]*)")
_SENDER = (
    "from von de da van från fra od от від expéditeur absender mittente remitente afzender nadawca lähettäjä "
    "feladó expeditor από kimden gönderen dari từ จาก من מאת 发件人 發件人 寄件者 差出人 送信者 보낸사람"
)
_FROM = frozenset(_SENDER.split())
"""Labels of the sender, without white space."""


def depths_of(units: Units) -> Int64s:
    r"""Return how deep each unit of a text is quoted: int64[n].

    >>> from neardup.text.units import words
    >>> depths_of(words("No.\nAn wrote:\n> Yes?\n>> Now?")).tolist()
    [0, 0, 0, 1, 2]
    >>> depths_of(words("No.\nOn Monday, An wrote:\nYes?")).tolist()
    [0, 0, 0, 0, 0, 1]
    """
    text, begins = units.text, units.spans[:, 0]
    steps = np.zeros(len(units) + 1, np.int64)
    marked = [(found.end(), _marks(found.group())) for found in _MARKED.finditer(text)]
    if marked:
        places, counts = np.array(marked, np.int64).T
        line_ends = np.append(np.flatnonzero(codepoints_of(text) == ord("\n")), len(text))
        np.add.at(steps, np.searchsorted(begins, places), counts)
        np.add.at(steps, np.searchsorted(begins, line_ends[np.searchsorted(line_ends, places)]), -counts)
    marks = np.cumsum(steps)[:-1]
    for own, headers in groupby(sorted(_headers(text)), key=itemgetter(0)):
        first = np.searchsorted(begins, [end for _, end in headers])
        np.add.at(steps, first, 1)
        if own:  # a header in marked text ends with the marks
            fewer = np.append(np.flatnonzero(marks < own), len(units))
            np.add.at(steps, fewer[np.searchsorted(fewer, first)], -1)
    return np.cumsum(steps)[:-1]


def has_quotes(text: str) -> bool:
    """Whether a text has a sign of quoted text, and is no longer than a mail."""
    if len(text) > LONGEST:
        return False
    return _MARKED.search(text) is not None or bool(_headers(text))


def _headers(text: str) -> list[tuple[int, int]]:
    """Return the headers of quoted mails: the marks before each, and where it ends.

    A header is none if marked lines follow it: the marks show what is quoted.
    """
    found, top = [], len(text) - len(text.lstrip())
    for line in _ENDS_IN_COLON.finditer(text):
        if _WROTE.search(line.group()):
            own, after = _START.match(line.group()), _NEXT.match(text, line.end())
            assert own is not None
            assert after is not None  # both match anything
            if _marks(after[1]) <= _marks(own[0]):
                found.append((_marks(own[0]), line.end()))
    for block in _HEADERS.finditer(text):
        label = block["label"].strip(" \t*_>＞").casefold().replace(" ", "")
        if label in _FROM and block.start() > top and _DATE_OR_ADDRESS.search(block.group()):
            found.append((_marks(block["label"]), block.end()))
    return found


def _marks(text: str) -> int:
    """Return the number of marks of quoted text."""
    return text.count(">") + text.count("＞")


def quotes(blocks: Blocks, depths_a: Int64s, depths_b: Int64s) -> int:
    """Return 1 if B quotes A, −1 if A quotes B, else 0.

    B quotes A if more than half of the common text, and more than half of the quoted text of B, is common text
    that is quoted deeper in B than in A.
    """
    of_a, of_b = blocks.of_each(depths_a, 0), blocks.of_each(depths_b, 1)
    for deeper, quoted, answer in ((of_b > of_a, depths_b, 1), (of_a > of_b, depths_a, -1)):
        both = 2 * int(np.count_nonzero(deeper))
        if both > len(of_a) and both > np.count_nonzero(quoted):
            return answer
    return 0
