"""Two texts side by side: rows of equal, changed, one-sided and moved text that together hold both texts."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neardup.comparison import marks, matching
from neardup.comparison.expressions import reads_alike
from neardup.comparison.matching import TokenPair
from neardup.display.view import PlainData
from neardup.kernels import rows as kernels
from neardup.kernels.match import heaviest_chain, words_between
from neardup.runtime import SILENT, Progress
from neardup.tables import Bools, Int32s, Int64s
from neardup.text.characters import COUNTED, KINDS, SPACE, CharacterDifference
from neardup.text.units import Units
from neardup.unicode import codepoints_of, of_each

NONE, SENTENCE, LINE = 0, 1, 2

_STOPS, _CLOSES = ".!?\u2026\u061f\u06d4\u0964\u0965", ")]\"'\u2019\u201d\u00bb"
_FULL_STOPS, _FULL_CLOSES = "\u3002\uff01\uff1f", "\u300d\u300f\uff09"
LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_MARKS = (
    (_STOPS, kernels.STOP),
    (_CLOSES, kernels.CLOSE),
    (_FULL_STOPS, kernels.FULL_STOP),
    (_FULL_CLOSES, kernels.FULL_CLOSE),
    (LINE_ENDS, kernels.LINE),
    ("\r", kernels.RETURN),
    ("\n", kernels.FEED),
)

_MARK_OF_HEADS = re.compile(
    r"^[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+(?:\|[ \t]*)?\r?$", re.MULTILINE
)
"""The line between the heads and the rows of a table in Markdown (GitHub Flavored Markdown 0.29, 4.10)."""

_BETWEEN_CELLS, _LINE = re.compile(r"(?<!\\)\|"), re.compile(r"[^\n]*\n?")
_OUT_OF_CELL = re.compile(r"(?<!\\)\||\n")

LIMITS = (1 << 22, 1 << 28)
"""Stretches between two tiles are aligned word by word up to these numbers of cells (tokens of A × tokens of B):
2,048 × 2,048 in one stretch, and 16,384 × 16,384 in all stretches of two documents together."""

WORDS_CAP = (
    "alignment: a stretch between two matches is too long to be aligned word by word; shown as replaced whole, "
    "but for words that occur once in each"
)


@dataclass(frozen=True, eq=False)
class Breaks:
    """For each unit, and for the end of the text, the break before it.

    ``kinds`` int8[n + 1] and ``places`` int64[n + 1]. A kind is NONE, SENTENCE or LINE; a place (a character) is
    only set if there is a break. The text before the place belongs to the row that ends. The beginning and the end
    of the text are breaks.
    """

    kinds: NDArray[np.int8]
    places: Int64s


def breaks_of(units: Units) -> Breaks:
    r"""Return the breaks of a text.

    >>> from neardup.text.units import words
    >>> breaks_of(words("He said no. She left.\n\n2. Dr. Who")).kinds.tolist()
    [2, 0, 0, 1, 0, 2, 0, 0, 2]
    """
    n, text = len(units), units.text
    kinds, places = np.zeros(n + 1, np.int8), np.zeros(n + 1, np.int64)
    classes = of_each(codepoints_of(text), _class_of, np.uint16)
    begins = np.ascontiguousarray(units.spans[:, 0])
    for kind, breaks in (
        (SENTENCE, kernels.sentence_ends(classes)),
        (LINE, kernels.line_ends(classes)),
    ):
        before = np.searchsorted(begins, breaks)  # the first unit that begins at the break or later
        free = (before > 0) & (before < n)
        free[free] = units.spans[before[free] - 1, 1] <= breaks[free]
        # if lines without a unit lie between two units, the last line end counts: "=====" belongs to the heading
        kinds[before[free]], places[before[free]] = kind, breaks[free]
    kinds[0] = kinds[n] = LINE
    places[0], places[n] = 0, len(text)
    return Breaks(kinds, places)


@lru_cache(1 << 12)
def _class_of(char: str) -> int:
    """Return the bits of ``kernels.rows`` for a character."""
    letter = char.isalnum() and not char.isdecimal()
    bits = letter * kernels.LETTER | char.isupper() * kernels.UPPER | char.isspace() * kernels.SPACE
    bits |= (char.islower() or char.isdigit()) * kernels.GOES_ON | char.isalnum() * kernels.WORD
    for chars, bit in _MARKS:
        bits |= (char in chars) * bit
    return bits


@dataclass(frozen=True, eq=False)
class Path:
    """Runs int64[r, 4] (start in A, start in B, length, tile) of equal units in the same order in both documents.

    ``tile`` is the row of the tile in ``tiles``, −1 for words between tiles. ``in_order`` bool[tiles] marks the
    heaviest chain; the other tiles are moved. ``capped``: a stretch was not aligned word by word.
    """

    runs: Int64s
    in_order: Bools
    capped: bool


def path_of(pair: TokenPair, tiles: Int64s, limits: tuple[int, int] = LIMITS) -> Path:
    """Return the path through two documents along the heaviest chain of tiles (``Literal.tiles``).

    Between the tiles of the chain, words are aligned by a longest common subsequence, which excludes the tokens of
    moved tiles and isolated equal words among edits. The path does not depend on the order of A and B.
    """
    first, second = pair.in_order(0, 1)  # the tile column that belongs to the first sequence of the pair
    canonical = np.ascontiguousarray(tiles[:, [first, second, 2]])
    order = np.argsort(canonical[:, 0], kind="stable")
    n_second = len(pair.tokens) - pair.first_size
    chain = np.zeros(len(tiles), np.bool_)
    chain[order] = heaviest_chain(np.ascontiguousarray(canonical[order]), n_second)
    spine = canonical[order][chain[order]]
    words, whole = words_between(
        pair.tokens, pair.first_size, pair.n_tokens, canonical[~chain], np.ascontiguousarray(spine), limits
    )
    between = np.column_stack((words, np.full(len(words), -1)))
    runs = np.concatenate((np.column_stack((canonical[chain], np.flatnonzero(chain))), between))
    runs = runs[np.argsort(runs[:, 0])]
    return Path(runs[:, [first, second, 2, 3]], chain, not whole)


PieceKind: TypeAlias = Literal["same", "changed", "moved", "between", "characters"]
RowKind: TypeAlias = Literal["equal", "changed", "only_a", "only_b", "moved_a", "moved_b", "characters"]

PIECE_KINDS: tuple[PieceKind, ...] = ("same", "changed", "moved", "between", "characters")
ROW_KINDS: tuple[RowKind, ...] = ("equal", "changed", "only_a", "only_b", "moved_a", "moved_b", "characters")
"""The position of a kind is its number in ``kernels.rows``."""


@dataclass(frozen=True, slots=True)
class Piece(PlainData):
    """Characters [begin, end) of one text.

    ``kind``: *same* (the other side has the same units opposite), *changed* (it does not), *moved* (it has them
    elsewhere), *between* (no unit: punctuation, layout, ignored text), *characters* (the same units, or none, but
    other characters). ``match``: the number of the matching chunk, 0 if it is in none. ``opens``: the chunk begins
    here; a chunk of several lines has several pieces.
    """

    kind: PieceKind
    begin: int
    end: int
    match: int = 0
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Row(PlainData):
    """The pieces of A and of B that are side by side; empty for a side without text in this row."""

    kind: RowKind
    a: tuple[Piece, ...]
    b: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of one text, in order, as columns.

    ``kinds`` int8 (numbers of ``PIECE_KINDS``), ``spans`` int64[p, 2], ``matches`` int32, ``opens`` bool: the
    fields of ``Piece``. Row k has the pieces [first[k], first[k + 1]).
    """

    kinds: NDArray[np.int8]
    spans: Int64s
    matches: Int32s
    opens: Bools
    first: Int64s

    @cached_property
    def spans_of_rows(self) -> Int64s:
        """The characters [begin, end) of each row, int64[rows, 2]; an empty span for a row without any."""
        ends = np.concatenate(([0], self.spans[:, 1]))[self.first]
        return np.column_stack((ends[:-1], ends[1:]))

    def one_by_one(self) -> list[tuple[Piece, ...]]:
        """Return the pieces of each row."""
        columns = (self.kinds, *self.spans.T, self.matches, self.opens)
        kinds, *others = (column.tolist() for column in columns)
        pieces = list(map(Piece, [PIECE_KINDS[kind] for kind in kinds], *others))
        return [tuple(pieces[begin:end]) for begin, end in pairwise(self.first.tolist())]


