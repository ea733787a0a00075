"""The records that the desk of a review gives to the pages and takes from them.

Documents and groups have whole numbers (``Key``), so that no id and no text is in an address. In a result the key
of a document is its row in ``ranks.parquet``, and that of a group the one of its representative. In a collection
they are the internal number of the document and the permanent id of the group.

``waits`` says whether a pair waits for the second verdict of the reader, who does not see the first one.
"""

from dataclasses import dataclass
from math import isnan
from typing import Literal, TypeAlias

from neardup.comparison.compare import Comparison
from neardup.io.decisions import Action, Fate, Id, JudgedPair, SecondLook, Verdict
from neardup.review.alike import NOTHING_COUNTED, AlikeCounts, AlikeLine, AlikePlace
from neardup.text.intervals import Share

Key: TypeAlias = int

Order = Literal["undecided", "stake", "size", "similarity", "place"]
"""The order of a list of groups: undecided ones first (then by text at stake), most text at stake, largest, least
similar, as in the result."""

Queue = Literal["undecided", "threshold", "missed", "tags", "outside", "conflicts"]
"""Lists of pairs to decide: without a verdict, closest to the threshold, missed by the audit, tagged differently
inside one group, pairs of different groups, pairs whose two verdicts differ."""

ORDERS: tuple[Order, ...] = ("undecided", "stake", "size", "similarity", "place")
QUEUES: tuple[Queue, ...] = ("undecided", "threshold", "missed", "tags", "outside", "conflicts")


@dataclass(frozen=True)
class Reviewed:
    """The thing that is reviewed. ``facts`` are labels and sentences for people, in the order of reading."""

    title: str
    measure: str
    threshold: float
    exact: bool
    """Whether similarities are counted, not estimated."""
    groups: int
    documents: int
    facts: tuple[tuple[str, str], ...] = ()
    fields: tuple[str, ...] = ()
    """The names that a filter may use."""
    texts: bool = True
    """Whether texts can be read, so that pairs can be shown and words searched for."""
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ("duplicate", "keep both", "not alike", "unsure")
    """The verdicts that it stores."""
    marks: bool = True
    """Whether it stores chosen representatives and fates of documents, and decides all pairs of a kind."""
    exports: tuple[str, ...] = ("groups", "decisions", "tags")
    forms: tuple[str, ...] = ("xlsx", "csv", "jsonl", "parquet", "dat")
    """The formats of exports."""
    older: str = ""
    """The report beside the result that is older than the decisions, in a sentence; "" without one."""
    ungrouped: str = ""
    """If there is no group: why, and the command to type then."""


@dataclass(frozen=True)
class ReviewProgress:
    """The pairs of members with their representatives that are decided, and the groups without another pair."""

    decided: int
    pairs: int
    groups_done: int
    groups: int
    documents: int
    """The members of all groups."""
    conflicts: int
    """The pairs with two verdicts that differ, unless one came later that resolves it."""
    waiting: int = 0
    """The pairs that wait for the second verdict of the reader."""

    @property
    def undecided(self) -> int:
        """The pairs without a verdict."""
        return self.pairs - self.decided


@dataclass(frozen=True)
class BatchLine:
    """The groups that are handed to a person, "" for those handed to nobody, with their pairs.

    ``clause`` finds them in a filter; ``next`` is the first pair without a verdict, by text at stake.
    """

    person: str
    clause: str
    groups: int
    pairs: int
    decided: int
    next: tuple[Key, Key] | None


@dataclass(frozen=True)
class HandOut:
    """The groups that ``filter`` finds, handed to ``people`` by the reviewer ``by``.

    Each person has a share of the pairs, in numbers of any scale; without people the groups are taken back.
    ``each`` limits the groups of one person, which are the first ones in ``order``. Groups without an undecided
    pair are left out, and unless ``again``, those in a batch.
    """

    filter: str
    order: Order
    people: tuple[tuple[str, float], ...]
    each: int | None
    again: bool
    by: str
    seen: int


@dataclass(frozen=True)
class DrawSeconds:
    """``percent`` of the decided pairs, drawn by ``seed``, handed to ``people`` for a second verdict by ``by``.

    ``filter`` limits them to pairs of members with their representatives that it finds.
    """

    people: tuple[str, ...]
    percent: int
    seed: int
    by: str
    seen: int
    filter: str = ""


