"""Naive twins of what is shown of a comparison: lines filled word by word, cells of a page piece by piece.

Plain Python over ``Alignment.rows``. See ``reference.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from typing import Any

from markupsafe import escape

from neardup.comparison.alignment import Alignment, Piece, Row
from neardup.comparison.compare import Comparison
from neardup.display import Fragment, colour_line, columns, counted, escaped_parts, number, visible
from neardup.text.characters import KINDS, canonical

Line = list[Fragment]

_PARTS = re.compile(r"\n|[^\S\n\xa0]+|[\S\xa0]+")


def wrapped(fragments: Iterator[Fragment] | Sequence[Fragment], width: int) -> list[Line]:
    """Return styled text as lines: words are held until they end, for they may be of several styles."""
    lines: list[Line] = []
    line: Line = []
    word: Line = []
    blank = ("", "")

    def add(text: str, style: str) -> None:
        if line and line[-1][1] == style:
            text = line.pop()[0] + text
        line.append((text, style))

    def used() -> int:
        return sum(columns(text) for text, _ in line)

    def end() -> None:
        nonlocal line
        lines.append(line)
        line = []

    def place() -> None:
        nonlocal word, blank
        if not word:
            return
        space, style = blank
        while not line and columns(space) > width // 2:
            space = space[:-1]
        size = sum(columns(text) for text, _ in word)
        room = width - used() - columns(space)
        if line and room < size and (size <= width or room < 4):
            end()
            space = ""
        if space:
            add(space, style)
        for text, style in word:
            for char in text:
                if used() + columns(char) > width:
                    end()
                add(char, style)
        word, blank = [], ("", "")

    for text, style in fragments:
        for part in _PARTS.findall(text.replace("\t", "    ")):
            if part == "\n":
                place()
                blank = ("", "")
                if line or (lines and lines[-1]):
                    end()
            elif part.isspace() and "\xa0" not in part:
                place()
                blank = (blank[0] + part, style)
            else:
                word.append((part.replace("\xa0", " "), style))
    place()
    if line:
        end()
    return lines


def marked(alignment: Alignment, row: Row, piece: Piece, side: int) -> Iterator[Fragment]:
    """Return a piece as styled text with its marks."""
    text = visible((alignment.text_a, alignment.text_b)[side][piece.begin : piece.end])
    if piece.opens:
        yield f"[{piece.match}]\u00a0", f"match{piece.match % 4}"
    if piece.kind in ("changed", "characters"):
        style, (begin, end) = (("removed", ("[-", "-]")), ("added", ("{+", "+}")))[side]
        yield (f"{begin}{text}{end}" if row.kind == "changed" or piece.kind == "characters" else text), style
    elif piece.kind == "moved":
        yield (
            text if row.kind in ("moved_a", "moved_b") else f"<~{text}~>",
            f"moved{piece.match % 4}",
        )
    else:
        yield text, ""


def merged(row: Row) -> Iterator[tuple[Piece, int]]:
    """Return the pieces of both sides in one order, each with its side: equal text as A has it, once."""

    def stretches(pieces: Sequence[Piece]) -> list[list[Piece]]:
        found: list[list[Piece]] = [[]]
        for piece in pieces:
            if piece.kind == "same":
                found += [[piece], []]
            else:
                found[-1].append(piece)
        return found

    if not row.a or not row.b:
        yield from ((piece, int(not row.a)) for piece in row.a or row.b)
        return
    for a, b in zip(stretches(row.a), stretches(row.b), strict=True):
        edited_a, edited_b = (any(piece.kind not in ("between", "same") for piece in side) for side in (a, b))
        if edited_a and edited_b:
            ends = [
                (
                    [piece for piece in side[:1] if piece.kind == "between"],
                    [piece for piece in side[-1:] if piece.kind == "between"],
                )
                for side in (a, b)
            ]
            own, other = (
                side[len(before) : len(side) - len(after)]
                for side, (before, after) in zip((a, b), ends, strict=True)
            )
            yield from ((piece, 0) for piece in ends[0][0]) if ends[0][0] else ((piece, 1) for piece in ends[1][0])
            yield from ((piece, 0) for piece in own)
            yield from ((piece, 1) for piece in other)
            yield from ((piece, 0) for piece in ends[0][1]) if ends[0][1] else ((piece, 1) for piece in ends[1][1])
        elif edited_b or not a:
            yield from ((piece, 1) for piece in b)
        else:
            yield from ((piece, 0) for piece in a)


def way_to(alignment: Alignment, match: int, side: int) -> str:
    """Return where the other half of a match stands."""
    here, there = alignment.places[match][side], alignment.places[match][1 - side]
    where = "in the same row" if here == there else "further down" if here < there else "further up"
    return f"in {'BA'[side]} {where}"


def ways(alignment: Alignment, row: Row) -> str:
    """Return where the other halves of the matches stand that begin in a row of one side."""
    side = int(not row.a)
    opened = [piece.match for piece in row.a or row.b if piece.opens]
    return ", ".join(f"[{match}] {way_to(alignment, match, side)}" for match in opened)


def restyled(alignment: Alignment, row: Row) -> bool:
    """Return whether the two sides of an equal row differ in white space that one lacks, or in text left out."""
    if row.kind != "equal":
        return False
    a = alignment.text_a[row.a[0].begin : row.a[-1].end]
    b = alignment.text_b[row.b[0].begin : row.b[-1].end]
    return canonical(a) != canonical(b)


def inline(alignment: Alignment, row: Row, width: int) -> list[Line]:
    """Return the lines of a row in one column."""
    pieces = [(piece, 0) for piece in row.a] if row.kind == "equal" else merged(row)
    fragments = [part for piece, side in pieces for part in marked(alignment, row, piece, side)]
    if not (row.a and row.b) and ways(alignment, row):
        text, style = fragments.pop()
        fragments += [
            (text.rstrip(), style),
            (f" ({ways(alignment, row)})", "note"),
            (text[len(text.rstrip()) :], ""),
        ]
    marks = {
        "changed": "-+",
        "only_a": "-",
        "only_b": "+",
        "moved_a": "~-",
        "moved_b": "~+",
        "characters": "\u2260",
    }
    mark = "=" if restyled(alignment, row) else marks.get(row.kind, "")
    colour = {"-": "removed", "+": "added"}.get(mark, "")
    return [[(f"{mark if line else '':<3}", colour), *line] for line in wrapped(fragments, width - 3)]


def in_two_columns(alignment: Alignment, row: Row, width: int) -> list[Line]:
    """Return the lines of a row in two columns."""
    column = (width - 7) // 2
    sides = []
    for side, pieces in enumerate((row.a, row.b)):
        fragments = [part for piece in pieces for part in marked(alignment, row, piece, side)]
        sides.append(wrapped(fragments or [(ways(alignment, row), "note")], column))
    left = {"changed": "-", "only_a": "-", "moved_a": "~", "characters": "\u2260"}.get(row.kind, "")
    right = {"changed": "+", "only_b": "+", "moved_b": "~", "characters": "\u2260"}.get(row.kind, "")
    marks = ("=", "=") if restyled(alignment, row) else (left, right)
    nothing: Line = []
    lines = []
    for a, b in zip_longest(*sides, fillvalue=nothing):
        shown = [mark if line else "" for mark, line in zip(marks, (a, b), strict=True)]
        margins = [(f"{mark:<2}", {"-": "removed", "+": "added"}.get(mark, "")) for mark in shown]
        gap = " " * (column - sum(columns(text) for text, _ in a))
        lines.append([margins[0], *a, (gap, ""), (" │ ", "note"), margins[1], *b])
    return lines


def rows_as_text(alignment: Alignment, width: int, codes: Mapping[str, str], full: bool) -> Iterator[str]:
    """Return the lines of all rows, long stretches folded."""
    folded = {"equal": ("equal ", ""), "changed": ("changed ", ""), "only_a": ("", " only in A")}
    folded |= {"only_b": ("", " only in B"), "moved_a": ("moved ", " of A"), "moved_b": ("moved ", " of B")}
    alone = ("changed", "characters")
    lines_of = in_two_columns if width >= 100 else inline
    groups = groupby(enumerate(alignment.rows), lambda at: (at[1].kind, at[1].kind in alone and at[0]))
    stretches = [
        (kind, [line for _, row in group for line in lines_of(alignment, row, width)])
        for (kind, _), group in groups
    ]
    for at, (kind, lines) in enumerate(stretches):
        first = last = 20
        if kind == "equal":
            first = 3 if at or len(stretches) == 1 else 0
            last = 3 if at + 1 < len(stretches) or len(stretches) == 1 else 0
        hidden = len(lines) - first - last
        if not full and kind != "characters" and hidden > max(first, last):
            words = f"··· {counted(hidden, f'{folded[kind][0]}line')}{folded[kind][1]} ···"
            lines = [*lines[:first], [(words.center(width).rstrip(), "note")], *lines[len(lines) - last :]]
        for line in lines:
            blank = not any(text.strip() for text, _ in line)
            yield "" if blank else "".join(colour_line(line, codes)).rstrip()


def cell(found: Comparison, row: Row, side: int) -> str:
    """Return one side of a row as HTML."""
    alignment, pieces, letter = found.alignment, (row.a, row.b)[side], "AB"[side]
    if not pieces:
        opened = [piece.match for piece in (row.b, row.a)[side] if piece.opens and moves(found, piece.match)]
        links = (
            f'<a href="#{"ab"[side]}{match}">match {match} {way_to(alignment, match, 1 - side)}</a>'
            for match in opened
        )
        return f'<td class="nothing" data-side="{letter}">{", ".join(links)}</td>'
    content = ""
    for piece in pieces:
        text = escaped((alignment.text_a, alignment.text_b)[side][piece.begin : piece.end])
        content += badge(found, piece.match, side) if piece.opens and moves(found, piece.match) else ""
        if piece.kind in ("changed", "characters"):
            content += f"<ins>{text}</ins>" if side else f"<del>{text}</del>"
        else:
            content += f'<mark class="c{piece.match % 6}">{text}</mark>' if piece.kind == "moved" else text
    content = content.rstrip("\n")
    return f'<td dir="auto" lang="" data-side="{letter}">{content}</td>'


def moves(found: Comparison, match: int) -> bool:
    """Return whether a match is moved."""
    return found.alignment.matches[match - 1].moved


def badge(found: Comparison, match: int, side: int) -> str:
    """Return the number of a match, which leads to the other half."""
    about, here, there = found.alignment.matches[match - 1], "ab"[side], "ab"[1 - side]
    unit = "token" if found.settings["unit"] == "word" else "character"
    label = f"match {match}, {counted(about.units, unit)}{', moved' * about.moved}: go to it in {there.upper()}"
    return (
        f'<a class="match c{match % 6}" id="{here}{match}" href="#{there}{match}" '
        f'aria-label="{label}" title="{label}">{"~" * about.moved}{match}</a>'
    )


def escaped(text: str) -> str:
    """Return text as HTML, what cannot be seen in a box."""
    return "".join(
        f'<code class="unseen">{escape(part)}</code>' if unseen else escape(part)
        for part, unseen in escaped_parts(text)
    )


def characters_of(found: Comparison, row: Row) -> str:
    """Return the weightiest kind of the characters that differ in a row."""
    ends = [(side[0].begin, side[-1].end) for side in (row.a, row.b)]
    kinds = [
        each.kind
        for each in found.alignment.characters
        for (begin, end), (first, last) in zip((each.a, each.b), ends, strict=True)
        if begin < end and first <= begin < last
    ]
    return KINDS[max(kinds)]


def rows_as_html(found: Comparison) -> Iterator[str]:
    """Return the rows of the page."""
    words = {"changed": "changed", "only_a": "only in A", "only_b": "only in B"}
    words |= {"moved_a": "moved, in A", "moved_b": "moved, in B"}
    marks = {"changed": "±", "only_a": "−", "only_b": "+", "moved_a": "~", "moved_b": "~", "characters": "\u2260"}
    last = sum(row.kind != "equal" for row in found.alignment.rows)
    n = 0
    for row in found.alignment.rows:
        head: Any = '<span class="unheard">equal</span>'
        kind, identity = row.kind if row.kind != "equal" else "equal same", ""
        if row.kind != "equal":
            n += 1
            steps = [(n - 1, "↑", "previous")] * (n > 1) + [(n + 1, "↓", "next")] * (n < last)
            links = (
                f'<a class="step" href="#d{to}" aria-label="{which} difference">{arrow}</a>'
                for to, arrow, which in steps
            )
            name = words.get(row.kind) or characters_of(found, row)
            label = f'<span class="unheard">{name}, difference </span>'
            head, identity = f"<b>{marks[row.kind]}{label}{number(n)}</b>{''.join(links)}", f' id="d{n}"'
        elif restyled(found.alignment, row):
            head, kind = '<span class="mark" title="equal but for white space">≈</span>', "equal"
        cells = cell(found, row, 0) + cell(found, row, 1)
        yield f'<tr class="{kind}"{identity}><th scope="row">{head}</th>{cells}</tr>'


_HYPHENATION = re.compile(r"([^\W\d_])[-\u2010]\s*[\r\n]\s*([^\W\d_])")
_FORMS = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st",
          "\ufb06": "st", "\xad": ""}  # fmt: skip
_CONFUSED = ["l1", "I1", "i1", "|1", "!1", "o0", "O0", "s5", "S5", "B8", "lI", "l|", "l!", "I|", "I!", "i|", "i!"]
_CONFUSED_PAIRS = (("rn", "m"), ("cl", "d"), ("vv", "w"), ("VV", "W"))


def ocr_explains(a: str, b: str) -> bool:
    """Whether any way to read A as B exists: every step is tried at every place, and judged by its words."""
    if a == b:
        return False
    for form, plain in _FORMS.items():
        a, b = a.replace(form, plain), b.replace(form, plain)
    while _HYPHENATION.search(a) or _HYPHENATION.search(b):
        a, b = (_HYPHENATION.sub(r"\1\2", text) for text in (a, b))
    # a gap between parts of a number is a character of its own
    parts = re.compile(r"(?<=[0-9])\s+(?=[0-9oOlI|!])|(?<=[0-9oOlI|!])\s+(?=[0-9])")
    a, b = (parts.sub("\0", text) for text in (a, b))

    def word(text: str, place: int) -> str:
        ends = [text.rfind(gap, 0, place) + 1 for gap in (" ", "\n", "\0")]
        return re.split(r"[\s\0]", text[max(ends) :])[0]

    def name(text: str, place: int) -> bool:
        bare = word(text, place).strip(".,;:()\"\u201c\u201d\u2018\u2019'")
        read = len(bare) > 2 and "l" in bare and all(letter.isupper() or letter in "l-" for letter in bare)
        in_capitals = read and any(letter.isupper() for letter in bare)
        return bare[:1].isupper() and all(letter.isalpha() or letter == "-" for letter in bare) and not in_capitals

    def steps(i: int, j: int) -> Iterator[tuple[int, int]]:
        if a[i : i + 1].isspace():
            yield i + 1, j
        if b[j : j + 1].isspace():
            yield i, j + 1
        if a[i : i + 1] and a[i : i + 1] == b[j : j + 1]:
            yield i + 1, j + 1
        if name(a, i) and name(b, j):
            return
        both = a[i : i + 1] + b[j : j + 1]
        if both in _CONFUSED or both[::-1] in _CONFUSED:
            digits = [(text, place) for text, place in ((a, i), (b, j)) if text[place].isdigit()]
            alone = any(len(word(*where)) == 1 for where in digits)
            bare = any(text[place] in "58" and word(text, place).isdigit() for text, place in digits)
            if not alone and not bare:
                yield i + 1, j + 1
        for two, one in _CONFUSED_PAIRS:
            if a.startswith(two, i) and b.startswith(one, j):
                yield i + 2, j + 1
            if a.startswith(one, i) and b.startswith(two, j):
                yield i + 1, j + 2

    waiting, seen = [(0, 0)], set[tuple[int, int]]()
    while waiting:
        place = waiting.pop()
        if place == (len(a), len(b)):
            return True
        if place not in seen:
            seen.add(place)
            waiting += steps(*place)
    return False