@dataclass(frozen=True, eq=False)
class Table:
    """All rows: ``kinds`` int8[rows] (numbers of ``ROW_KINDS``), and the pieces of A and of B."""

    kinds: NDArray[np.int8]
    a: Pieces
    b: Pieces

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def sides(self) -> tuple[Pieces, Pieces]:
        """The pieces of A and of B."""
        return self.a, self.b

    def one_by_one(self) -> tuple[Row, ...]:
        """Return every row with its pieces."""
        kinds = [ROW_KINDS[kind] for kind in self.kinds.tolist()]
        return tuple(map(Row, kinds, self.a.one_by_one(), self.b.one_by_one()))


@dataclass(frozen=True, slots=True)
class Match(PlainData):
    """A matching chunk: its number in the order of A, its units, its characters [begin, end) in both texts."""

    number: int
    units: int
    moved: bool
    a: tuple[int, int]
    b: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Alignment(PlainData):
    """The rows, which together hold both texts in full, the matching chunks by number, and the limits reached.

    ``table`` has the rows as arrays. Match k + 1 has ``units[k]`` units, covers the characters ``spans_a[k]`` and
    ``spans_b[k]`` (int64[k, 2]) and is moved if ``moved[k]`` (bool). ``caps`` names the limits. ``characters`` are
    the places where equal units have other characters, in the order of A.
    """

    text_a: str
    text_b: str
    table: Table
    units: Int64s
    moved: Bools
    spans_a: Int64s
    spans_b: Int64s
    caps: tuple[str, ...]
    characters: tuple[CharacterDifference, ...] = ()

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows from top to bottom."""
        return self.table.one_by_one()

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """The matching chunks in the order of A."""
        spans = (map(tuple, spans.tolist()) for spans in (self.spans_a, self.spans_b))
        numbers = range(1, len(self.units) + 1)
        return tuple(map(Match, numbers, self.units.tolist(), self.moved.tolist(), *spans))

    @cached_property
    def kinds(self) -> Counter[str]:
        """The number of rows of each kind."""
        counts = np.bincount(self.table.kinds, minlength=len(ROW_KINDS)).tolist()
        return Counter({kind: count for kind, count in zip(ROW_KINDS, counts, strict=True) if count})

    @cached_property
    def readings(self) -> tuple[tuple[int, slice, slice], ...]:
        """The places that OCR explains: the row, and the pieces of A and of B between two equal ones.

        They are those from the first changed piece to the last. See ``expressions.reads_alike``.
        """
        rows = np.flatnonzero(np.isin(self.table.kinds, (kernels.CHANGED_ROW, kernels.CHARACTERS_ROW))).tolist()
        return tuple((row, a, b) for row in rows for a, b in self._edits(row) if self._reads_alike(a, b))

    def _edits(self, row: int) -> Iterator[tuple[slice, slice]]:
        """Yield the pieces of A and of B between equal ones that both have other text for."""
        a, b = (
            [slice(begin, end) for begin, end in _between_equal(side.kinds, *side.first[row : row + 2].tolist())]
            for side in self.table.sides
        )
        if len(a) == len(b):  # else the equal pieces are not opposite each other
            yield from zip(a, b, strict=True)

    def _reads_alike(self, a: slice, b: slice) -> bool:
        there = a.start < a.stop and b.start < b.stop
        return there and reads_alike(
            *(
                text[side.spans[part.start, 0] : side.spans[part.stop - 1, 1]]
                for text, side, part in zip((self.text_a, self.text_b), self.table.sides, (a, b), strict=True)
            )
        )

    @cached_property
    def rows_read_otherwise(self) -> Int64s:
        """The rows that are equal but for places that OCR explains, in order."""
        kinds = self.without_readings.table.kinds
        return np.flatnonzero((kinds == kernels.EQUAL_ROW) & (self.table.kinds != kernels.EQUAL_ROW))

    @cached_property
    def without_readings(self) -> "Alignment":
        """The same rows with the places that OCR explains as equal text; in ``characters`` as white space."""
        if not self.readings:
            return self
        columns = tuple(side.kinds.copy() for side in self.table.sides)
        places = list(self.characters)
        for _, *parts in self.readings:
            spans = []
            for side, kinds, part in zip(self.table.sides, columns, parts, strict=True):
                kinds[part] = kernels.SAME
                spans.append((int(side.spans[part.start, 0]), int(side.spans[part.stop - 1, 1])))
            places.append(CharacterDifference(SPACE, 0, 0, spans[0], spans[1]))
        a, b = (replace(side, kinds=kinds) for side, kinds in zip(self.table.sides, columns, strict=True))
        kinds = self.table.kinds.copy()
        for row in {row for row, *_ in self.readings}:
            left = {kind for side in (a, b) for kind in side.kinds[slice(*side.first[row : row + 2])].tolist()}
            if not left & {kernels.CHANGED, kernels.MOVED}:
                kinds[row] = kernels.CHARACTERS_ROW if kernels.CHARACTERS in left else kernels.EQUAL_ROW
        return replace(self, table=Table(kinds, a, b), characters=tuple(sorted(places, key=attrgetter("a", "b"))))

    @cached_property
    def rows_of_matches(self) -> tuple[Int64s, Int64s]:
        """The row in which each match begins in A and in B, indexed by match number: int64[matches + 1] each."""
        rows_a, rows_b = (
            np.concatenate(([0], np.searchsorted(side.spans_of_rows[:, 1], spans[:, 0], "right")))
            for side, spans in zip(self.table.sides, (self.spans_a, self.spans_b), strict=True)
        )
        return rows_a, rows_b

    @cached_property
    def cells_below_heads(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """The cells of tables in A and in B, as ``heads_of`` finds them."""
        return heads_of(self.text_a), heads_of(self.text_b)

    def changed_spans(self, row: int, side: int) -> list[list[int]]:
        """Return the places of the changed text of a row in A (0) or B (1), or else of the moved text."""
        pieces = self.table.sides[side]
        begin, end = pieces.first[row : row + 2].tolist()
        kinds = pieces.kinds[begin:end]
        chosen = np.flatnonzero((kinds == kernels.CHANGED) | (kinds == kernels.CHARACTERS))
        spans: list[list[int]] = pieces.spans[
            begin + (chosen if len(chosen) else np.flatnonzero(kinds == kernels.MOVED))
        ].tolist()
        return spans

    def heads_in(self, row: int) -> tuple[str, ...]:
        """Return the heads of the cells of a table that the changed or moved text of a row begins or is in."""
        heads = dict[str, None]()
        for side, text in enumerate((self.text_a, self.text_b)):
            cells = self.cells_below_heads[side]
            for begin, end in self.changed_spans(row, side):
                first = bisect_right(cells, begin, key=itemgetter(0)) - 1
                first += first < 0 or _OUT_OF_CELL.search(text, cells[first][0], begin) is not None
                heads |= dict.fromkeys(
                    head for _, head in cells[first : bisect_left(cells, end, key=itemgetter(0))]
                )
        return tuple(heads)

    def differing(self) -> dict[str, Any]:
        """Return the differences as plain data, ready for JSON.

        ``rows`` are the numbers of rows that are not equal, by kind. ``changed`` has the parts of each changed row
        and of each row of one text, and the heads of the cells of a table that they are in; ``characters`` the
        places where equal units have other characters.
        """
        texts = self.text_a, self.text_b
        changed = [
            {
                "kind": row.kind,
                "heads": list(self.heads_in(place)),
                **{
                    side: [text[piece.begin : piece.end] for piece in pieces if piece.kind == "changed"]
                    for side, text, pieces in zip("ab", texts, (row.a, row.b), strict=True)
                },
            }
            for place, row in enumerate(self.rows)
            if row.kind in ("changed", "only_a", "only_b")
        ]
        characters = [
            {
                "kind": KINDS[each.kind],
                "counts": each.kind >= COUNTED,
                **{f"span_{side}": list(span) for side, span in zip("ab", (each.a, each.b), strict=True)},
                **{
                    side: text[slice(*span)]
                    for side, text, span in zip("ab", texts, (each.a, each.b), strict=True)
                },
            }
            for each in self.characters
        ]
        rows = {kind: count for kind, count in self.kinds.items() if kind != "equal"}
        return {"rows": rows, "changed": changed, "characters": characters}

    @property
    def places(self) -> dict[int, tuple[int, int]]:
        """The rows (of A, of B) in which each match begins, by match number."""
        in_a, in_b = (rows.tolist() for rows in self.rows_of_matches)
        return {match: (in_a[match], in_b[match]) for match in range(1, len(self.units) + 1)}


def heads_of(text: str) -> list[tuple[int, str]]:
    r"""Return the cells below heads, by the place where each begins, with the head of its column.

    Heads are above a line of ``---``, and their table ends at an empty line. A row with more cells than
    heads has none, and neither has a line without ``|``: its columns are not known.

    >>> heads_of("Item | Amount\n--- | ---\nPump | 1,200\nin all\n | 7")
    [(24, 'Item'), (31, 'Amount'), (47, 'Amount')]
    """
    if not _MARK_OF_HEADS.search(text):
        return []
    below, heads, before, bordered = list[tuple[int, str]](), list[str](), "", False
    for line in _LINE.finditer(text):
        row = line[0].rstrip()
        if _MARK_OF_HEADS.match(row):
            bordered = row.lstrip().startswith("|")
            heads = [head for _, head in _cells(before, bordered)]
            heads *= len(heads) == len(_cells(row, bordered))
        elif not row:
            heads = []
        elif heads and "|" in row:
            cells = _cells(row, bordered)
            pairs = zip(cells, heads, strict=False) if len(cells) <= len(heads) else ()
            below += [(line.start() + place, head) for (place, cell), head in pairs if cell and head]
        before = row
    return below


def _cells(row: str, bordered: bool) -> list[tuple[int, str]]:
    """Return the cells of a row: where the text of each begins, and the text."""
    edges = [sign.start() for sign in _BETWEEN_CELLS.finditer(row)]
    cells = [(begin + 1, row[begin + 1 : end]) for begin, end in pairwise((-1, *edges, len(row)))]
    if bordered:
        cells = cells[not cells[0][1].strip() : -1 if not cells[-1][1].strip() else None]
    return [(begin + len(cell) - len(cell.lstrip()), cell.strip().replace(r"\|", "|")) for begin, cell in cells]


def _between_equal(kinds: NDArray[np.int8], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the pieces between equal ones, from the first changed to the last; none if one is moved."""
    equal = [begin - 1, *(begin + np.flatnonzero(kinds[begin:end] == kernels.SAME)).tolist(), end]
    for first, last in pairwise(equal):
        inside = kinds[first + 1 : last]
        changed = np.flatnonzero((inside == kernels.CHANGED) | (inside == kernels.CHARACTERS))
        if len(changed) and not (inside == kernels.MOVED).any():
            yield first + 1 + int(changed[0]), first + 2 + int(changed[-1])
        else:
            yield first + 1, first + 1