@dataclass(frozen=True)
class ConflictLine:
    """A pair with two verdicts, each with its reviewer and note; ``counts`` is the verdict that holds now."""

    a: Key
    b: Key
    ids: tuple[Id, Id]
    first: JudgedPair
    second: SecondLook
    counts: JudgedPair | None
    resolved: bool
    """Whether another verdict came later, or the first one was withdrawn."""
    conflicts: bool


@dataclass(frozen=True)
class Agreement:
    """How far the second verdicts of ``second`` agree with the first ones of ``first``; both "" for all people.

    ``alike`` of the ``judged`` pairs have two equal verdicts; ``share`` is this share with its interval (Wilson),
    and ``kappa`` Cohen's: None if it is undefined, since all these verdicts are one and the same.
    """

    first: str
    second: str
    judged: int
    alike: int
    share: Share
    kappa: float | None


@dataclass(frozen=True)
class SecondReviews:
    """The second review: pairs that wait, by person and with the next one, and how far two verdicts agree.

    ``agreement`` is of all pairs with two verdicts, None without any; ``by_people`` has a part for each first and
    second reviewer, the most pairs first. ``draws`` are the actions that drew the samples, the latest first, and
    ``drawn_from`` counts the decided pairs without a second look.
    """

    waiting: tuple[tuple[str, int, tuple[Key, Key]], ...]
    agreement: Agreement | None
    by_people: tuple[Agreement, ...]
    conflicts: tuple[ConflictLine, ...]
    draws: tuple[Action, ...]
    drawn_from: int


@dataclass(frozen=True)
class SittingLine:
    """Pairs with a verdict, and the documents and groups that they are of; ``words`` name the verdict."""

    words: str
    pairs: int
    documents: int
    groups: int


@dataclass(frozen=True)
class Sitting:
    """The work of a person without a longer pause, as far as it holds: from ``begin`` to ``end``, in ``seconds``.

    ``others`` count second verdicts, conflicts made, tags, notes, fates, representatives and undone actions, by
    their names.
    """

    by: str
    begin: str
    end: str
    seconds: float
    lines: tuple[SittingLine, ...]
    total: SittingLine
    others: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Question:
    """A page of a list: the filter as typed, the order, the place after which it begins, its length."""

    filter: str = ""
    order: Order = "undecided"
    after: str = ""
    limit: int = 50


def known_number(value: float) -> float | None:
    """Return a number of a table of figures, where NaN stands for unknown, as a line has it."""
    return None if isnan(value) else float(value)


@dataclass(frozen=True)
class GroupLine:
    """A line of the list of groups. ``differs`` names the differences between the members."""

    key: Key
    id: Id
    words: str
    """The first words of the representative; "" if its text cannot be read."""
    size: int
    exact_copies: int
    lowest: float | None
    highest: float | None
    differs: str
    stake: int
    """Bytes of text that are in no document of the group that stays."""
    decided: int
    pairs: int
    """Members besides the representative and exact copies; ``decided`` of them have a verdict."""
    title: str = ""
    """What the names of its members share, without their folder; "" if that is too little for a title."""
    folder: str = ""
    """The folder of all members; "" if they have none in common."""
    removed: int | None = 0
    """Members that go when the decisions are carried out; of a run that removes nothing, as if so. None: hidden"""
    kinds: tuple[str, ...] = ()
    """The kinds of difference of its pairs, the most frequent first; () until all are known."""
    places: str = ""
    """The differences of the members compared by now and the number of their places; before the first one
    ``NOT_YET``, or "" where none waits."""


@dataclass(frozen=True)
class FacetValue:
    """A value in words, the clause of a filter that finds it, and the number of listed groups that have it."""

    words: str
    clause: str
    groups: int


@dataclass(frozen=True)
class Facet:
    """A way to divide the listed groups: its name and its values."""

    name: str
    values: tuple[FacetValue, ...]


@dataclass(frozen=True)
class GroupList:
    """Some groups; ``next`` is the ``after`` of the next page, "" on the last one.

    ``meaning`` is the canonical form of the filter. ``notes`` say why it may not find all groups. ``facets``
    divide all groups of the list, not those of the page.
    """

    lines: tuple[GroupLine, ...]
    found: int
    next: str
    meaning: str = ""
    notes: tuple[str, ...] = ()
    partial: bool = False
    """Whether the filter waits for texts that are being read, so that more groups may follow."""
    pending: bool = False
    """Whether the same question will have a more complete answer soon."""
    facets: tuple[Facet, ...] = ()


