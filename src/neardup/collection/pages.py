"""The results of a search: pages of hits with their evidence, and the token that requests the next page."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from neardup.collection.query.plan import LETTERS, AllStep, AnyStep, QueryPlan, Step, WordsStep
from neardup.collection.query.syntax import canonical
from neardup.collection.records import evidence_cells, hits_html
from neardup.collection.view import View
from neardup.display import Extent, counted
from neardup.display.view import PlainData
from neardup.errors import InputError, SettingError
from neardup.tables import UInt64s
from neardup.text.units import words

_VERSION = 1
_CHECK = 8
_SHOWN = 3
"""The most hits that the repr of a page lists."""
_LONGEST = 20_000
"""The most characters of a token; ids are part of it."""


@dataclass(frozen=True)
class Passage(PlainData):
    """The longest passage that a hit has in common with the query document.

    It spans characters ``begin_query`` … ``end_query`` of the query document and ``begin_hit`` … ``end_hit`` of
    the hit and has ``words`` words; ``text`` is the passage in the hit, cut if it is long.
    """

    text: str
    words: int
    begin_query: int
    end_query: int
    begin_hit: int
    end_hit: int


@dataclass(frozen=True)
class HitEvidence(PlainData):
    """The counts from the texts of the query document and of the document found, the hit.

    ``shared`` are the shingles in both, ``size_query`` and ``size_hit`` those of each.

    ``clause`` is the fingerprint clause that the evidence belongs to; ``score`` is its measure, which sorts the
    hits. In a collection with boilerplate, ``full_size_query`` and ``full_size_hit`` are the sizes with
    boilerplate, which does not count.
    """

    clause: str
    score: float
    shared: int
    size_query: int
    size_hit: int
    passage: Passage | None
    full_size_query: int | None = None
    full_size_hit: int | None = None

    @property
    def in_hit(self) -> float:
        """The share of the query document that is in the hit: the containment."""
        return self.shared / self.size_query

    @property
    def in_query(self) -> float:
        """The share of the hit that is in the query document."""
        return self.shared / self.size_hit

    @property
    def resemblance(self) -> float:
        """The shingles in both, divided by those in either."""
        return self.shared / (self.size_query + self.size_hit - self.shared)


HitField: TypeAlias = Literal["metadata", "text", "excerpt"]
"""What hits hold besides their evidence, if it is asked for."""


def hit_fields(fields: str | Iterable[str]) -> tuple[HitField, ...]:
    """Return names of fields of hits, also from one text with commas. Raises SettingError for any other.

    >>> hit_fields("metadata, excerpt"), hit_fields(["text"]), hit_fields("")
    (('metadata', 'excerpt'), ('text',), ())
    """
    names = [name.strip() for name in fields.split(",") if name.strip()] if isinstance(fields, str) else fields
    chosen = dict.fromkeys(names)
    if unknown := [name for name in chosen if name not in get_args(HitField)]:
        raise SettingError(f"fields has {unknown[0]!r}", f"Some of {', '.join(get_args(HitField))}")
    return cast(tuple[HitField, ...], tuple(chosen))


@dataclass(frozen=True)
class Excerpt(PlainData):
    """A part of the text of a hit, which begins at its character ``begin``.

    It holds the passage in common with the query document, or the first place of words of the query, or else the
    beginning of the text. ``marks`` are the characters (begin, end) of ``text`` that are these words.
    """

    text: str
    begin: int
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, repr=False)
class Hit(PlainData):
    """A document that matches. ``evidence`` is None if no fingerprint clause holds for it.

    ``metadata``, ``text`` and ``excerpt`` are None unless they are among the ``fields`` of the search.
    """

    id: str
    evidence: HitEvidence | None
    metadata: Mapping[str, Any] | None = None
    text: str | None = None
    excerpt: Excerpt | None = None

    def __repr__(self) -> str:
        found = self.evidence
        counts = (
            "" if found is None else f", shared {found.shared} of {found.size_query} + {found.size_hit} shingles"
        )
        return f"Hit({short_repr(self.id)}{counts})"

    def _repr_html_(self) -> str:
        return hits_html([(self.id, self._cells())], [], [])

    def _cells(self) -> tuple[str, ...]:
        """Return the evidence as cells of a table."""
        found = self.evidence
        if found is None:
            return evidence_cells(None, None, None)
        passage = None if found.passage is None else found.passage.text
        return evidence_cells((found.shared, found.size_query, found.size_hit), found.score, passage)

    def as_dict(self) -> dict[str, Any]:
        """Return the hit as plain data, one level deep except for the passage and the fields asked for."""
        found = self.evidence
        fields: dict[str, Any] = {} if self.metadata is None else {"metadata": self.metadata}
        if self.text is not None:
            fields["text"] = self.text
        if self.excerpt is not None:
            fields["excerpt"] = {**vars(self.excerpt), "marks": [list(mark) for mark in self.excerpt.marks]}
        if found is None:
            return {"id": self.id, **fields}
        names = ["in_hit", "in_query", "resemblance", "shared", "size_query", "size_hit", "clause"]
        names += ["full_size_query", "full_size_hit"] * (found.full_size_query is not None)
        # not asdict, which copies every value and takes four times as long (measured)
        passage = None if found.passage is None else dict(vars(found.passage))
        return {"id": self.id, **{name: getattr(found, name) for name in names}, "passage": passage, **fields}


@dataclass(frozen=True, repr=False)
class Page(PlainData):
    """Some hits, best first. ``found``: hits on all pages; ``next``: the token of the next page, None at the end.

    ``query`` is the canonical form, ``recall`` the least chance, over the keys that a collection may have, that a
    matching document is found: those that share the same shingles are found or missed together;
    ``warnings`` are sentences about numbers that surely mean something else. A query that begins with EXPLAIN has
    a plan and no hits, and ``found`` is None. ``plan`` is None for a page of a service.

    ``missing``: the numbers, from 1, of shards of ``Collections`` that did not answer, whose documents are
    neither among the hits nor in ``found``. ``uncompared``: candidates beyond the most to be compared. With any,
    at least ``found`` documents match (``least``), and the recall is 0. ``shards`` is the number of all.
    """

    hits: tuple[Hit, ...]
    found: int | None
    next: str | None
    query: str
    recall: float
    warnings: tuple[str, ...] = ()
    plan: QueryPlan | None = None
    missing: tuple[int, ...] = ()
    uncompared: int = 0
    shards: int = 1

    @property
    def least(self) -> str:
        """ "at least " if more documents may match than were found, else ""."""
        return "at least " * bool(self.uncompared or self.missing)

    def sure(self) -> str:
        """Return how sure it is that no match is missing, in words."""
        shards = Extent("shard", self.shards - len(self.missing), unreadable=len(self.missing))
        if not self.uncompared:
            return shards.sure(self.recall)
        return f"{counted(self.uncompared, 'candidate')} not compared{shards.rest()}"

    def __repr__(self) -> str:
        if self.found is None:
            return "Page(a plan, no hits)"
        ids = ", ".join(short_repr(hit.id) for hit in self.hits[:_SHOWN]) + ", …" * (len(self.hits) > _SHOWN)
        more = ", more with next" * (self.next is not None)
        found = f"{self.least}{self.found}"
        return f"Page({len(self.hits)} of {found} hits{f': {ids}' if ids else ''}{more})"

    def _repr_html_(self) -> str:
        lines = [("query", self.query), ("recall", self.sure())]
        if self.found is not None:
            lines.append(("hits", f"{len(self.hits):,} of {self.least}{self.found:,}"))
        return hits_html([(hit.id, hit._cells()) for hit in self.hits], lines, self.warnings)

    def as_dict(self) -> dict[str, Any]:
        """Return the page as plain data."""
        page = {
            "query": self.query,
            "recall": self.recall,
            "found": self.found,
            "hits": [hit.as_dict() for hit in self.hits],
            "uncompared": self.uncompared,
            "next": self.next,
            "warnings": list(self.warnings),
        }
        return page | ({"missing": list(self.missing), "shards": self.shards} if self.missing else {})


def short_repr(text: str, most: int = 40) -> str:
    """The repr of a text, cut if it is long.

    >>> short_repr("note"), short_repr("x" * 99, 5)
    ("'note'", "'xxxx…'")
    """
    return repr(text if len(text) <= most else text[: most - 1] + "…")


@dataclass(frozen=True)
class Cursor:
    """The position after a hit: its score and id, its search, and the methods that the search used."""

    score: float
    id: str
    search: str
    taken: str

    def is_before(self, score: float, id: str) -> bool:
        """Whether a hit comes after this position: by descending score, then by id."""
        return (-score, id) > (-self.score, self.id)

    def token(self) -> str:
        """The cursor as ASCII text, with a checksum.

        >>> read_token(Cursor(0.5, "a", "search", "1").token()).id
        'a'
        """
        return sealed_token([_VERSION, self.score, self.id, self.search, self.taken])


def search_digest(plan: QueryPlan, include_self: bool, compared: int | None = None) -> str:
    """A digest that ties a page token to its search: the query, its query documents, the most to be compared.

    It uses the texts of the documents, not their hashes, which are secret.
    """
    bound = "" if compared is None else f" {compared}"
    digest = hashlib.sha256(f"{include_self}{bound} {canonical(plan.query.root)}".encode("utf-8", "surrogatepass"))
    for step in plan.fingerprints:
        text = step.target.text.encode("utf-8", "surrogatepass")
        digest.update(hashlib.sha256(text).digest())
        if step.target.base.state:
            digest.update(repr(step.target.base.state).encode())
    return digest.hexdigest()[:16]


def sealed_token(fields: Any) -> str:
    """Plain data as ASCII text, with a checksum."""
    data = json.dumps(fields, ensure_ascii=True).encode("ascii")
    return base64.urlsafe_b64encode(_checksum(data) + data).decode("ascii").rstrip("=")


def token_fields(token: str, longest: int) -> Any:
    """The plain data of a token of at most ``longest`` characters. Raises ValueError for any other text."""
    if len(token) > longest:
        raise ValueError
    try:
        stored = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        check, data = stored[:_CHECK], stored[_CHECK:]
        if check != _checksum(data):
            raise ValueError
        return json.loads(data)
    except RecursionError as error:
        raise ValueError from error


def read_token(token: str) -> Cursor:
    """Return the cursor of a token. Raises InputError for a token that no search has returned."""
    fault = InputError(
        "This page token is damaged",
        "The token that a page of the same search names as its next one",
        "Begin with the first page",
    )
    try:
        version, score, id, search, taken = token_fields(token, _LONGEST)
    except (ValueError, TypeError) as error:
        raise fault from error
    texts = all(isinstance(value, str) for value in (id, search, taken))
    if version != _VERSION or not texts or not isinstance(score, float) or not math.isfinite(score):
        raise fault
    if not set(taken) <= set(LETTERS.values()):
        raise fault
    return Cursor(score, id, search, taken)


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_CHECK]


PAGE_BYTES = 16_000_000
"""A page of hits ends after this many bytes of texts and metadata; a larger document is a page of its own."""
_EXCERPT, _BEFORE = 240, 80
"""The characters of an excerpt, and those before the words that it shows."""
_WINDOW, _OVERLAP = 100_000, 2_000
"""Characters in which words are looked for at a time, and those shared with the next: a text may be long."""


def with_fields(
    hits: Iterable[Hit], numbers: Iterable[int], fields: Sequence[str], view: View, plan: QueryPlan
) -> Iterator[Hit]:
    """Yield hits with the fields asked for, as many as fit into a page; ``numbers`` are their documents."""
    phrases = [words(" ".join(tokens)).hashes for tokens in _phrases(plan.root)]
    size = 0
    for hit, number in zip(hits, numbers, strict=True):
        row = view.row(number)
        values: dict[str, Any] = {}
        if "metadata" in fields:
            values["metadata"] = row.metadata
            size += len(json.dumps(row.metadata))
        if "text" in fields:
            values["text"] = view.text(number)
            size += row.size
        if "excerpt" in fields:
            passage = None if hit.evidence is None else hit.evidence.passage
            values["excerpt"] = excerpt_of(view.text(number), phrases, passage)
        yield replace(hit, **values)
        if size >= PAGE_BYTES:
            return


def _phrases(step: Step) -> Iterator[tuple[str, ...]]:
    """Yield the tokens of the words that a query asks for; those under NOT are in no hit."""
    if isinstance(step, WordsStep):
        yield step.tokens
    elif isinstance(step, AllStep | AnyStep):
        for part in step.parts:
            yield from _phrases(part)


def excerpt_of(text: str, phrases: Sequence[UInt64s], passage: Passage | None = None) -> Excerpt:
    """Return the part of a text around a passage, or around the first of the phrases (uint64[n], token hashes)."""
    if passage is not None:
        place = passage.begin_hit
    else:
        begins = range(0, max(len(text) - _OVERLAP, 1), _WINDOW - _OVERLAP) if phrases else ()
        windows = ((begin, _places(text[begin : begin + _WINDOW], phrases)) for begin in begins)
        first = (begin + places[0][0] for begin, places in windows if places)
        place = next(first, 0)
    begin = _word_begin(text, max(0, place - _BEFORE), place)
    shown = text[begin : begin + _EXCERPT]
    if passage is None:
        marks = _places(shown, phrases)
    else:
        marks = [(passage.begin_hit - begin, min(passage.end_hit - begin, len(shown)))]
    return Excerpt(shown, begin, tuple(marks))


def _word_begin(text: str, begin: int, most: int) -> int:
    """Return the place after the first white space from ``begin`` on, at most ``most``; 0 stays 0."""
    if begin == 0:
        return 0
    return next((place + 1 for place in range(begin - 1, most) if text[place].isspace()), begin)


def _places(text: str, phrases: Sequence[UInt64s]) -> list[tuple[int, int]]:
    """Return where phrases are in a text, in its characters, sorted."""
    units = words(text)
    places = set()
    for phrase in phrases:
        n = len(units) - len(phrase) + 1
        if n < 1:
            continue
        fits = units.hashes[:n] == phrase[0]
        for k in range(1, len(phrase)):
            fits &= units.hashes[k : n + k] == phrase[k]
        places |= {
            (int(units.spans[k, 0]), int(units.spans[k + len(phrase) - 1, 1])) for k in fits.nonzero()[0].tolist()
        }
    return sorted(places)
