"""The query document of a fingerprint clause: found by its id or read, and converted to a set of shingles."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial

import numpy as np

from neardup import display
from neardup.collection.query import syntax
from neardup.collection.query.grammar import PERCENTAGE
from neardup.collection.sets import NO_BASE, CollectionBase
from neardup.collection.view import View
from neardup.errors import InputError, QueryError
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.text import Key
from neardup.tables import Int64s, UInt64s
from neardup.text.cleaning import Cleaner
from neardup.text.units import Units, read

Open = Callable[[str], str]
"""Returns the text of a file."""

ID_SHOWN = 60


@dataclass(frozen=True, eq=False)
class Target:
    """The query document, A: its text, and the requested overlap and probability.

    ``number`` is its number in the collection, None for a text that came with the query. ``overlap`` and
    ``probability`` are in per cent, None as in ``syntax.Fingerprint``. ``in_order`` are its shingles (uint64, in
    text order, with repeats), if they are known: then its words are read only for a passage.
    """

    name: str
    text: str
    number: int | None
    overlap: Decimal | None
    probability: Decimal | None
    length: int
    key: Key
    base: CollectionBase = NO_BASE
    cleaner: Cleaner | None = None
    in_order: UInt64s | None = None

    @cached_property
    def units(self) -> Units:
        """Its words that count."""
        return self.units_of(self.text)

    def units_of(self, text: str) -> Units:
        """The words that count of any text."""
        return read(text, cleaner=self.cleaner, key=self.key).words

    @cached_property
    def placed(self) -> tuple[UInt64s, Int64s]:
        """All its shingles, sorted, and the token at which each begins; equal ones in the order of the text."""
        found = self.shingles_in_order(self.units) if self.in_order is None else self.in_order
        order = np.argsort(found, kind="stable")
        return found[order], order.astype(np.int64)

    @cached_property
    def _shingles(self) -> tuple[UInt64s, Int64s]:
        hashes, places = self.placed
        first = np.ones(len(hashes), np.bool_)
        first[1:] = hashes[1:] != hashes[:-1]
        if len(self.base):
            first &= ~self.base.contains(hashes)
        return hashes[first], places[first]

    @property
    def hashes(self) -> UInt64s:
        """Its distinct shingles that are not base text, sorted."""
        return self._shingles[0]

    @property
    def n(self) -> int:
        """|A|: the number of its distinct shingles that are not base text."""
        return len(self.hashes)

    @property
    def full_size(self) -> int:
        """The number of all its distinct shingles."""
        return len(np.unique(self.placed[0])) if len(self.base) else self.n

    @property
    def is_short(self) -> bool:
        """Whether it has fewer words than a shingle, and so a single shingle of all its words."""
        return len(self.placed[0]) < 2 and len(self.units) < self.length

    def shingles_in_order(self, units: Units) -> UInt64s:
        """The shingles of words hashed with the same key, in the order of the text, with repeats."""
        out = np.empty(max(len(units), 1), np.uint64)
        return out[: shingle_hashes(units.hashes, len(units), self.length, self.key.shingles, out)]

    def words_of(self, k: int) -> tuple[str, ...]:
        """The words of shingle k of ``hashes``."""
        start = int(self._shingles[1][k])
        return tuple(self.units.strings[start : start + self.length])


def target_of(clause: syntax.Fingerprint, query: syntax.Query, view: View, open_file: Open | None) -> Target:
    """Find or read the document of a clause. Raises QueryError if it does not exist or has no words."""
    source, rule, base = clause.source, view.sampling, view.base
    form = partial(Target, length=rule.length, key=rule.key, base=base, cleaner=rule.cleaner)
    numbers = (clause.overlap, clause.probability)
    if isinstance(source, syntax.Pasted):
        target = form("the pasted text", source.text, None, *numbers)
    elif isinstance(source, syntax.File):
        text = _file_text(source.path, clause, query, open_file)
        target = form(f"the file {_shown_id(source.path)}", text, None, *numbers)
    else:
        given = (
            (syntax.IdReading(source.id, *numbers),)
            if isinstance(source, syntax.Stored)
            else syntax.readings(source.word)
        )
        reading, number = _existing_reading(given, clause, query, view)
        name = f"document {_shown_id(reading.id)}"
        asked = reading.overlap, reading.probability
        target = form(name, view.text(number), number, *asked, in_order=view.known_shingles(number))
    if not target.n and target.full_size:
        what = f"All text in {target.name} is boilerplate, which does not count"
        raise _error(clause, query, what, "A text with shingles that no boilerplate of this collection contains")
    if not target.n:
        counting = " that counts" * (target.cleaner is not None)
        what = f"There is no word{counting} in {target.name}"
        raise _error(clause, query, what, f"A text with words{counting}, since words are compared")
    return target


def _existing_reading(
    given: tuple[syntax.IdReading, ...], clause: syntax.Fingerprint, query: syntax.Query, view: View
) -> tuple[syntax.IdReading, int]:
    """The one reading whose document exists, and its number."""
    known = view.numbered([reading.id for reading in given])
    found = [(reading, known[reading.id]) for reading in given if reading.id in known]
    if len(found) == 1:
        return found[0]
    if not found:
        raise _unknown_error(given, clause, query, view)
    said = "; ".join(f"{_reading_in_words(reading)} means {_meaning(reading)}" for reading, _ in found)
    what = "This id has more than one meaning, because several such documents exist"
    raise _error(clause, query, what, said, "Write the id in quotation marks, as here")


def _unknown_error(
    given: tuple[syntax.IdReading, ...], clause: syntax.Fingerprint, query: syntax.Query, view: View
) -> QueryError:
    word = given[-1].id
    allowed = "An id as it was when the document was added; in quotation marks it may contain any character"
    do = 'Give TEXT:"…" to ask about a text that is not stored'
    for n_numbers in (2, 1):
        id, *texts = word.rsplit("_", n_numbers)
        if len(texts) == n_numbers and all(map(_is_number, texts)) and view.number(id) is not None:
            if all(map(syntax.percentage, texts)):  # the numbers are valid, but inside the quotation marks
                do = f"Write {_shown_id(id)}_{'_'.join(texts)}, with the numbers behind the quotation mark"
                break
            what = f"Document {_shown_id(id)} is there, but {' and '.join(texts)} cannot follow it"
            return _error(clause, query, what, PERCENTAGE)
    tried = " or ".join(_shown_id(reading.id) for reading in given)
    return _error(clause, query, f"There is no document {tried}", allowed, do)


def _file_text(path: str, clause: syntax.Fingerprint, query: syntax.Query, open_file: Open | None) -> str:
    if open_file is None:
        raise _error(clause, query, "A FILE cannot be read from here", "", 'Give its text as TEXT:"…"')
    try:
        return open_file(path)
    except InputError as error:
        do = "A path that ends in numbers such as _20 is written in quotation marks"
        raise _error(clause, query, error.given, error.allowed, do) from error


def _error(clause: syntax.Fingerprint, query: syntax.Query, what: str, allowed: str, do: str = "") -> QueryError:
    typed = clause.span[1] > 0  # a clause that a program made has no place in the query
    return QueryError(what, allowed, do, query=query.text if typed else "", position=clause.span[0])


def _is_number(text: str) -> bool:
    return text.removesuffix("%").replace(".", "", 1).isdecimal()


def _shown_id(id: str) -> str:
    return syntax.quoted_text(id if len(id) <= ID_SHOWN else id[:ID_SHOWN] + "…")


def _reading_in_words(reading: syntax.IdReading) -> str:
    numbers = (reading.overlap, reading.probability)
    return _shown_id(reading.id) + "".join(f"_{number:f}" for number in numbers if number is not None)


def _meaning(reading: syntax.IdReading) -> str:
    overlap = "a sampled shingle" if reading.overlap is None else f"{reading.overlap:f} %"
    return f"{overlap} of document {display.printable(_shown_id(reading.id))}"