@dataclass(frozen=True)
class MemberItem:
    """A member in the pane beside a pair: its name without the common folder, and its date or "".

    ``step`` is its similarity to the member before it, as in ``MemberLine``.
    """

    key: Key
    name: str
    date: str
    step: float | None
    representative: bool
    verdict: Verdict | None
    waits: bool = False


@dataclass(frozen=True)
class Panes:
    """The panes beside a group or a pair: groups around the one that is shown, and its members.

    ``groups`` are some of ``found``, in the order of the list, decided or not. ``head`` is the representative.
    """

    group: Key
    head: Key
    groups: tuple[GroupLine, ...]
    found: int
    members: tuple[MemberItem, ...]
    folder: str
    """The folder of all members."""


@dataclass(frozen=True)
class DocumentFind:
    """A document with its group, and the pair with the representative; ``pair`` is None for that one itself."""

    id: Id
    group: Key
    pair: tuple[Key, Key] | None


@dataclass(frozen=True)
class Finds:
    """The first groups and documents that have the words; ``count`` and ``of_groups`` are the numbers of all.

    ``waiting`` is the number of groups whose subjects are not read yet.
    """

    groups: tuple[GroupLine, ...]
    documents: tuple[DocumentFind, ...]
    count: int
    of_groups: int
    waiting: int = 0


@dataclass(frozen=True)
class MemberLine:
    """A member of a group, seen from its representative."""

    key: Key
    id: Id
    words: str
    size: int
    """Bytes of its text."""
    representative: bool
    exact_copy: bool
    similarity: float | None
    containment: float | None
    """The share of it that is in the representative."""
    contained: float | None
    """The share of the representative that is in it."""
    kind: str
    """The kind of difference, in words; "" if unknown."""
    kept: bool
    reason: str
    lost: str
    """The text lost with it, in a few words; "" if it stays."""
    where: str
    metadata: tuple[tuple[str, str], ...] = ()
    verdict: Verdict | None = None
    fate: Fate | None = None
    tags: tuple[str, ...] = ()
    note: str = ""
    date: str = ""
    """Its day or date; "" if it has none."""
    step: float | None = None
    """Its similarity to the member before it; None for the first, for exact copies, and if it is unknown."""
    written: bool = True
    """Whether the run has written its rows by this fate; otherwise the rows follow."""
    waits: bool = False
    hidden: bool = False
    """Whether its fate is hidden, since a pair of its group waits so."""

    @property
    def outcome(self) -> str:
        """The fate in words; "" if it is hidden from the reader."""
        if self.hidden:
            return ""
        if self.written:
            return "kept" if self.kept else "removed"
        return "to keep" if self.kept else "to remove"


@dataclass(frozen=True)
class OutsideLine:
    """A document just outside the group, with the member that it resembles."""

    key: Key
    id: Id
    words: str
    similarity: float
    member: Key
    member_id: Id
    group: Key | None


@dataclass(frozen=True)
class GroupView:
    """A group as a page shows it. ``table`` holds the similarities of all members, if they are at most 30."""

    key: Key
    id: Id
    members: tuple[MemberLine, ...]
    outside: tuple[OutsideLine, ...]
    table: tuple[tuple[float | None, ...], ...]
    weakest: str
    """The weakest link of the group, in a sentence."""
    before: Key | None
    """The group before it in the list the reader came from."""
    after: Key | None
    seen: int
    """The number of the last action. A change is refused if a later action concerns the same documents."""
    size: int = 0
    """The members of the group, of which ``members`` may hold only the first ones; 0 if it holds all."""
    notes: tuple[str, ...] = ()
    pending: bool = False
    """Whether some words or similarities are still being read."""
    order: str = "by similarity"
    """Where the order of the members comes from, in words."""
    alike: tuple[AlikeLine, ...] = ()
    """The members to judge, those that differ in the same places together; of a filter, those that fit it."""
    counts: AlikeCounts = NOTHING_COUNTED
    """The members that are compared, whatever the filter."""
    to_judge: int = 0
    """The members to judge; those that are not compared are still to come, or beyond the first 1,000."""


@dataclass(frozen=True)
class PairView:
    """Two documents side by side."""

    a: MemberLine
    b: MemberLine
    group: Key | None
    comparison: Comparison
    verdict: Verdict | None
    note: str
    before: tuple[Key, Key] | None
    after: tuple[Key, Key] | None
    place: str
    """Its place in the list the reader came from: "pair 3 of 12"."""
    seen: int
    alike: AlikePlace | None = None
    """None unless one of them is the representative of the other one."""
    waits: bool = False
    two: ConflictLine | None = None
    """Its first and second verdict; None without a second one."""


