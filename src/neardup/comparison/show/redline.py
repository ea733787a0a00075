"""A comparison as a document of Word: the later text, with its differences from the earlier one tracked."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Literal, NamedTuple

from neardup.comparison.changes import ChangedText, TokenStretch, stretches_of
from neardup.display.view import environment
from neardup.text.units import Units, read

Kind = Literal["equal", "deleted", "inserted"]

_LINE_END = re.compile("\r\n?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no document of XML can hold; U+FFFD is in their places."""
PACKAGE = "neardup.comparison.show"
_PARTS = {"[Content_Types].xml": "types", "_rels/.rels": "relationships", "word/document.xml": "document"}
"""The parts of the file, and the macros that make them."""
_MADE = (1980, 1, 1, 0, 0, 0)
"""The time of the parts in the file, so that equal comparisons are equal files."""


class TextRun(NamedTuple):
    """A stretch of characters that both texts have, or one of them."""

    kind: Kind
    text: str


class Paragraph(NamedTuple):
    """A line, and the kind of its line end."""

    runs: list[TextRun]
    end: Kind


def redline(a: str, b: str, *, author: str = "neardup", date: datetime | None = None) -> bytes:
    """Return a document (.docx) with text B, and its differences from A as changes by an ``author`` on a ``date``.

    Lines are paragraphs without formatting. To accept all changes gives B, to reject them gives A, character by
    character but for those that XML cannot hold, and for line ends. ``date`` is now unless it is given.
    """
    from neardup.io.outputs import REDLINE_MARK  # loads much that a comparison on a terminal does not need

    parts: Any = environment(PACKAGE).get_template("redline.xml").module
    paragraphs = list(_paragraphs(runs_of(a, b)))
    time = (date or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.comment = REDLINE_MARK
        for name, macro in _PARTS.items():
            part = str(getattr(parts, macro)(paragraphs, author, time)).strip()
            packed.writestr(zipfile.ZipInfo(name, _MADE), part, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def runs_of(a: str, b: str) -> list[TextRun]:
    """Return the characters of two texts in one order; those not inserted are A, and those not deleted B.

    >>> runs_of("Pay 10 coins now.", "Pay 12 coins.")
    [TextRun(kind='equal', text='Pay '), TextRun(kind='deleted', text='10'), TextRun(kind='inserted', text='12'), \
TextRun(kind='equal', text=' coins'), TextRun(kind='deleted', text=' now'), TextRun(kind='equal', text='.')]
    """
    one, other = (ChangedText(read(_LINE_END.sub("\n", text))) for text in (a, b))
    pieces = (run for run in _pieces(one.units, other.units, stretches_of(one, other)) if run.text)
    by_kind = groupby(pieces, lambda run: run.kind)
    return _slid([TextRun(kind, "".join(run.text for run in some)) for kind, some in by_kind])


def _pieces(a: Units, b: Units, stretches: Iterable[TokenStretch]) -> Iterator[TextRun]:
    """Yield the runs, some empty and some of the same kind.

    A stretch has the signs and spaces on both of its sides, which may differ with it.
    """
    i = k = at_a = at_b = 0
    for stretch in [TokenStretch(0, 0, 0, 0), *stretches, TokenStretch(len(a), len(a), len(b), len(b))]:
        count = stretch.i - i
        yield from _equal_tokens(a, b, i, k, count)
        if count:
            at_a, at_b = _end(a, i + count), _end(b, k + count)
        i, k = stretch.j, stretch.m
        until = _begin(a, i), _begin(b, k)
        yield from _replacement(a.text[at_a : until[0]], b.text[at_b : until[1]])
        at_a, at_b = until


def _begin(units: Units, token: int) -> int:
    """Return where a token begins; behind the last one, where the text ends."""
    return int(units.spans[token, 0]) if token < len(units) else len(units.text)


def _end(units: Units, token: int) -> int:
    """Return where the token before this one ends."""
    return int(units.spans[token - 1, 1]) if token else 0


def _equal_tokens(a: Units, b: Units, i: int, k: int, count: int) -> Iterator[TextRun]:
    """Yield the characters of equal tokens, and between them; those that differ are replaced."""
    if not count:
        return
    one, other = a.text[_begin(a, i) : _end(a, i + count)], b.text[_begin(b, k) : _end(b, k + count)]
    if one == other:
        yield TextRun("equal", one)
        return
    for token in range(count):
        if token:
            yield from _replacement(
                a.text[_end(a, i + token) : _begin(a, i + token)],
                b.text[_end(b, k + token) : _begin(b, k + token)],
            )
        yield from _replacement(
            a.text[_begin(a, i + token) : _end(a, i + token + 1)],
            b.text[_begin(b, k + token) : _end(b, k + token + 1)],
        )


def _replacement(gone: str, came: str) -> Iterator[TextRun]:
    """Yield the signs and spaces that two stretches begin and end with as equal, and the rest as a whole."""
    if gone == came:
        yield TextRun("equal", gone)
        return
    begin = _common(gone, came, words=False)
    end = _common(gone[begin:][::-1], came[begin:][::-1], words=False)
    yield TextRun("equal", gone[:begin])
    yield TextRun("deleted", gone[begin : len(gone) - end])
    yield TextRun("inserted", came[begin : len(came) - end])
    yield TextRun("equal", gone[len(gone) - end :])


def _common(a: str, b: str, *, words: bool = True) -> int:
    """Return how many characters two texts begin with together; without ``words``, how many before a word."""
    pairs = enumerate(zip(a, b, strict=False))
    differ = (n for n, (x, y) in pairs if x != y or (not words and x.isalnum()))
    return next(differ, min(len(a), len(b)))


def _slid(runs: list[TextRun]) -> list[TextRun]:
    """Return the runs, additions and deletions moved back to the beginning of a line where they can begin there.

    Behind ``one.¶Item``, the addition ``new.¶Item`` is the line ``Item new.¶``.
    """
    slid = list(runs)
    for place in range(1, len(slid) - 1):
        before, run, behind = slid[place - 1 : place + 2]
        if run.kind == "equal" or before.kind != "equal" or behind.kind != "equal" or "\n" not in run.text:
            continue
        size = len(before.text)
        most = _common(before.text[-len(run.text) :][::-1], run.text[::-1])
        for by in range(1, most + 1):
            if by == size or before.text[size - by - 1] == "\n":
                slid[place - 1 : place + 2] = (
                    TextRun("equal", before.text[: size - by]),
                    TextRun(run.kind, before.text[size - by :] + run.text[:-by]),
                    TextRun("equal", run.text[-by:] + behind.text),
                )
                break
    return [run for run in slid if run.text]


def _paragraphs(runs: Iterable[TextRun]) -> Iterator[Paragraph]:
    """Yield a paragraph for each line; the end of the last one is no change."""
    line: list[TextRun] = []
    for kind, text in runs:
        for part in re.split("(\n)", _NOT_XML.sub("\ufffd", text)):
            if part == "\n":
                yield Paragraph(line, kind)
                line = []
            elif part:
                line.append(TextRun(kind, part))
    yield Paragraph(line, "equal")
