"""The results of a search: pages of hits with their evidence, and the token that requests the next page."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

from neardup.collection.query.plan import LETTERS, QueryPlan
from neardup.collection.query.syntax import canonical
from neardup.collection.records import (
    evidence_cells,
    hits_html,
)
from neardup.display import similarity
from neardup.errors import InputError

_VERSION = 1
_CHECK = 8
_SHOWN = 3
"""The most hits that the repr of a page lists."""
_LONGEST = 20_000
"""The most characters of a token; ids are part of it."""


@dataclass(frozen=True)
class Passage:
    """The longest passage that a hit has in common with the query document.

    It spans characters ``begin_a`` … ``end_a`` of A and ``begin_b`` … ``end_b`` of B and has ``words`` words;
    ``text`` is the passage in B, cut if it is long.
    """

    text: str
    words: int
    begin_a: int
    end_a: int
    begin_b: int
    end_b: int


@dataclass(frozen=True)
class HitEvidence:
    """The counts from the texts: A is the query document, B the document found.

    ``clause`` is the fingerprint clause that the evidence belongs to; ``score`` is its measure, which sorts the
    hits. In a collection with base texts, ``full_size_a`` and ``full_size_b`` are the sizes with base text, which
    does not count.
    """

    clause: str
    score: float
    shared: int
    size_a: int
    size_b: int
    passage: Passage | None
    full_size_a: int | None = None
    full_size_b: int | None = None

    @property
    def containment_a(self) -> float:
        """|A∩B| / |A|: the share of the query document that the document found contains."""
        return self.shared / self.size_a

    @property
    def containment_b(self) -> float:
        """|A∩B| / |B|: the share of the document found that the query document contains."""
        return self.shared / self.size_b

    @property
    def resemblance(self) -> float:
        """|A∩B| / |A∪B|."""
        return self.shared / (self.size_a + self.size_b - self.shared)


@dataclass(frozen=True, repr=False)
class Hit:
    """A document that matches. ``evidence`` is None if no fingerprint clause holds for it."""

    id: str
    evidence: HitEvidence | None

    def __repr__(self) -> str:
        found = self.evidence
        counts = "" if found is None else f", shared {found.shared} of {found.size_a} + {found.size_b} shingles"
        return f"Hit({short_repr(self.id)}{counts})"

    def _repr_html_(self) -> str:
        return hits_html([(self.id, self._cells())], [], [])

    def _cells(self) -> tuple[str, ...]:
        """Return the evidence as cells of a table."""
        found = self.evidence
        if found is None:
            return evidence_cells(None, None, None)
        passage = None if found.passage is None else found.passage.text
        return evidence_cells((found.shared, found.size_a, found.size_b), found.score, passage)

    def as_dict(self) -> dict[str, Any]:
        """Return the hit as plain data, one level deep except for the passage."""
        found = self.evidence
        if found is None:
            return {"id": self.id}
        names = ["containment_a", "containment_b", "resemblance", "shared", "size_a", "size_b", "clause"]
        names += ["full_size_a", "full_size_b"] * (found.full_size_a is not None)
        # not asdict, which copies every value and takes four times as long (measured)
        passage = None if found.passage is None else dict(vars(found.passage))
        return {"id": self.id, **{name: getattr(found, name) for name in names}, "passage": passage}


@dataclass(frozen=True, repr=False)
class Page:
    """Some hits, best first. ``found``: hits on all pages; ``next``: the token of the next page, None at the end.

    ``query`` is the canonical form, ``recall`` the least probability with which a matching document is found;
    ``warnings`` are sentences about numbers that surely mean something else. A query that begins with EXPLAIN has
    a plan and no hits, and ``found`` is None. ``plan`` is None for a page of a service.
    """

    hits: tuple[Hit, ...]
    found: int | None
    next: str | None
    query: str
    recall: float
    warnings: tuple[str, ...] = ()
    plan: QueryPlan | None = None

    def __repr__(self) -> str:
        if self.found is None:
            return "Page(a plan, no hits)"
        ids = ", ".join(short_repr(hit.id) for hit in self.hits[:_SHOWN]) + ", …" * (len(self.hits) > _SHOWN)
        more = ", more with next" * (self.next is not None)
        return f"Page({len(self.hits)} of {self.found} hits{f': {ids}' if ids else ''}{more})"

    def _repr_html_(self) -> str:
        lines = [("query", self.query), ("recall", f"{similarity(self.recall, 4)} or more")]
        if self.found is not None:
            lines.append(("hits", f"{len(self.hits):,} of {self.found:,}"))
        return hits_html([(hit.id, hit._cells()) for hit in self.hits], lines, self.warnings)

    def as_dict(self) -> dict[str, Any]:
        """Return the page as plain data."""
        return {
            "query": self.query,
            "recall": self.recall,
            "found": self.found,
            "hits": [hit.as_dict() for hit in self.hits],
            "next": self.next,
            "warnings": list(self.warnings),
        }


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
        fields = [_VERSION, self.score, self.id, self.search, self.taken]
        data = json.dumps(fields, ensure_ascii=True).encode("ascii")
        return base64.urlsafe_b64encode(_checksum(data) + data).decode("ascii").rstrip("=")


def search_digest(plan: QueryPlan, include_self: bool) -> str:
    """A digest that ties a page token to its search: the query and its query documents.

    It uses the texts of the documents, not their hashes, which are secret.
    """
    digest = hashlib.sha256(f"{include_self} {canonical(plan.query.root)}".encode("utf-8", "surrogatepass"))
    for step in plan.fingerprints:
        text = step.target.text.encode("utf-8", "surrogatepass")
        digest.update(hashlib.sha256(text).digest())
        if step.target.base.state:
            digest.update(repr(step.target.base.state).encode())
    return digest.hexdigest()[:16]


def read_token(token: str) -> Cursor:
    """Return the cursor of a token. Raises InputError for a token that no search has returned."""
    fault = InputError(
        "This page token is damaged",
        "The token that a page of the same search names as its next one",
        "Begin with the first page",
    )
    if len(token) > _LONGEST:
        raise fault
    try:
        stored = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        check, data = stored[:_CHECK], stored[_CHECK:]
        if check != _checksum(data):
            raise fault
        version, score, id, search, taken = json.loads(data)
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise fault from error
    texts = all(isinstance(value, str) for value in (id, search, taken))
    if version != _VERSION or not texts or not isinstance(score, float) or not math.isfinite(score):
        raise fault
    if not set(taken) <= set(LETTERS.values()):
        raise fault
    return Cursor(score, id, search, taken)


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_CHECK]
