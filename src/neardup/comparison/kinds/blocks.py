"""The common text of two token sequences as blocks, the rest of each, and the lines that quote the other."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from neardup.comparison import matching
from neardup.comparison.alignment import path_of
from neardup.comparison.kinds import PASSAGE
from neardup.tables import Bools, Int64s, UInt64s, numbers_in
from neardup.text.units import Units
from neardup.unicode import codepoints_of

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


@dataclass(frozen=True, eq=False)
class Blocks:
    """The common blocks of A and B, int64[k, 3]: start in A, start in B, length; in the order of A.

    ``moved`` bool[k]: the block is in another order than the rest. ``sizes``: the tokens of A and of B.
    ``capped``: the repetition in the texts was too much to try every match; there may be more blocks.
    ``at_most``: the text in no block is an upper bound, also because a long stretch was not aligned word by word.
    """

    blocks: Int64s
    moved: Bools
    sizes: tuple[int, int]
    capped: bool
    at_most: bool

    @cached_property
    def rest(self) -> tuple[Int64s, Int64s]:
        """The stretches int64[r, 2] (begin, end) of A and of B that are in no block."""
        return _gaps_between(self.blocks[:, [0, 2]], self.sizes[0]), _gaps_between(
            self.blocks[:, [1, 2]], self.sizes[1]
        )

    @property
    def left(self) -> tuple[int, int]:
        """The number of tokens of A and of B that are in no block."""
        return int(np.diff(self.rest[0]).sum()), int(np.diff(self.rest[1]).sum())

    @cached_property
    def places(self) -> int:
        """The number of places that differ: the rests of A and of B after the same block are one place."""
        chain = self.blocks[~self.moved]
        after = [np.searchsorted(chain[:, side], self.rest[side][:, 0]) for side in (0, 1)]
        return len(np.union1d(*after))

    def of_each(self, values: Any, side: int) -> Any:
        """Return the ``values`` (an array with one for each token) of the tokens in blocks, in the order of A."""
        return values[numbers_in(self.blocks[:, side], self.blocks[:, 2])]


def blocks_of(a: Units, b: Units) -> Blocks:
    """Return the common blocks of two texts.

    The common beginning and end are blocks; between them, the blocks are those of the alignment in
    ``comparison.alignment``: tiles of PASSAGE tokens or more, and words in the same order between them.
    """
    m, n = len(a), len(b)
    begin, end = _common_ends(a.hashes, b.hashes)
    runs, moved = np.empty((0, 3), np.int64), np.empty(0, np.bool_)
    capped = at_most = False
    if begin + end < min(m, n):
        pair = matching.pair_of(a.hashes[begin : m - end], b.hashes[begin : n - end], (a.rank, b.rank))
        literal = matching.literal(pair, PASSAGE)
        path = path_of(pair, literal.tiles)
        others = literal.tiles[~path.in_order]
        runs = np.concatenate((path.runs[:, :3], others)) + np.array([begin, begin, 0])
        moved = np.arange(len(runs)) >= len(path.runs)
        capped, at_most = literal.capped, literal.capped or path.capped
    ends = np.array([(0, 0, begin), (m - end, n - end, end)], np.int64)[[begin > 0, end > 0]]
    runs, moved = np.concatenate((runs, ends)), np.concatenate((moved, np.zeros(len(ends), np.bool_)))
    order = np.argsort(runs[:, 0], kind="stable")
    return Blocks(runs[order], moved[order], (m, n), capped, at_most)


def slides(hashes: UInt64s, begin: int, end: int, most: int) -> tuple[int, int]:
    """Return how far the stretch [begin, end) can move left and right, at most ``most``, and be the same edit.

    "the cat the dog" may have the addition "the cat" or "cat the".
    """
    left = right = 0
    while left < min(begin, most) and hashes[begin - left - 1] == hashes[end - left - 1]:
        left += 1
    while right < min(len(hashes) - end, most) and hashes[begin + right] == hashes[end + right]:
        right += 1
    return left, right


def _common_ends(a: UInt64s, b: UInt64s) -> tuple[int, int]:
    """Return the number of equal tokens at the beginning, and at the end of the rest."""
    short = min(len(a), len(b))
    differ = np.flatnonzero(a[:short] != b[:short])
    begin = int(differ[0]) if len(differ) else short
    left = short - begin
    differ = np.flatnonzero(a[len(a) - left :][::-1] != b[len(b) - left :][::-1])
    return begin, int(differ[0]) if len(differ) else left


def _gaps_between(stretches: Int64s, size: int) -> Int64s:
    """Return the stretches int64[r, 2] of 0 … size − 1 outside the given disjoint ones (begin, length)."""
    order = np.argsort(stretches[:, 0])
    begins, ends = stretches[order, 0], stretches[order].sum(axis=1)
    gaps = np.column_stack((np.concatenate(([0], ends)), np.concatenate((begins, [size]))))
    return gaps[gaps[:, 1] > gaps[:, 0]]


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
    marked = [(mark.end(), _marks(mark.group())) for mark in _MARKED.finditer(text)]
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
    headers, top = [], len(text) - len(text.lstrip())
    for line in _ENDS_IN_COLON.finditer(text):
        if _WROTE.search(line.group()):
            own, after = _START.match(line.group()), _NEXT.match(text, line.end())
            assert own is not None
            assert after is not None  # both match anything
            if _marks(after[1]) <= _marks(own[0]):
                headers.append((_marks(own[0]), line.end()))
    for block in _HEADERS.finditer(text):
        label = block["label"].strip(" \t*_>＞").casefold().replace(" ", "")
        if label in _FROM and block.start() > top and _DATE_OR_ADDRESS.search(block.group()):
            headers.append((_marks(block["label"]), block.end()))
    return headers


def _marks(text: str) -> int:
    """Return the number of marks of quoted text."""
    return text.count(">") + text.count("＞")


def quotes(blocks: Blocks, depths_a: Int64s, depths_b: Int64s) -> tuple[int, int]:
    """Return 1 if B quotes A, −1 if A quotes B, else 0; and the number of tokens that are quoted.

    B quotes A if more than half of the common text, and more than half of the quoted text of B, is common text
    that is quoted deeper in B than in A.
    """
    of_a, of_b = blocks.of_each(depths_a, 0), blocks.of_each(depths_b, 1)
    for deeper, quoted, answer in ((of_b > of_a, depths_b, 1), (of_a > of_b, depths_a, -1)):
        tokens = int(np.count_nonzero(deeper))
        if 2 * tokens > len(of_a) and 2 * tokens > np.count_nonzero(quoted):
            return answer, tokens
    return 0, 0
