"""The fates of documents after the decisions of people: those that ``neardup apply`` would carry out.

A decision changes its own group and those that other decisions connect with it, so only these are settled again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from neardup.io.decisions.records import DecisionState, Id
from neardup.review.desk.collection import COLLECTION
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.verdicts import VerdictIndex
from neardup.run.records import ResultRecord
from neardup.run.review_decisions import ReviewedResult, sizes_of
from neardup.run.stored_review import after_review
from neardup.tables import Bools, Int64s

Row: TypeAlias = dict[str, Any] | None
"""A row of the table of groups; None for a document that is in no group."""

APART = "it is in no group after the decisions"
ALONE = "it is in no group"


class Fates:
    """The row of each document in the table of groups, as the decisions leave it. Threads may ask at once."""

    def __init__(self, index: ResultIndex, made: VerdictIndex) -> None:
        self._index, self._made = index, made
        self._lock = threading.Lock()
        self._settled: dict[int, Row] = {}
        self._state: DecisionState | None = None
        self._decided: Bools = np.zeros(len(index.documents), np.bool_)
        self._links: list[tuple[int, int]] = []
        self._judged: dict[int, list[tuple[Id, Id]]] = {}

    def of(self, document: int) -> tuple[Row, str]:
        """Return the row of a document, and the reason for its fate."""
        with self._lock:
            row = self._row(document)
        if row is not None:
            return row, str(row["reason"])
        return None, ALONE if self._index.member_of[document] < 0 else APART

    def _row(self, document: int) -> Row:
        state = self._made.state
        if state is not self._state:
            self._begin(state)
        if not state.number or self._index.found.run["action"] == COLLECTION:
            return self._stored(document)
        if document not in self._settled:
            together = self._together(document)
            if self._decided[together].any() or self._index.found.run["action"] == "group":
                self._settle(together)
            else:
                self._settled[document] = self._stored(document)
        return self._settled[document]

    def _stored(self, document: int) -> Row:
        place = int(self._index.member_of[document])
        return self._index.table.slice(place, 1).to_pylist()[0] if place >= 0 else None

    def _begin(self, state: DecisionState) -> None:
        """Forget the rows that followed from other decisions, and find the documents of these."""
        self._state, self._settled = state, {}
        self._decided[:] = False
        self._judged, self._links = {}, []
        chosen = ((group, choice.id) for group, choice in state.choices.items())
        for pair in (*state.judgements, *chosen):
            a, b = self._numbers(pair)
            if a >= 0 and b >= 0:
                self._links.append((a, b))
                if pair in state.judgements:
                    self._judged.setdefault(a, []).append(pair)
        alone = [number for (number,) in (self._numbers((id,)) for id in state.fates) if number >= 0]
        self._decided[np.array([*alone, *(end for link in self._links for end in link)], np.int64)] = True

    def _numbers(self, ids: Iterable[Id]) -> tuple[int, ...]:
        return tuple(-1 if number is None else number for number in map(self._index.documents.number, ids))

    def _together(self, document: int) -> Int64s:
        """Return the documents (ascending) whose fates may depend on each other: groups, copies, and decisions."""
        index, first = self._index, self._index.documents.first
        inside = np.zeros(len(first), np.bool_)
        inside[document] = True
        links = np.array(self._links, np.int64).reshape(-1, 2)
        count, before = 1, 0
        while count > before:
            groups = np.zeros(len(index), np.bool_)
            groups[index.group_of[inside & (index.group_of >= 0)]] = True
            inside[index.members[groups[index.group]]] = True
            texts = np.zeros(len(first), np.bool_)
            texts[first[inside]] = True
            inside |= texts[first]
            inside[links[inside[links].any(axis=1)]] = True
            count, before = int(inside.sum()), count
        return np.flatnonzero(inside)

    def _settle(self, documents: Int64s) -> None:
        """Apply the decisions about some documents, and keep their rows."""
        found = self._part(documents)
        state = self._part_of_state(documents.tolist())
        groups = after_review(found, ReviewedResult("", state, sizes_of(found.ranks)))[0].groups
        leads = groups["representative"].to_numpy().astype(np.bool_)
        numbers = self._index.documents.numbers(groups["id"], self._index.old_heads(groups, leads))
        self._settled.update(dict.fromkeys(documents.tolist()))
        self._settled.update(zip(numbers.tolist(), groups.to_pylist(), strict=True))

    def _part(self, documents: Int64s) -> ResultRecord:
        """The result as if it had only these documents."""
        index, found = self._index, self._index.found
        inside = np.zeros(len(index.documents), np.bool_)
        inside[documents] = True
        pairs = np.flatnonzero(inside[index.pairs.ends[0]] & inside[index.pairs.ends[1]])
        ranks = index.documents.table.take(pa.array(documents))
        return replace(
            found,
            pairs=found.pairs.take(pa.array(pairs)),
            groups=index.table.take(pa.array(np.flatnonzero(inside[index.members]))),
            copies=found.copies.take(pa.array(np.flatnonzero(inside[self._copies]))),
            ranks=ranks,
            not_judged=found.not_judged.slice(0, 0),
        )

    @cached_property
    def _copies(self) -> Int64s:
        """The documents in the table of exact copies, which are never in the reference set."""
        return self._index.documents.numbers(self._index.found.copies["id"])

    def _part_of_state(self, documents: list[int]) -> DecisionState:
        """The decisions about some documents, in which every decision has all its documents or none."""
        state, ids = self._made.state, [self._index.documents.id(document) for document in documents]
        judged = {pair: None for document in documents for pair in self._judged.get(document, ())}
        return DecisionState(
            state.number,
            {pair: state.judgements[pair] for pair in judged},
            {id: state.fates[id] for id in ids if id in state.fates},
            {id: state.choices[id] for id in ids if id in state.choices},
            {},
        )