def align(
    a: Units, b: Units, tiles: Int64s, limits: tuple[int, int] = LIMITS, progress: Progress = SILENT
) -> Alignment:
    r"""Align two texts along their matching chunks (``tiles`` int64[k, 3] as in ``Comparison``).

    The heaviest chain of tiles in the same order is set side by side; the other tiles are moved. Rows end where
    both texts have the end of a line or sentence. ``limits`` bounds the cells of one stretch and of all.
    ``progress`` counts the rows whose characters are compared, which is most of the work.

    >>> from neardup.text.units import words
    >>> sides = words("Old line.\nPay now.\nBye."), words("Pay now.\nNew line.\nBye.")
    >>> for row in align(*sides, np.array([[2, 0, 2]])).rows:
    ...     row.kind, [sides[0].text[p.begin : p.end] for p in row.a if p.kind != "between"]
    ('only_a', ['Old line'])
    ('equal', ['Pay now'])
    ('only_b', [])
    ('equal', ['Bye'])
    """
    plain, cuts, runs = aligned_units(a, b, tiles, limits)
    chars = plain.table.a.spans_of_rows, plain.table.b.spans_of_rows
    with progress.stage("alignment", len(plain.table), "rows") as advance:
        stretches = list(marks.of_rows((a, b), plain.table.kinds, chars, cuts, runs, advance))
    stretches += marks.of_moved((a, b), tiles[plain.moved])
    places = sorted((each for stretch in stretches for each in stretch.places), key=attrgetter("a", "b"))
    return replace(plain, table=_with_marks(plain.table, stretches), characters=tuple(places))


