"""The decisions of a review, applied to the rows of a run: which apply, their consequences, and the reasons."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.group.decisions import Decisions, Heads
from neardup.deduplication.group.loss import Standing, with_lost
from neardup.deduplication.group.placement import Alike, Constraints, Verdicts, place, stays_after
from neardup.deduplication.group.rows import CopyClasses, JudgedRows
from neardup.deduplication.join.pairs import Pairs
from neardup.deduplication.join.shingle_store import ShingleStore
from neardup.deduplication.run.account import DecisionAccount, DecisionsAccount, Tagged, UnappliedDecision
from neardup.deduplication.run.sides import readings
from neardup.deduplication.run.texts import MOST_DIGITS
from neardup.display import counted, printable, similarity
from neardup.io.decisions import DecisionState, Id, sort_key
from neardup.tables import Bools, Int64s

LISTED = 1000
"""Number of decisions, and of documents with tags, that ``run.json`` lists."""

_BLOCK = 1 << 20
"""Ids that are looked up at once."""

Sort = Literal["duplicate", "keep both", "not alike", "unsure", "keep", "remove", "represents"]

_FIRST_NAMED = {"keep": 0, "remove": 0, "keep both": 1, "duplicate": 2, "represents": 3, "not alike": 4}
"""The decision that settles a document is named: a fate before a verdict."""


@dataclass(frozen=True, eq=False)
class ReviewedResult:
    """The decisions about a result, and the sizes of the texts that were reviewed, by id.

    ``name`` is the folder of the result.
    """

    name: str
    state: DecisionState
    sizes: Mapping[Id, int]


def sizes_of(ranks: pa.Table) -> dict[Id, int]:
    """Return the sizes of the texts in a table of ranks by id, without those of a reference set."""
    new = ranks.filter(pc.invert(ranks["reference"]))
    return dict(zip(new["id"].to_pylist(), new["bytes"].to_pylist(), strict=True))


@dataclass(frozen=True)
class Item:
    """A decision: its documents, by whom and when, and the number of its action.

    ``sort`` is a verdict, a fate, or another decision as exports name it.
    """

    sort: str
    ids: tuple[Id, ...]
    by: str
    at: str
    action: int

    def account(self) -> DecisionAccount:
        """Return the decision for ``run.json``."""
        return DecisionAccount(self.sort, list(self.ids), self.by, self.at, self.action)

    def sentence(self) -> str:
        """Name the decision and its documents in a few words."""
        return f"{self.sort} of {' and '.join(map(printable, self.ids))} by {printable(self.by)}"


def items_of(state: DecisionState) -> list[Item]:
    """All decisions of a state but tags, the latest first; those of one action in the order of their ids."""
    items = [
        *(Item(one.verdict, pair, one.by, one.at, one.action) for pair, one in state.judgements.items()),
        *(Item(fate.fate, (id,), fate.by, fate.at, fate.action) for id, fate in state.fates.items()),
        *(Item("represents", (group, one.id), one.by, one.at, one.action) for group, one in state.choices.items()),
    ]
    return sorted(items, key=lambda item: (-item.action, item.sort, [sort_key(id) for id in item.ids]))


@dataclass(frozen=True, eq=False)
class Applied:
    """The decisions that apply to the rows of a run, as rows; ``reasons`` says why the others do not.

    ``rows_of`` has the rows of each decision in ``items``; both are the latest first.
    """

    given: ReviewedResult
    items: list[Item]
    rows_of: list[tuple[int, ...]]
    first_new: int
    reasons: list[tuple[Item, str]]

    def place(self, heads: Heads, rank: Int64s, alike: Alike) -> "tuple[Heads, Applied]":
        """Return the representatives after the decisions, and the decisions without those that have no effect."""
        together = self._where("duplicate", "keep both")
        apart, chosen = self._where("not alike"), self._where("represents")
        as_rows = self._pairs(together), self._pairs(apart), self._pairs(chosen)
        placement = place(heads.rows, rank, Constraints(*as_rows, self.goes, self.first_new), alike)
        dropped: dict[int, str] = {}
        for index, contradicted in placement.refused.items():
            other = self.items[apart[contradicted]]
            dropped[together[index]] = f"it contradicts another decision: {other.sentence()}"
        dropped.update((chosen[index], why) for index, why in placement.unused.items())
        after = Heads(placement.heads, heads.moved | (placement.heads != heads.rows), self.goes)
        return after, self._without(dropped)

    def _without(self, dropped: Mapping[int, str]) -> "Applied":
        """The same without some decisions; ``dropped`` has their places and the reasons."""
        left = [place for place in range(len(self.items)) if place not in dropped]
        return replace(
            self,
            items=[self.items[place] for place in left],
            rows_of=[self.rows_of[place] for place in left],
            reasons=self.reasons + [(self.items[place], why) for place, why in sorted(dropped.items())],
        )

    @property
    def goes(self) -> Int64s:
        """The rows that a decision removes."""
        return self._single("remove")

    def fates(self, decisions: Decisions, rank: Int64s, *, none_stays: bool = False) -> Decisions:
        """The decisions about rows with those of the review; ``none_stays``: the policy removes whole families."""
        verdicts = Verdicts(
            self._pairs(self._where("duplicate")),
            self._pairs(self._where("keep both")).ravel(),
            self._single("keep"),
            self.goes,
        )
        rows, heads = decisions.rows, decisions.representative_row
        kept = stays_after(rows, decisions.kept, heads, rank, verdicts, none_stays=none_stays)
        return replace(decisions, kept=kept)

    def account(self) -> DecisionsAccount:
        """The account for ``run.json``."""
        unsure, tags = len(self._where("unsure")), self.given.state.tags
        followed = [item for item in self.items if item.sort != "unsure"]
        return DecisionsAccount(
            result=self.given.name,
            last_action=self.given.state.number,
            applied=len(followed),
            unsure=unsure,
            not_applicable=len(self.reasons),
            by=dict(Counter(item.by for item in followed).most_common()),
            followed=[item.account() for item in followed[:LISTED]],
            listed=[
                UnappliedDecision(item.sort, list(item.ids), item.by, item.at, item.action, why)
                for item, why in self.reasons[:LISTED]
            ],
            tagged=len(tags),
            tags=[Tagged(id, list(tags[id])) for id in islice(sorted(tags, key=sort_key), LISTED)],
        )

    def warnings(self) -> list[str]:
        """Warn about decisions without effect, and name the first."""
        if not self.reasons:
            return []
        (item, why), number = self.reasons[0], len(self.reasons)
        verb = "does" if number == 1 else "do"
        first = ":" if number == 1 else "; run.json lists them in decisions, the first is"
        return [f"{counted(number, 'decision')} {verb} not apply{first} {item.sentence()}: {why}"]

    def _where(self, *sorts: Sort) -> list[int]:
        return [place for place, item in enumerate(self.items) if item.sort in sorts]

    def _pairs(self, places: Sequence[int]) -> Int64s:
        return np.array([self.rows_of[place] for place in places], np.int64).reshape(-1, 2)

    def _single(self, sort: Sort) -> Int64s:
        return np.array([self.rows_of[place][0] for place in self._where(sort)], np.int64)


def apply_decisions(given: ReviewedResult, rows: JudgedRows, documents: CopyClasses) -> Applied:
    """Find the documents of the decisions among the rows of a run, and say which decisions do not apply."""
    items = items_of(given.state)
    places = _rows_of_ids(rows, {id for item in items for id in item.ids})
    applicable, reasons = [], []
    for item in items:
        if why := _why_not(item, places, rows, documents, given):
            reasons.append((item, why))
        else:
            applicable.append(item)
    rows_of = [tuple(places[id] for id in item.ids) for item in applicable]
    return Applied(given, applicable, rows_of, rows.first_new, reasons)


def _why_not(
    item: Item, places: Mapping[Id, int], rows: JudgedRows, documents: CopyClasses, given: ReviewedResult
) -> str:
    for id in item.ids:
        if id not in places:
            return f"no document has the id {printable(id)}"
        row = places[id]
        if documents.of_row[row] < 0:
            return f"{printable(id)} has no text to compare"
        size = given.sizes.get(id)
        if size is not None and row >= rows.first_new and size != rows.bytes[row]:
            return f"the text of {printable(id)} has changed since it was reviewed"
    if all(places[id] < rows.first_new for id in item.ids):
        return f"{' and '.join(map(printable, item.ids))} belong to the reference set"
    return ""


def _rows_of_ids(rows: JudgedRows, wanted: Collection[Id]) -> dict[Id, int]:
    """The rows of documents by their names: of the new input before the reference set, unless they say which."""
    row_of: dict[Id, int] = {}
    if not rows.first_new:
        return _rows_with(rows, {id: id for id in wanted}, (0, len(rows)))
    meanings = {id: list(readings(id)) for id in wanted}
    for turn in range(max(map(len, meanings.values()), default=0)):
        for in_reference, span in ((False, (rows.first_new, len(rows))), (True, (0, rows.first_new))):
            names = {
                id: meaning[turn][1]
                for id, meaning in meanings.items()
                if id not in row_of and turn < len(meaning) and meaning[turn][0] == in_reference
            }
            row_of |= _rows_with(rows, names, span)
    return row_of


def _rows_with(rows: JudgedRows, names: Mapping[Id, Id], span: tuple[int, int]) -> dict[Id, int]:
    """The rows within a span whose ids are among the values of ``names``, by their keys."""
    row_of: dict[Id, int] = {}
    for first in range(*span, _BLOCK) if names else ():
        block = rows.ids.of(np.arange(first, min(span[1], first + _BLOCK)))
        whole = pa.types.is_integer(block.type) and bool(rows.first_new)  # names are strings where sides share ids
        plain = {name: int(id) if whole and _is_whole(id) else id for name, id in names.items()}
        values = _typed_ids(list(dict.fromkeys(plain.values())), block.type)
        matches = np.flatnonzero(pc.is_in(block, value_set=values).to_numpy(zero_copy_only=False))
        row = dict(zip(block.take(pa.array(matches)).to_pylist(), (matches + first).tolist(), strict=True))
        row_of |= {name: row[id] for name, id in plain.items() if id in row and type(id) is not bool}
    return row_of


def _is_whole(id: Id) -> bool:
    return str(id).removeprefix("-").isdecimal() and len(str(id)) <= MOST_DIGITS


def _typed_ids(ids: Collection[Id], kind: pa.DataType) -> pa.Array:
    """The ids that a column of this type may hold."""
    if not pa.types.is_integer(kind):
        return pa.array([id for id in ids if isinstance(id, str)], kind)
    bits = kind.bit_width
    signed = pa.types.is_signed_integer(kind)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    return pa.array([id for id in ids if isinstance(id, int) and low <= id < high], kind)


def alike_by(pairs: Pairs, documents: CopyClasses) -> Alike:
    """Return whether two rows are copies or one of the ``pairs`` (VERIFIED)."""

    def alike(one: int, other: int) -> bool:
        a, b = sorted((int(documents.of_row[one]), int(documents.of_row[other])))
        return a == b or bool(pairs.has(np.array([(a << 32) | b]))[0])

    return alike


def leaders_at(heads: Int64s, documents: CopyClasses) -> Int64s:
    """int64[documents]: the document that leads each document, by the representatives of rows.

    Exact copies may be in different groups; their document is in the group of the best of them, unless it leads.
    """
    leader = documents.of_row[heads[documents.best_row]]
    leading = documents.of_row[np.unique(heads)]
    leader[leading[leading >= 0]] = leading[leading >= 0]
    return leader


def settle_review(
    applied: Applied,
    decisions: Decisions,
    documents: CopyClasses,
    before: Standing,
    rank: Int64s,
    store: ShingleStore | None,
) -> tuple[Decisions, Standing]:
    """The decisions about rows where those of the review have the last word, with the text that is lost then."""
    final = applied.fates(decisions, rank)
    if np.array_equal(final.kept, decisions.kept) and not _without_head(final).any():
        return decisions, before
    after = before.at(final, documents)
    lost, after = with_lost(final, documents, after, 1.0, store)
    spared = None if decisions.lost is None else decisions.lost.spared & final.kept
    if lost.lost is None or spared is None:
        return lost, after
    return replace(lost, lost=replace(lost.lost, spared=spared)), after


def _without_head(decisions: Decisions) -> Bools:
    """Which representatives go, by a decision."""
    gone: Bools = decisions.is_representative & ~decisions.kept
    return gone


def with_decided(groups: pa.Table, applied: Applied, decisions: Decisions, measure: str) -> pa.Table:
    """Return the table of groups with the decisions of people in its reasons.

    ``decisions`` are those about its rows; ``measure`` is its name in the reasons.
    """
    of_row, rows, placed = _by_row(applied), decisions.rows.tolist(), decisions.placed.tolist()
    members = groups.select(["id", "group", "representative", "similarity", "kept", "reason", "size"]).to_pylist()
    reasons = []
    for member, row, moved in zip(members, rows, placed, strict=True):
        named = [one for one in of_row.get(row, []) if _settles(one[0], member, moved)]
        if not named and not (moved and not member["representative"]):
            reasons.append(member["reason"])
            continue
        named.sort(key=lambda one: (_FIRST_NAMED[one[0].sort], -one[0].action))
        sentence = _sentence(*named[0]) if named else "placed by decisions on others in the group"
        known = not named and member["similarity"] is not None  # then the reason may say more
        reasons.append(f"{member['reason'] if known else _place_of(member, measure)}; {sentence}")
    position = groups.schema.get_field_index("reason")
    return groups.set_column(position, "reason", pa.array(reasons, pa.string()))


def _by_row(applied: Applied) -> dict[int, list[tuple[Item, object]]]:
    """The decisions about each row, with the id of the other document; "" for decisions about one."""
    items: dict[int, list[tuple[Item, object]]] = {}
    for item, rows in zip(applied.items, applied.rows_of, strict=True):
        if item.sort == "unsure":
            continue
        if item.sort == "represents":
            items.setdefault(rows[1], []).append((item, item.ids[0]))
            continue
        others = reversed(item.ids) if len(item.ids) == 2 else ("",)
        for row, other in zip(rows, others, strict=True):
            items.setdefault(row, []).append((item, other))
    return items


def _settles(item: Item, member: dict[str, object], moved: bool) -> bool:
    """Whether a decision explains the place or the fate of a document."""
    match item.sort:
        case "keep" | "remove" | "represents":
            return True
        case "keep both":
            return bool(member["kept"]) and (moved or not member["representative"])
        case "duplicate":
            return not member["kept"] or moved
    return moved


def _place_of(member: dict[str, object], measure: str) -> str:
    """The place of a document in its group."""
    size, group, value = member["size"], member["group"], member["similarity"]
    assert isinstance(size, int)
    if member["representative"]:
        return f"represents {counted(size - 1, 'other document')}" if size > 1 else "in no group"
    if not isinstance(value, float):
        return f"in the group of {group}"
    exact = str(member["reason"]).startswith("exact copy of") and value == 1
    return f"exact copy of {group}" if exact else f"in the group of {group}: {measure} {similarity(value)}"


def _sentence(item: Item, other: object) -> str:
    decision: str
    match item.sort:
        case "keep" | "remove":
            decision = item.sort
        case "represents":
            decision = f"represents the group of {other}"
        case "duplicate":
            decision = f"duplicate of {other}"
        case _:
            decision = f"{item.sort}: {other}"
    return f"decided by {item.by}: {decision}"
