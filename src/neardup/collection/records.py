"""Records that a collection returns about documents, groups and decisions, and their views in a notebook.

All text of the views is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from neardup.display import Line, counted, number, similarity, size
from neardup.display.view import PlainData, excerpt, facts, heading, name_of, paragraph, table, view
from neardup.io.decisions import Verdict
from neardup.io.inputs import Problem

SHOWN = 20
"""Rows of a table in a notebook."""
SHOWN_TEXT = 2000
"""Characters of a document that its view shows."""
_COUNTS = ("documents", "base_texts", "tokens", "shingles", "groups", "changes")
FIELDS = 20
"""Fields of metadata that the view of a document shows."""


def evidence_cells(
    counts: tuple[int, int, int] | None, score: float | None, passage: str | None
) -> tuple[str, ...]:
    """Return the score, the counts and the passage of a hit as cells; ``counts`` are |A∩B|, |A|, |B|."""
    if counts is None or score is None:
        return "", "", ""
    shared, a, b = counts
    return similarity(score), f"{number(shared)} of {number(a)} + {number(b)}", excerpt(passage or "")


def hits_html(rows: Iterable[tuple[str, tuple[str, ...]]], lines: Sequence[Line], warnings: Sequence[str]) -> str:
    """Return the hits of a page: (id, evidence cells) in each row."""
    cells = [(name_of(id), *evidence) for id, evidence in rows]
    head = ("document", "score", "shingles shared", "longest passage in common")
    listed = table(head, cells[:SHOWN], frozenset((1,))) if cells else ""
    return view(facts(lines), *(paragraph(f"Warning: {text}") for text in warnings), listed, _rest_line(cells))


def document_html(id: str, text: str, metadata: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Return a document: its metadata, and the beginning of its text."""
    fields = [(excerpt(name, 30), excerpt(str(value))) for name, value in list(metadata.items())[:FIELDS]]
    return view(facts([("document", name_of(id)), *lines, *fields]), paragraph(excerpt(text, SHOWN_TEXT)))


def list_html(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int], title: str) -> str:
    """Return a table of documents, members or groups."""
    cells = list(rows)
    return view(heading(title), table(head, cells[:SHOWN], numbers) if cells else "", _rest_line(cells))


def collection_html(info: Mapping[str, Any]) -> str:
    """Return the counts and bytes of a collection, as ``Collection.info`` has them."""
    lines = [("file", str(info["path"]))]
    lines += [(name.replace("_", " "), number(info[name])) for name in _COUNTS if info.get(name)]
    lines += [("text", size(info["bytes"]["text"])), ("size of the file", size(info["bytes"]["file"]))]
    return view(heading("Collection"), facts(lines))


def closed_html(path: str, said: str) -> str:
    """Return a collection that cannot be read."""
    return view(heading("Collection"), facts([("file", path)]), paragraph(said))


def _rest_line(cells: Sequence[object]) -> str:
    left = len(cells) - SHOWN
    return paragraph(f"… and {counted(left, 'more row')}") if left > 0 else ""


CopyClass: TypeAlias = Literal["identical", "same words"]


class WithLikeness(PlainData):
    """A record that says how two documents are alike besides their counts of shingles.

    ``copy`` is the class of their texts: "identical" for the same characters but for white space and normal form,
    "same words" for the same tokens in the same order with other characters, else None. ``difference`` is the
    first difference of characters of the same words. ``not_compared`` are the kinds of parts beside the texts,
    such as images, that differ; None if they are not known.
    """

    copy: CopyClass | None
    difference: str | None
    not_compared: tuple[str, ...] | None

    def in_words(self) -> str:
        """Return the class, the difference and the kinds of parts that differ; "" if there is nothing to say.

        >>> Likeness("same words", "case: “it” here, “It” there", ("images",)).in_words()
        'same words; case: “it” here, “It” there; not compared: images, which differ'
        """
        copy = "identical text" if self.copy == "identical" else self.copy
        beside = f"not compared: {', '.join(self.not_compared)}, which differ" if self.not_compared else None
        return "; ".join(filter(None, (copy, self.difference, beside)))