def aligned_units(a: Units, b: Units, tiles: Int64s, limits: tuple[int, int]) -> tuple[Alignment, Int64s, Int64s]:
    """Return the alignment by units alone, without marks of characters; and the cuts and the runs of its rows."""
    pair = matching.pair_of(a.hashes, b.hashes, (a.rank, b.rank))
    path = path_of(pair, tiles, limits)
    breaks = breaks_of(a), breaks_of(b)
    kinds = breaks[0].kinds, breaks[1].kinds
    moved = np.flatnonzero(~path.in_order)
    begins = np.sort(tiles[moved, 0]), np.sort(tiles[moved, 1])
    edges = tuple(_edges(tiles[moved], side, kinds[side]) for side in (0, 1))
    runs = np.ascontiguousarray(path.runs[:, :3])
    cuts = kernels.cut_rows(runs, edges, begins, kinds, pair.in_order(0, 1)[0])
    paths = []
    for side, units in enumerate((a, b)):
        marked = _unchanged_runs(path.runs[:, [side, 2, 3]], tiles[moved][:, [side, 2]], moved)
        side_cuts = np.ascontiguousarray(cuts[:, side])
        paths.append(kernels.pieces_of(units.spans, marked, side_cuts, breaks[side].places))
    ends = tiles[:, :2] + tiles[:, 2:] - 1
    spans_a, spans_b = (
        np.column_stack((units.spans[tiles[:, side], 0], units.spans[ends[:, side], 1]))
        for side, units in enumerate((a, b))
    )
    table, own_cuts = _table(cuts, *paths)
    caps = (WORDS_CAP,) * path.capped
    plain = Alignment(a.text, b.text, table, tiles[:, 2], ~path.in_order, spans_a, spans_b, caps)
    return plain, own_cuts, runs