@dataclass(frozen=True)
class Quoting:
    """A document that has a passage, too. ``key`` is None for one that the review does not show."""

    key: Key | None
    id: Id
    date: str
    order: Literal["earlier", "later", ""]
    """Its date, compared with that of the document asked about; "" if it is unknown or the same."""


@dataclass(frozen=True)
class Quoted:
    """A passage of a document with those that have it, too; ``text`` are its first 240 characters."""

    tokens: int
    text: str
    others: tuple[Quoting, ...]


@dataclass(frozen=True)
class QuotesView:
    """The passages of a document that others have, in the order of its text.

    ``shared`` of its ``tokens`` are in them. ``compared`` documents were compared, as ``note`` says.
    """

    passages: tuple[Quoted, ...]
    shared: int
    tokens: int
    compared: int
    note: str


@dataclass(frozen=True)
class PairLine:
    """A pair in a queue."""

    a: Key
    b: Key
    a_id: Id
    b_id: Id
    words: tuple[str, str]
    similarity: float | None
    kind: str
    verdict: Verdict | None
    why: str
    """Why it is in the queue, in a few words."""
    note: str = ""
    waits: bool = False


@dataclass(frozen=True)
class PairList:
    """Some pairs; ``next`` is the ``after`` of the next page, "" on the last one."""

    lines: tuple[PairLine, ...]
    found: int
    next: str
    pending: bool = False
    """Whether some words or differences are still being read."""


@dataclass(frozen=True)
class ThresholdLine:
    """The effect of a stricter threshold, from the stored pairs."""

    threshold: float
    groups: int
    documents: int
    removed: int


@dataclass(frozen=True)
class ThresholdView:
    """The histogram of similarities, and the effect of each threshold; ``edges`` has one value more."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    lines: tuple[ThresholdLine, ...]
    labelled: int
    """Drawn pairs with a verdict other than unsure; ``alike`` of them are duplicates or keep both."""
    alike: int
    precision: tuple[float, float, float] | None
    """The share that is alike, and its 95 % interval (Wilson); None before the first label."""
    around: tuple[PairLine, ...]
    """Ten pairs around the line to label, drawn evenly from those in ``range``; then others between them."""
    notes: tuple[str, ...] = ()
    """Why some lines are still missing, if they are."""
    range: tuple[float, float] | None = None
    """The lowest and the highest similarity of the pairs nearest to the line; None if nothing is drawn."""
    among: int = 0
    """The number of these pairs."""
    pending: bool = False
    """Whether some lines or words are still missing."""


Asked = Literal["pair", "group", "above", "members", "kind"]
"""Whom a decision concerns: one pair; all members of the group; those above a similarity; some; all of a kind."""


@dataclass(frozen=True)
class Decide:
    """A decision of the reviewer ``by``. ``seen`` is the number of the last action that the reviewer saw."""

    asked: Asked
    verdict: Verdict | None
    by: str
    seen: int
    group: Key | None = None
    pair: tuple[Key, Key] | None = None
    above: float | None = None
    kind: str = ""
    filter: str = ""
    """With ``kind``: only the groups that this filter finds. Otherwise the list in which to find the next pair."""
    note: str = ""
    queue: Queue | None = None
    """The queue the reviewer works through, in which to find the next pair."""
    members: tuple[Key, ...] = ()
    """The members that are judged with their representative."""
    only_note: bool = False
    """Store the note alone: pairs keep their verdicts, and those without one stay undecided."""


@dataclass(frozen=True)
class KindCounts:
    """The kinds of difference that pairs have, as name, undecided pairs and all pairs."""

    kinds: tuple[tuple[str, int, int], ...]
    notes: tuple[str, ...] = ()
    pending: bool = False
    """Whether kinds are still being determined, so that counts may grow."""


@dataclass(frozen=True)
class KindSample:
    """The pairs that a decision for a kind would concern: their number, and up to twenty of them."""

    kind: str
    pairs: int
    sample: tuple[PairLine, ...]
    notes: tuple[str, ...] = ()
    pending: bool = False
    """Whether kinds are still being determined; then more pairs may follow, and a decision is refused."""


@dataclass(frozen=True)
class Acted:
    """An action that was stored. ``next`` is the pair to look at now; None if none is left in the list."""

    action: Action
    next: tuple[Key, Key] | None = None