@dataclass(frozen=True)
class Likeness(WithLikeness):
    """How two documents are alike besides their counts."""

    copy: CopyClass | None = None
    difference: str | None = None
    not_compared: tuple[str, ...] | None = None


Held = Literal["representative", "resemblance", "decision"]


@dataclass(frozen=True)
class StoredMember(WithLikeness):
    """A document of a group, its counts with the representative, and the reason for its membership.

    ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B|, where B is the representative. ``held_by`` is
    "representative" for the representative itself, "resemblance" at or above the threshold, "decision" if only a
    decision keeps the document in the group. ``copy``, ``difference`` and ``not_compared`` are the likeness to the
    representative.
    """

    id: str
    shared: int
    size: int
    of_size: int
    held_by: Held
    copy: CopyClass | None = None
    difference: str | None = None
    not_compared: tuple[str, ...] | None = None
    resemblance: float = field(init=False)
    """|A∩B| / |A∪B| with the representative."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "resemblance", resemblance(self.shared, self.size, self.of_size))


@dataclass(frozen=True, repr=False)
class StoredGroup(PlainData):
    """A group: its permanent id, its representative, its threshold and its number of members.

    ``members`` holds at most the first 1,000, in the order in which they were first added; ``Collection.members``
    returns the others.
    """

    id: int
    representative: str
    threshold: float
    size: int
    members: tuple[StoredMember, ...]

    def __repr__(self) -> str:
        return f"StoredGroup({self.id}, {self.size:,} documents, represented by {self.representative[:60]!r})"

    def _repr_html_(self) -> str:
        rows = [(name_of(member.id), similarity(member.resemblance), member.held_by) for member in self.members]
        return list_html(("document", "resemblance", "held by"), rows, frozenset((1,)), f"Group {self.id}")


@dataclass(frozen=True, repr=False)
class GroupPage(PlainData):
    """Some groups by ascending id, and the ``after`` of the next page; None on the last page."""

    groups: tuple[StoredGroup, ...]
    next: int | None

    def __repr__(self) -> str:
        return f"GroupPage({counted(len(self.groups), 'group')}, next={self.next})"

    def _repr_html_(self) -> str:
        rows = [(str(group.id), name_of(group.representative), f"{group.size:,}") for group in self.groups]
        return list_html(("group", "representative", "documents"), rows, frozenset((0, 2)), "Groups")


@dataclass(frozen=True)
class PairDecision(PlainData):
    """A decision about two documents, with its reviewer and time (UTC)."""

    number: int
    a: str
    b: str
    verdict: Verdict
    by: str
    note: str
    at: str


@dataclass(frozen=True)
class Change(PlainData):
    """A line of the change log. ``number`` defines the order; ``at`` is the time of the clock (UTC).

    ``what`` happened: a group was "made" or "ended"; the ``document`` "joined", "left", now "leads" the group, or
    has "changed" and stays; the group has another "threshold"; a pair was "decided", its decision was "withdrawn",
    or the decision "stays" although the document was replaced. ``group`` is None if no group changed.

    ``why``: "added" and near ``of``, "repeated" by ``of``, "replaced" or "removed" (the document, or ``of``),
    "decided", "withdrawn" or "regrouped". ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B|, counted
    with ``of`` for "added" and "repeated", otherwise with the representative; None if nothing was counted.

    ``action`` is the number of the action of a person that a decision belongs to, ``undoes`` the action that this
    one undoes; ``by`` is the person of the action, also where it restores the decision of another one.
    """

    number: int
    at: str
    what: str
    group: int | None
    document: str
    why: str
    of: str | None = None
    shared: int | None = None
    size: int | None = None
    of_size: int | None = None
    verdict: Verdict | None = None
    by: str = ""
    note: str = ""
    action: int | None = None
    undoes: int | None = None
    threshold: float | None = None
    """The new threshold of the group."""

    cause: str = field(init=False)
    """The cause in words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cause", self._cause())

    def _cause(self) -> str:
        resembles = ""
        if self.shared is not None and self.size is not None and self.of_size is not None:
            resembles = f", {similarity(resemblance(self.shared, self.size, self.of_size), 4)}"
        if self.why in ("added", "repeated"):
            return f"{self.why}: near {self.of}{resembles}"
        if self.why in ("replaced", "removed"):
            return f"{self.of or self.document} was {self.why}"
        if self.why == "regrouped":
            return "regrouped" if self.threshold is None else f"regrouped: the threshold is {self.threshold:g}"
        by = f" by {self.by}" if self.by else ""
        if self.why == "withdrawn":
            return f"a decision was withdrawn{by}"
        return f"decided{by}: {self.verdict}"