def _edges(moved: Int64s, side: int, kinds: NDArray[np.int8]) -> Int64s:
    """Return the beginnings and ends of moved text at which the text has a break."""
    edges: Int64s = np.unique(np.concatenate((moved[:, side], moved[:, side] + moved[:, 2])))
    return edges[kinds[edges] > 0]


def _unchanged_runs(runs: Int64s, moved: Int64s, tiles: Int64s) -> Int64s:
    """Return the runs of unchanged units, in order: int64[s, 4] (begin, end, kind, match).

    ``runs`` (begin, length, tile) are equal in both texts; ``moved`` (begin, length) are the runs of the moved
    ``tiles``.
    """
    same = np.column_stack((runs[:, 0], runs[:, 0] + runs[:, 1], np.full(len(runs), kernels.SAME), runs[:, 2] + 1))
    other = np.column_stack((moved[:, 0], moved.sum(axis=1), np.full(len(moved), kernels.MOVED), tiles + 1))
    marked = np.concatenate((same, other))
    return marked[np.argsort(marked[:, 0])]


def _table(cuts: Int64s, *columns: tuple[Any, ...]) -> tuple[Table, Int64s]:
    """Return the pieces of both texts between the cuts, without empty rows; and the cuts that end the rows."""
    there = np.logical_or(*(np.diff(first) > 0 for *_, first in columns))
    a, b = (
        Pieces(kinds, spans, matches, opens, np.concatenate(([0], first[1:][there])))
        for kinds, spans, matches, opens, first in columns
    )
    return Table(kernels.row_kinds(a.kinds, a.first, b.kinds, b.first), a, b), cuts[there]


