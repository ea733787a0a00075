"""The differences of pairs of documents in words, similarities counted on texts, and members that differ alike.

Members that differ from their representative in the same places are one line. Each is compared with the
representative alone; docs/contributing/decisions/alike.md says why.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from neardup.comparison import kinds
from neardup.comparison.compare import Comparison
from neardup.comparison.kinds.rules import Kind, kind_of
from neardup.comparison.records import ChangedText, TextChange, amount_of, changes_of, day_of, make_alignment
from neardup.deduplication.pairs import similarity_of
from neardup.deduplication.results import Looked
from neardup.display import counted, number, shorten
from neardup.errors import NeardupError
from neardup.io.contents import differing_in
from neardup.io.decisions import Id
from neardup.review.alike import (
    EVERY_MEMBER,
    AlikeCounts,
    AlikeFilter,
    AlikeKind,
    AlikeLine,
    AlikeRow,
    DifferingPlace,
)
from neardup.review.desk.index import ResultDocuments, ResultIndex
from neardup.review.desk.texts import Budget, TextReader
from neardup.review.source import Key
from neardup.runtime import SoFar, Watched
from neardup.settings import MEASURES, Settings, as_compared
from neardup.tables import UInt64s
from neardup.text.characters import SIGN
from neardup.text.cleaning import cleaner_of
from neardup.text.sketch import shingle_hashes

MOST_BYTES = 1 << 20
"""Pairs with more text than this are not compared for a line of a list, longer documents not counted."""
HELD = 100_000

LISTED_BYTES = 1 << 16
"""Pairs with more text than this are not compared for the places that a list names."""

SHOWN_PLACES, SHOWN_KINDS, WIDTH = 3, 4, 40
"""Places of a line and kinds of a group that are shown, and columns of the text of a place."""
NO_PLACE, NOT_COMPARED = "no word, number or sign differs", "not compared: long, or not to be read"
NOT_YET = "not compared yet"
MOST_LINES, ROWS, MORE_ROWS, FILTER_PLACES = 60, 60, 200, 8
"""Lines on a page of a group, rows of a line there and on a page of its own, and places that filter the lines."""

_PLURALS = {
    "amount": "amounts",
    "date": "dates",
    "name": "names",
    "sign": "signs",
    "OCR": "readings",
    "moved": "passages",
    "paragraph": "paragraphs",
    "sentence": "sentences",
    "words": "texts",
}

_STORED = {
    kinds.IDENTICAL: "the same text",
    kinds.SIGNS: "differs in a sign or operator",
    kinds.STYLE: "differs in case or punctuation",
    kinds.NUMBERS: "differs in numbers",
    kinds.QUOTED: "one quotes the other",
    kinds.CONTAINED: "one contains the other",
    kinds.INSERTED: "one has one more passage",
    kinds.MOVED: "the same text in another order",
    kinds.WORDING: "differs in wording",
}

_HELD = 500
COMPARED, COMPARED_TEXT = 8, 1 << 22
"""Comparisons that are kept, and characters of their texts; the last one is kept in any case."""


def kind_in_words(kind: int) -> str:
    """Return a few words for the number of a kind; "" if it is unknown."""
    return _STORED[kinds.KINDS[kind]] if kind >= 0 else ""


def difference_in_words(kind: Kind) -> str:
    """Return how text B differs from A, in a few words; "" if that cannot be determined.

    >>> from neardup.comparison.kinds.rules import kind_of
    >>> from neardup.text.units import read
    >>> difference_in_words(kind_of(read("Pay 10 coins by noon"), read("Pay 1,200 coins by noon")))
    'differs in 1 number'
    >>> difference_in_words(kind_of(read("Pay 10 coins"), read("Pay 10 coins by noon")))
    'adds 2 words'
    >>> difference_in_words(kind_of(read("Pay -10 coins by noon today"), read("Pay 10 coins by noon")))
    'lacks 1 word in 1 place; 1 sign or operator differs in equal text'
    """
    signs = kind.characters[SIGN]
    beside = f"; {counted(signs, 'sign or operator differs', 'signs or operators differ')} in equal text"
    return _description(kind) + beside * (bool(signs) and kind.name not in (None, kinds.SIGNS))


def _description(kind: Kind) -> str:
    if kind.name is None:
        return ""
    if kind.name == kinds.NUMBERS:
        return f"differs in {counted(kind.numbers[0], 'number')}"
    if kind.blocks is None or kind.name == kinds.MOVED or not any(kind.blocks.left):
        return _STORED[kind.name]
    if kind.name == kinds.QUOTED:
        own = counted(kind.own, "word")
        return f"quotes it and has {own} of its own" if kind.larger else f"is quoted, with {own} around it"
    if kind.name in (kinds.CONTAINED, kinds.INSERTED):
        passage = "a passage of " if kind.name == kinds.INSERTED else ""
        return f"{'adds' if kind.larger else 'lacks'} {passage}{counted(kind.own, 'word')}"
    left = kind.blocks.left
    most = "at most " if kind.blocks.at_most else ""
    parts = [f"{verb} {most}{n:,}" for verb, n in (("lacks", left[0]), ("adds", left[1])) if n]
    words = "word" if (left[1] or left[0]) == 1 else "words"
    return f"{' and '.join(parts)} {words} in {counted(kind.blocks.places, 'place')}"


class Differences:
    """The differences of pairs of documents, computed when a page shows them, and kept."""

    def __init__(self, documents: ResultDocuments, reader: TextReader) -> None:
        self._documents, self._reader = documents, reader
        self._lock = threading.Lock()
        self._held: dict[tuple[int, int], tuple[int, str]] = {}

    def knows(self, member: int, head: int) -> bool:
        """Return whether a difference was computed before."""
        return (member, head) in self._held

    def of(self, member: int, head: int, budget: Budget | None = None) -> tuple[int, str]:
        """Return the number of the kind of difference of a member from its representative, and the words for it.

        It is (−1, "") if the texts cannot be read or are long, or when the ``budget`` is spent.
        """
        key = member, head
        difference = self._held.get(key)
        if difference is None:
            if budget is not None and not budget.allows():
                return -1, ""
            difference = self.compute(member, head)
            with self._lock:
                if len(self._held) >= HELD:
                    self._held.clear()
                self._held[key] = difference
        return difference

    def forget(self) -> None:
        """Drop all computed results: texts have changed."""
        with self._lock:
            self._held.clear()

    def compute(self, member: int, head: int) -> tuple[int, str]:
        """Return the same as ``of``, computed now and not kept."""
        sizes = self._documents.bytes
        if not self._reader.known or int(sizes[member] + sizes[head]) > MOST_BYTES:
            return -1, ""
        try:
            kind = kind_of(self._reader.reading(head), self._reader.reading(member))
        except (NeardupError, OSError):
            return -1, ""
        beside = ", ".join(differing_in(self._documents.table, member, head))
        words = "; not compared: ".join(filter(None, (difference_in_words(kind), beside)))
        return (-1 if kind.name is None else kinds.KINDS.index(kind.name)), words


_ComparedPair = tuple[int, int, tuple[tuple[str, Any], ...]]
"""Two documents in order, and the keywords of ``compare``: all that a comparison depends on."""


class Comparisons:
    """Comparisons of pairs with their alignments: each is made once for all who ask for it, and kept for a while.

    They have nothing of the reader who asks: verdicts and notes are looked up for each page.
    """

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._made: OrderedDict[_ComparedPair, tuple[Future[Comparison], Watched]] = OrderedDict()

    def of(
        self, compare: Callable[[Looked, Looked, dict[str, Any]], Comparison], a: int, b: int, how: dict[str, Any]
    ) -> Comparison:
        """Return the comparison of two documents; who asks while it is made waits, and gets the same or its error.

        Raises InputError if a text cannot be read, and the errors of ``compare``.
        """
        key = a, b, tuple(sorted(how.items()))
        with self._lock:
            mine = key not in self._made
            future, watched = self._made.setdefault(key, (Future(), Watched()))
            self._made.move_to_end(key)
        if mine:
            try:
                comparison = compare(self._reader.look(a), self._reader.look(b), how)
                make_alignment(comparison, watched)
                future.set_result(comparison)
            except BaseException as error:
                future.set_exception(error)
            self._keep_few(future)
        return future.result()

    def under_way(self, a: int, b: int) -> SoFar | None:
        """Return how far the alignment of two documents is, in any order; None if none is being made."""
        with self._lock:
            stages = [watched.now for key, (_, watched) in self._made.items() if set(key[:2]) == {a, b}]
        return next(filter(None, reversed(stages)), None)

    def forget(self) -> None:
        """Keep none: texts have changed. Those under way go to those who wait for them alone."""
        with self._lock:
            self._made.clear()

    def _keep_few(self, last: Future[Comparison]) -> None:
        """Drop the comparisons that failed, and the oldest ones if they are too many or too long."""
        with self._lock:
            done = [(key, future) for key, (future, _) in reversed(self._made.items()) if future.done()]
            kept = text = 0
            for key, future in done:
                if future.exception() is None:
                    comparison = future.result()
                    kept, text = kept + 1, text + len(comparison.a.text) + len(comparison.b.text)
                if future.exception() is not None or (
                    future is not last and (kept > COMPARED or text > COMPARED_TEXT)
                ):
                    del self._made[key]


Counts = tuple[int, int, int]
"""|A∩B|, |A| and |B| on shingles."""


class ComputedPairs:
    """Counts the shingles of pairs as the run did; only for measures on shingles, and runs without base text."""

    def __init__(self, index: ResultIndex, reader: TextReader) -> None:
        run = index.found.run
        self._settings, self._index, self._reader = run.settings, index, reader
        self._cleaner = cleaner_of(Settings.of(**as_compared(run.settings)).cleaning)
        self._measure = MEASURES[self._settings["measure"]]
        self.usable = self._measure.of_shingles and not run.base_text
        self._lock = threading.Lock()
        self._sets: OrderedDict[int, UInt64s] = OrderedDict()
        self._counts: OrderedDict[tuple[int, int], Counts] = OrderedDict()

    def forget(self) -> None:
        """Drop all counts: texts have changed."""
        with self._lock:
            self._sets.clear()
            self._counts.clear()

    def counts(self, a: int, b: int, budget: Budget | None = None) -> Counts | None:
        """Return the counts of two documents; None if they cannot be counted, or when the ``budget`` is spent."""
        key = min(a, b), max(a, b)
        known = self._counts.get(key)
        if known is None and self.usable and (budget is None or budget.allows()):
            known = self._shingle_counts(*key)
            if known is not None:
                with self._lock:
                    self._counts[key] = known
                    if len(self._counts) > _HELD**2:
                        self._counts.popitem(last=False)
        return known if known is None or key == (a, b) else (known[0], known[2], known[1])

    def similarity(self, a: int, b: int, budget: Budget | None = None) -> float | None:
        """Return the similarity of two documents by the measure of the run, in the better direction."""
        counts = self.counts(a, b, budget)
        if counts is None:
            return None
        shared, one, other = (np.array([count]) for count in counts)
        both = (similarity_of(shared, *sizes, self._measure.formula) for sizes in ((one, other), (other, one)))
        return float(max(value[0] for value in both))

    def _shingle_counts(self, a: int, b: int) -> Counts | None:
        try:
            of_a, of_b = self._shingle_set(a), self._shingle_set(b)
        except (NeardupError, OSError):
            return None
        if of_a is None or of_b is None:
            return None
        return len(np.intersect1d(of_a, of_b, assume_unique=True)), len(of_a), len(of_b)

    def _shingle_set(self, document: int) -> UInt64s | None:
        """Return the different shingles of a document; None for a long one."""
        if self._index.documents.bytes[document] > MOST_BYTES or not self._reader.known:
            return None
        shingles = self._sets.get(document)
        if shingles is None:
            reading = self._reader.reading(document, self._cleaner)
            units = reading.units(self._settings["unit"] == "word").hashes
            hashes = np.empty(max(len(units), 1), np.uint64)
            length = self._settings["length"]
            shingles = np.unique(hashes[: shingle_hashes(units, len(units), length, reading.key.shingles, hashes)])
            with self._lock:
                self._sets[document] = shingles
                if len(self._sets) > _HELD:
                    self._sets.popitem(last=False)
        return shingles


class _Place(NamedTuple):
    """A place of the representative: its tokens, and whether something goes or comes there."""

    begin: int
    end: int
    goes: bool
    comes: bool


_Changes = dict[int, tuple[TextChange, ...] | None]
"""The changes of members by their numbers."""


class AlikeMembers:
    """The changes of members, compared when a page asks for them, and kept for one group."""

    seconds_beside = 0.1
    """The time that the page of a pair takes to compare the other members of its group."""

    def __init__(self, documents: ResultDocuments, reader: TextReader) -> None:
        self._documents, self._reader = documents, reader
        self._kept: tuple[int, _Changes] = -1, {}
        self._lock = threading.Lock()
        self._brief: dict[int, _Changes] = {}  # of representatives, by number
        self._briefs = 0

    def forget(self) -> None:
        """Drop all computed changes: texts have changed."""
        self._kept = -1, {}
        with self._lock:
            self._brief, self._briefs = {}, 0

    def lacking(self, members: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """Return the members of representatives that are not compared yet, without long ones.

        Those are left to the page of their group.
        """
        sizes = self._documents.bytes
        lacking: dict[int, list[int]] = {}
        for head, those in members.items():
            known = self._brief.get(head, {})
            short = [one for one in those if one not in known and int(sizes[one] + sizes[head]) <= LISTED_BYTES]
            lacking |= {head: short} if short else {}
        return lacking

    def compare(self, head: int, members: Sequence[int]) -> None:
        """Compare members with their representative for the lists, and keep their places and kinds alone."""
        if members:
            self._compare(head, members, Budget(inf), {})

    def in_words(self, head: int, members: int) -> str:
        """Return how members differ, of those that are compared by now, and in how many places."""
        with self._lock:
            return places_in_words([*self._brief.get(head, {}).values()], members)

    def _note(
        self, briefs: dict[int, _Changes], head: int, member: int, changes: tuple[TextChange, ...] | None
    ) -> None:
        """Keep the places and kinds of changes, without their texts, unless ``briefs`` are dropped meanwhile."""
        brief = changes and tuple(one._replace(before=one.before[:1], after=one.after[:1]) for one in changes)
        with self._lock:
            if self._brief is not briefs:
                return
            if self._briefs >= HELD:
                self._brief, self._briefs = {}, 0
            self._briefs += member not in self._brief.setdefault(head, {})
            self._brief[head][member] = brief

    def beside(self, head: int, member: int) -> tuple[str, ...]:
        """Return the kinds of parts beside the text in which a member differs from its representative."""
        return differing_in(self._documents.table, member, head)

    def of(self, head: int, members: Sequence[int], budget: Budget) -> _Changes:
        """Return the changes of each member from its representative, as far as there is time.

        None: its text is long, or cannot be read. Several threads may ask at once, about different groups.
        """
        of_head, known = self._kept
        if of_head != head:
            known = {}
            self._kept = head, known
        waiting = [member for member in members if member not in known]
        if waiting and budget.allows():
            self._compare(head, waiting, budget, known)
        return {member: known[member] for member in members if member in known}

    def _compare(self, head: int, members: Sequence[int], budget: Budget, known: _Changes) -> None:
        briefs = self._brief
        self._reader.read_ahead([head, *members])
        try:
            first = ChangedText(self._reader.reading(head))
        except (NeardupError, OSError):
            for member in members:
                known[member] = None
                self._note(briefs, head, member, None)
            return
        for member in members:
            if not budget.allows():
                return
            known[member] = self._changes(first, head, member)
            self._note(briefs, head, member, known[member])

    def _changes(self, first: ChangedText, head: int, member: int) -> tuple[TextChange, ...] | None:
        sizes = self._documents.bytes
        if int(sizes[member] + sizes[head]) > MOST_BYTES:
            return None
        try:
            return changes_of(first, ChangedText(self._reader.reading(member)))
        except (NeardupError, OSError):
            return None


class MemberFacts(NamedTuple):
    """A member to judge: its key and id, whether it has no verdict, and its exact copies in the group.

    ``beside`` are the kinds of parts beside its text that differ from those of the representative.
    """

    key: Key
    id: Id
    undecided: bool
    copies: int
    beside: tuple[str, ...]

    @property
    def size(self) -> int:
        """The member and its exact copies."""
        return 1 + self.copies


def alike_lines(
    changes: Mapping[int, tuple[TextChange, ...] | None],
    members: Mapping[int, MemberFacts],
    chosen: AlikeFilter = EVERY_MEMBER,
) -> tuple[tuple[AlikeLine, ...], AlikeCounts]:
    """Return the lines of members that differ in the same places, the most members first, and their counts.

    ``changes`` are those of each member, None where it is not compared. Lines have the ``chosen`` members alone.
    """
    lines: dict[tuple[tuple[_Place, ...] | None, tuple[str, ...]], list[int]] = defaultdict(list)
    counts: Counter[AlikeKind] = Counter()
    places_counted: Counter[tuple[int, int]] = Counter()
    texts: dict[tuple[int, int], str] = {}
    for member, own in changes.items():
        places = None if own is None else tuple(map(_place, own))
        lines[places, members[member].beside].append(member)
        counts.update(dict.fromkeys(kinds_in(own), members[member].size))
        texts |= {(one.begin, one.end): _heading([one]) for one in own or () if (one.begin, one.end) not in texts}
        places_counted.update({(one.begin, one.end): members[member].size for one in own or ()})
    order = sorted(lines.items(), key=lambda line: (line[0][0] is None, -len(line[1])))
    fits = {member for member, own in changes.items() if _fits(own, chosen)}
    some = ((number, [member for member in own if member in fits]) for number, (_, own) in enumerate(order))
    return (
        tuple(
            _line(number, [changes[member] for member in own], [members[member] for member in own], chosen)
            for number, own in some
            if own
        ),
        AlikeCounts(
            len(order),
            sum(members[member].size for member in changes),
            len(changes),
            tuple(counts.most_common()),
            tuple(
                DifferingPlace(*place, texts[place], size)
                for place, size in sorted(places_counted.items(), key=lambda one: (-one[1], one[0]))[
                    :FILTER_PLACES
                ]
            ),
            len(places_counted),
        ),
    )


def _fits(own: tuple[TextChange, ...] | None, chosen: AlikeFilter) -> bool:
    """Whether the changes of a member fit a filter."""
    if chosen.place is None:
        return chosen.kind is None or chosen.kind in kinds_in(own)
    return any(_is_chosen(change, chosen) for change in own or ())


def _is_chosen(change: TextChange, chosen: AlikeFilter) -> bool:
    in_place = chosen.place in (None, (change.begin, change.end))
    return in_place and chosen.kind in (None, change.what)


def kinds_in(changes: tuple[TextChange, ...] | None) -> tuple[AlikeKind, ...]:
    """Return the kinds of difference of a member, each once.

    >>> kinds_in(None), kinds_in(()), kinds_in((TextChange(3, 4, "10", "20", "amount"),) * 2)
    (('not compared',), ('no word',), ('amount',))
    """
    if changes is None:
        return ("not compared",)
    return tuple(dict.fromkeys(change.what for change in changes)) or ("no word",)


def places_in_words(changes: Sequence[tuple[TextChange, ...] | None], members: int) -> str:
    """Return how the compared ones of some ``members`` differ, and in how many places; "" if none is compared.

    >>> amount, name = TextChange(3, 4, "10", "20", "amount"), TextChange(0, 2, "Anna Berg", "Tom Li", "name")
    >>> places_in_words([(amount,), (name, amount)], 2), places_in_words([(amount,), None], 3)
    ('amount, name · 2 places', 'amount · 1 place · 1 of 3 compared')
    """
    compared = [own for own in changes if own is not None]
    if not compared:
        return ""
    every = Counter(kind for own in compared for kind in kinds_in(own)).most_common()
    named = [kind for kind, _ in every if kind != "no word"]
    more = f" and {len(named) - SHOWN_KINDS} more" if len(named) > SHOWN_KINDS else ""
    places = len({_place(change) for own in compared for change in own})
    words = f"{', '.join(named[:SHOWN_KINDS])}{more} · {counted(places, 'place')}" if named else NO_PLACE
    part = f" · {number(len(compared))} of {number(members)} compared"
    return words + part * (len(compared) < members)


def _place(change: TextChange) -> _Place:
    return _Place(change.begin, change.end, bool(change.before), bool(change.after))


def _line(
    number: int,
    changes: list[tuple[TextChange, ...] | None],
    members: list[MemberFacts],
    chosen: AlikeFilter,
) -> AlikeLine:
    """Return the line of members that differ in the same places; ``chosen`` places come before others."""
    columns = [list(column) for column in zip(*(own or () for own in changes), strict=True)]
    fits = [any(_is_chosen(change, chosen) for change in column) for column in columns]
    order = sorted(range(len(columns)), key=lambda place: not fits[place])
    shown = sorted(order[:SHOWN_PLACES])
    varied = sorted([place for place in order if len(set(map(_new_text, columns[place]))) > 1][:SHOWN_PLACES])
    differ = ", ".join(_words(columns[place]) for place in shown) or NO_PLACE
    differ = NOT_COMPARED if changes[0] is None else differ
    rows: dict[tuple[str, ...], list[MemberFacts]] = defaultdict(list)
    for own, member in zip(changes, members, strict=True):
        rows[tuple(map(_new_text, own or ()))].append(member)
    return AlikeLine(
        number,
        "; not compared: ".join(filter(None, (differ, ", ".join(members[0].beside)))),
        max(0, len(columns) - SHOWN_PLACES),
        tuple(dict.fromkeys((*map(_kind, columns), *(change.what for own in changes for change in own or ())))),
        tuple(_heading(columns[place]) for place in varied),
        tuple(varied),
        tuple(
            AlikeRow(
                those[0].id,
                tuple(member.key for member in those),
                tuple(shorten(texts[place], WIDTH) for place in varied),
                sum(member.undecided for member in those),
                sum(member.copies for member in those),
            )
            for texts, those in sorted(rows.items(), key=lambda row: -len(row[1]))
        ),
    )


def _kind(column: list[TextChange]) -> str:
    """Return the kind of difference in a place: that of most members."""
    return Counter(change.what for change in column).most_common(1)[0][0]


def _heading(column: list[TextChange]) -> str:
    """Return the text of the representative in a place; the kind of the new text if it has none."""
    return shorten(_flat(column[0].before), WIDTH) or f"+ {_kind(column)}"


def _words(column: list[TextChange]) -> str:
    """Return how members differ in a place, in a few words."""
    what, before = _kind(column), shorten(_flat(column[0].before), WIDTH)
    texts = Counter(map(_new_text, column))
    (after, _), count = texts.most_common(1)[0], len(texts)
    if not after:
        return f"− {_label(what)}“{before}”"
    new = f"“{shorten(after, WIDTH)}”" if count == 1 else f"{number(count)} {_PLURALS[what]}"
    if not before:
        return f"+ {_label(what) if count == 1 else ''}{new}"
    return f"{before} → {new.strip('“”') if count == 1 else new}"


def _label(what: str) -> str:
    return f"{what} " if what in ("paragraph", "sentence", "moved") else ""


def _new_text(change: TextChange) -> str:
    """Return the text of a member in a place, on one line."""
    return _flat(change.after)


def _flat(text: str) -> str:
    return " ".join(text.split())


def sorted_by_place(lines: tuple[AlikeLine, ...], number: int, place: int) -> tuple[AlikeLine, ...]:
    """Return the lines, one of them with its rows in the order of a place: numbers by size, dates by day."""

    def in_order(line: AlikeLine) -> tuple[AlikeRow, ...]:
        if line.number != number or place not in line.columns:
            return line.rows
        column = line.columns.index(place)
        return tuple(sorted(line.rows, key=lambda row: order_of(row.texts[column])))

    return tuple(replace(line, rows=in_order(line)) for line in lines)


def shown_rows(
    lines: Sequence[AlikeLine], asked: tuple[int, int] | None, begin: int = 0
) -> list[tuple[AlikeLine, int, tuple[AlikeRow, ...]]]:
    """Return the lines of a page, each with the place of its first row there, and the rows.

    ``begin`` is the place of the first line. ``asked`` are the number of one line, which is shown alone, and its
    first row; without that row they do not count.
    """
    if asked is not None:
        for line in lines:
            if line.number == asked[0] and line.rows[asked[1] :]:
                return [(line, asked[1], line.rows[asked[1] : asked[1] + MORE_ROWS])]
    return [(line, 0, line.rows[:ROWS]) for line in lines[begin : begin + MOST_LINES]]


def order_of(text: str) -> tuple[int, float, str]:
    """Return the place of a text among others: amounts by size, then dates by day, then the rest by letters.

    >>> sorted(["950.00", "1,200.00", "4 May 2026", "Anna", "3.5.2026"], key=order_of)
    ['950.00', '1,200.00', '3.5.2026', '4 May 2026', 'Anna']
    """
    day = day_of(text)
    if day is not None:
        return 1, day, ""
    amount = amount_of(text)
    return (2, 0.0, text.casefold()) if amount is None else (0, amount, "")