ABOUT = frozenset(field.name for field in fields(Change)) - {"number", "at", "what", "group", "cause"}
"""The fields of a line of the log besides its columns."""


def resemblance(shared: int, size: int, other: int) -> float:
    """|A∩B| / |A∪B|; 0 for two documents without words."""
    whole = size + other - shared
    return shared / whole if whole else 0.0


Action: TypeAlias = Literal["kept", "linked", "rejected"]


_LISTED_PROBLEMS = 1000


@dataclass(frozen=True)
class NearCopy(WithLikeness):
    """A new document and the most similar stored document ``of`` that it repeats; counted on the texts.

    ``shared``, ``size`` and ``of_size`` are |A∩B|, |A| and |B| in shingles. ``action`` is "kept" (stored, but in
    no group), "linked" (stored, in ``group``) or "rejected" (not stored). ``copy``, ``difference`` and
    ``not_compared`` are the likeness to ``of``.
    """

    id: str
    of: str
    shared: int
    size: int
    of_size: int
    action: Action
    group: int | None = None
    copy: CopyClass | None = None
    difference: str | None = None
    not_compared: tuple[str, ...] | None = None
    resemblance: float = field(init=False)
    """|A∩B| / |A∪B|."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "resemblance", resemblance(self.shared, self.size, self.of_size))


@dataclass(frozen=True)
class GroupedPending(PlainData):
    """The result of grouping documents that were in no group.

    ``compared`` documents, ``repeats`` of them near another one, and ``linked`` of these put into a group;
    ``recall`` is promised. ``near`` lists the first 1,000. ``next`` is the ``after`` of the next call, or None.
    ``regrouped`` groups were brought to the threshold first.
    """

    compared: int
    repeats: int
    linked: int
    recall: float
    near: tuple[NearCopy, ...]
    next: int | None
    regrouped: int = 0


@dataclass
class Added(PlainData):
    """The result of one call: counts, the rejected rows, and notes about guesses.

    ``unchanged`` documents were in the collection already, with the same text and metadata.
    ``problems`` and ``near`` keep the first 1,000 items. ``rejected`` counts all rows that could not be read and
    ``repeats`` all documents that repeat a stored one; ``linked`` of them joined a group, ``left_out`` were not
    stored. ``recall`` is the promised recall of finding them; None without ``near``. ``base_only`` counts the
    documents compared of which nothing counts, because all their text is boilerplate: they repeat nothing.
    """

    added: int = 0
    replaced: int = 0
    skipped: int = 0
    unchanged: int = 0
    rejected: int = 0
    text_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    repeats: int = 0
    linked: int = 0
    left_out: int = 0
    recall: float | None = None
    near: list[NearCopy] = field(default_factory=list)
    base_only: int = 0

    def reject(self, problem: Problem) -> None:
        """Count a row that is not added, and keep it if it is among the first."""
        self.rejected += 1
        if len(self.problems) < _LISTED_PROBLEMS:
            self.problems.append(problem)


def count_into(added: Added, part: Any) -> None:
    """Add the counts and lists of a record with some of its fields; the recall is that of the first one."""
    for each in fields(part):
        if each.name != "recall":
            setattr(added, each.name, getattr(added, each.name) + getattr(part, each.name))
    added.recall = part.recall if added.recall is None else added.recall
