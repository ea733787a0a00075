"""A comparison as a document of Word: the later text, with its differences from the earlier one tracked."""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from neardup.comparison.changes import ChangedText, Stretch, stretches_of
from neardup.text.units import Units, read

Kind = Literal["equal", "deleted", "inserted"]

_LINE_END = re.compile("\r\n?")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no document of XML can hold; U+FFFD is in their places."""
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DOCUMENT = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PARTS = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
    f'PartName="/word/document.xml" ContentType="{_DOCUMENT}"/></Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
    f'Type="{_OFFICE}" Target="word/document.xml"/></Relationships>',
}
_TRACKED = {"deleted": "w:del", "inserted": "w:ins"}
_MADE = (1980, 1, 1, 0, 0, 0)
"""The time of the parts in the file, so that equal comparisons are equal files."""


class Run(NamedTuple):
    """A stretch of characters that both texts have, or one of them."""

    kind: Kind
    text: str


def redline(a: str, b: str, *, author: str, date: str) -> bytes:
    """Return a document (.docx) with text B, and its differences from A as changes by an ``author`` on a ``date``.

    Lines are paragraphs without formatting. To accept all changes gives B, to reject them gives A, character by
    character but for those that XML cannot hold. ``date`` is a time in ISO 8601, UTC.
    """
    from neardup.io.outputs import REDLINE_MARK  # loads much that a comparison on a terminal does not need

    document = "".join(_paragraphs(runs_of(a, b), f"w:author={quoteattr(author)} w:date={quoteattr(date)}"))
    body = f'{_HEAD}<w:document xmlns:w="{_WORD}"><w:body>{document}</w:body></w:document>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.comment = REDLINE_MARK
        for name, part in {**_PARTS, "word/document.xml": body}.items():
            packed.writestr(zipfile.ZipInfo(name, _MADE), part, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def runs_of(a: str, b: str) -> list[Run]:
    """Return the characters of two texts in one order; those not inserted are A, and those not deleted B.

    >>> runs_of("Pay 10 coins now.", "Pay 12 coins.")
    [Run(kind='equal', text='Pay '), Run(kind='deleted', text='10'), Run(kind='inserted', text='12'), \
Run(kind='equal', text=' coins'), Run(kind='deleted', text=' now'), Run(kind='equal', text='.')]
    """
    one, other = (ChangedText(read(_LINE_END.sub("\n", text))) for text in (a, b))
    runs: list[Run] = []
    for run in _pieces(one.units, other.units, stretches_of(one, other)):
        if runs and runs[-1].kind == run.kind:
            runs[-1] = Run(run.kind, runs[-1].text + run.text)
        elif run.text:
            runs.append(run)
    return _slid(runs)


def _pieces(a: Units, b: Units, stretches: Iterable[Stretch]) -> Iterator[Run]:
    """Yield the runs, some empty and some of the same kind.

    A stretch has the signs and spaces on both of its sides, which may differ with it.
    """
    i = k = at_a = at_b = 0
    for stretch in [Stretch(0, 0, 0, 0), *stretches, Stretch(len(a), len(a), len(b), len(b))]:
        count = stretch.i - i
        yield from _equal_tokens(a, b, i, k, count)
        if count:
            at_a, at_b = _end(a, i + count), _end(b, k + count)
        i, k = stretch.j, stretch.m
        until = _begin(a, i), _begin(b, k)
        yield from _replaced(a.text[at_a : until[0]], b.text[at_b : until[1]])
        at_a, at_b = until


def _begin(units: Units, token: int) -> int:
    """Return where a token begins; behind the last one, where the text ends."""
    return int(units.spans[token, 0]) if token < len(units) else len(units.text)


def _end(units: Units, token: int) -> int:
    """Return where the token before this one ends."""
    return int(units.spans[token - 1, 1]) if token else 0


def _equal_tokens(a: Units, b: Units, i: int, k: int, count: int) -> Iterator[Run]:
    """Yield the characters of equal tokens, and between them; those that differ are replaced."""
    if not count:
        return
    one, other = a.text[_begin(a, i) : _end(a, i + count)], b.text[_begin(b, k) : _end(b, k + count)]
    if one == other:
        yield Run("equal", one)
        return
    for token in range(count):
        if token:
            yield from _replaced(
                a.text[_end(a, i + token) : _begin(a, i + token)],
                b.text[_end(b, k + token) : _begin(b, k + token)],
            )
        yield from _replaced(
            a.text[_begin(a, i + token) : _end(a, i + token + 1)],
            b.text[_begin(b, k + token) : _end(b, k + token + 1)],
        )


def _replaced(gone: str, came: str) -> Iterator[Run]:
    """Yield the signs and spaces that two stretches begin and end with as equal, and the rest as a whole."""
    if gone == came:
        yield Run("equal", gone)
        return
    begin = _common(gone, came, words=False)
    end = _common(gone[begin:][::-1], came[begin:][::-1], words=False)
    yield Run("equal", gone[:begin])
    yield Run("deleted", gone[begin : len(gone) - end])
    yield Run("inserted", came[begin : len(came) - end])
    yield Run("equal", gone[len(gone) - end :])


def _common(a: str, b: str, *, words: bool = True) -> int:
    """Return how many characters two texts begin with together; without ``words``, how many before a word."""
    pairs = enumerate(zip(a, b, strict=False))
    differ = (n for n, (x, y) in pairs if x != y or (not words and x.isalnum()))
    return next(differ, min(len(a), len(b)))


def _slid(runs: list[Run]) -> list[Run]:
    """Return the runs, additions and deletions moved to the beginning of a line where they can begin there.

    ``.¶Notice`` between ``years`` and ``.¶Signed`` is the paragraph ``Notice.¶``.
    """
    slid = list(runs)
    for place in range(1, len(slid) - 1):
        before, run, behind = slid[place - 1 : place + 2]
        if run.kind == "equal" or before.kind != "equal" or behind.kind != "equal" or "\n" not in run.text:
            continue
        for by in range(1, min(_common(run.text + behind.text, behind.text), len(run.text)) + 1):
            text = before.text + run.text[:by]
            if text.endswith("\n") and not run.text[by:].startswith("\n"):
                moved = run.text[by:] + behind.text[:by]
                slid[place - 1 : place + 2] = (
                    Run("equal", text), Run(run.kind, moved), Run("equal", behind.text[by:])
                )  # fmt: skip
                break
    return [run for run in slid if run.text]


def _paragraphs(runs: Iterable[Run], by: str) -> Iterator[str]:
    """Yield paragraphs: one for each line, whose mark is deleted or inserted with its line end."""
    number, content = 0, list[str]()

    def change(kind: Kind, inner: str = "") -> str:
        nonlocal number
        number += 1
        name = _TRACKED[kind]
        return f'<{name} w:id="{number}" {by}>{inner}</{name}>' if inner else f'<{name} w:id="{number}" {by}/>'

    for kind, text in runs:
        for part in re.split("(\n)", _NOT_XML.sub("\ufffd", text)):
            if part == "\n":
                mark = "" if kind == "equal" else f"<w:pPr><w:rPr>{change(kind)}</w:rPr></w:pPr>"
                yield f"<w:p>{mark}{''.join(content)}</w:p>"
                content.clear()
            elif part:
                name = "w:delText" if kind == "deleted" else "w:t"
                run = f'<w:r><{name} xml:space="preserve">{escape(part)}</{name}></w:r>'
                content.append(run if kind == "equal" else change(kind, run))
    yield f"<w:p>{''.join(content)}</w:p>"