def _with_marks(table: Table, stretches: list[marks.PairedText]) -> Table:
    """Return the rows with the marks of stretches; equal units with other characters make a kind of row."""
    if not stretches:
        return table
    a, b = (
        _cut_at_marks(pieces, sorted(mark for stretch in stretches for mark in stretch.marks[side]))
        for side, pieces in enumerate(table.sides)
    )
    kinds = table.kinds.copy()
    for pieces in (a, b):
        rows = np.searchsorted(pieces.first, np.flatnonzero(pieces.kinds == kernels.CHARACTERS), "right") - 1
        kinds[rows[kinds[rows] == kernels.EQUAL_ROW]] = kernels.CHARACTERS_ROW
    return Table(kinds, a, b)


def _cut_at_marks(pieces: Pieces, wanted: list[marks.PieceMark]) -> Pieces:
    """Return pieces cut at the ends of marks, those inside with the kind of the mark; adjacent ones are joined."""
    if not wanted:
        return pieces
    places = np.unique(np.array([mark[:2] for mark in wanted], np.int64))
    inside = np.searchsorted(pieces.spans[:, 1], places, "right")
    is_cut = inside < len(pieces.spans)
    is_cut[is_cut] = pieces.spans[inside[is_cut], 0] < places[is_cut]
    places, inside = places[is_cut], inside[is_cut]
    times = 1 + np.bincount(inside, minlength=len(pieces.kinds))
    columns: tuple[Any, ...] = (pieces.kinds, pieces.spans, pieces.matches, pieces.opens)
    kinds, spans, matches, opens = (np.repeat(column, times, axis=0) for column in columns)
    new = inside + 1 + np.arange(len(inside))
    spans[new, 0] = spans[new - 1, 1] = places
    opens[new] = False
    first = np.concatenate(([0], np.cumsum(times)))[pieces.first]
    _set_kinds(kinds, spans, matches, opens, wanted)
    alike = (kinds[1:] == kinds[:-1]) & (kinds[1:] != kernels.SAME) & ~opens[1:]
    alike &= (kinds[1:] == kernels.CHARACTERS) | ((kinds[1:] == kernels.CHANGED) & (matches[1:] == 0))
    joined = np.concatenate(([False], alike))
    joined[first[first < len(joined)]] = False
    kept = np.flatnonzero(~joined)
    spans[kept, 1] = spans[np.append(kept[1:], len(joined)) - 1, 1]
    return Pieces(kinds[kept], spans[kept], matches[kept], opens[kept], np.searchsorted(kept, first))


def _set_kinds(
    kinds: NDArray[np.int8], spans: Int64s, matches: Int32s, opens: Bools, wanted: list[marks.PieceMark]
) -> None:
    """Give the pieces in marks their kinds; a match whose first piece is changed begins with the next one."""
    lost = []
    for begin, end, kind in wanted:
        those = slice(*np.searchsorted(spans[:, 0], (begin, end)).tolist())
        free = kinds[those] != (kernels.MOVED if kind == kernels.CHANGED else kernels.CHANGED)
        kinds[those][free] = kind
        if kind == kernels.CHANGED:
            lost += matches[those][free & opens[those]].tolist()
            matches[those][free], opens[those][free] = 0, False
        elif those.start + 1 < those.stop and matches[those.start] == 0 and opens[those.start + 1]:
            # the match begins with the marks before its first token
            matches[those.start], opens[those.start], opens[those.start + 1] = (
                matches[those.start + 1],
                True,
                False,
            )
    for match in lost:
        opens[np.flatnonzero(matches == match)[:1]] = True
