"""``Desk``: the review of a result or a collection: groups, pairs, queues, and decisions as judgements."""

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from neardup.collection import Collection
from neardup.collection.queries import FieldClause, Fingerprint, WordsClause
from neardup.comparison.kinds import KINDS
from neardup.deduplication.results import load
from neardup.deduplication.reviews import Exported
from neardup.display import counted, distinct, middle_cut, printable, similarity, without_common
from neardup.errors import InputError
from neardup.io.decisions import (
    Action,
    Change,
    Fate,
    FateOf,
    Id,
    Judgement,
    PairNote,
    Represents,
    SecondVerdict,
    Tag,
    Verdict,
)
from neardup.review import source
from neardup.review.alike import EVERY_MEMBER, AlikeFilter
from neardup.review.desk import batches, views
from neardup.review.desk.facets import Facets
from neardup.review.desk.filters import GroupFields, document_filter_error, find_groups, find_pairs, kinds_named
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.lines import KindSweep, Lines
from neardup.review.desk.metadata import Metadata, Subjects
from neardup.review.desk.subjects import COLLECTION, QUOTING, CollectionSubject, ResultSubject, Subject
from neardup.review.desk.texts import LAST_WAIT, PageThread, TextReader, Whereabouts, WordIndex
from neardup.review.desk.thresholds import Thresholds, evenly_spaced
from neardup.review.desk.verdicts import VerdictIndex, reader
from neardup.runtime import SoFar
from neardup.tables import Bools, Int64s

NO_VERDICT = "verdict withdrawn"

LONGEST_NAME = 300
"""Columns of a name in the sentence of an action."""
SAMPLED, AHEAD = 20, 50
"""Pairs that are shown before a decision for a whole kind; groups whose members are compared before any page."""


@dataclass(frozen=True)
class Judgements:
    """Judgements to store as one action: pairs of documents by number, and a sentence."""

    pairs: tuple[tuple[int, int], ...]
    sentence: str

    def changes(self, lines: Lines, decision: source.Decide) -> list[Change]:
        """Return them as changes for the store."""
        id = lines.index.documents.id
        if decision.only_note:
            return [PairNote(id(a), id(b), decision.note) for a, b in self.pairs]
        return [Judgement(id(a), id(b), decision.verdict, decision.note) for a, b in self.pairs]


def judgements(lines: Lines, decision: source.Decide, listed: Bools | None = None) -> Judgements:
    """Return the judgements of a decision; ``listed`` are the groups that its filter finds.

    Raises InputError if it names nothing, or no pair.
    """
    if decision.asked == "pair":
        return _of_pair(lines, decision)
    if decision.asked == "kind":
        return _of_kind(lines, decision, listed)
    if decision.group is None:
        raise InputError("The decision names no group", "The key of a group")
    group = lines.index.at(decision.group)
    name = _without_folder([str(lines.index.documents.id(int(lines.index.heads[group])))])
    inside = lines.index.slice(group)
    places = inside.start + np.flatnonzero(lines.made.near[inside])
    where = f"in the group of {name}"
    if decision.asked == "above":
        if decision.above is None:
            raise InputError("The decision names no similarity", "A number from 0 to 1")
        head, least = int(lines.made.heads[group]), decision.above
        values = [lines.similarity(int(lines.index.members[place]), head) for place in places]
        places = places[np.array([value is not None and value >= least for value in values], np.bool_)]
        where += f" with similarity {similarity(least)} or above"
    if decision.asked == "members":
        chosen = [lines.index.documents.at(key) for key in decision.members]
        places = places[np.isin(lines.index.members[places], chosen)]
        where += ", chosen one by one"
    if not len(places):
        raise InputError(f"There is no near copy to judge {where}", "A group with near copies", "Judge a pair")
    sentence = f"{verdict_sentence(decision)}: {counted(len(places), 'pair')} {where}"
    return Judgements(pairs_at(lines, places), sentence)


def verdict_sentence(decision: source.Decide) -> str:
    """Return the verdict of a decision in a sentence."""
    return "note" if decision.only_note else decision.verdict or NO_VERDICT


def pairs_at(lines: Lines, places: Int64s) -> tuple[tuple[int, int], ...]:
    """Return the members at some places, each with the representative of its group."""
    members = lines.index.members[places]
    heads = lines.made.heads[lines.index.group[places]]
    return tuple(zip(members.tolist(), heads.tolist(), strict=True))


def places_of_kind(lines: Lines, kind: str, listed: Bools | None, decided: bool = False) -> Int64s:
    """Return the members with a kind of difference, without a verdict (with one, if ``decided``).

    Raises InputError for an unknown kind.
    """
    numbers = kinds_named(kind)
    if not numbers:
        raise InputError(f"{printable(kind)} is no kind of difference", ", ".join(KINDS))
    verdicts = lines.made
    wanted = np.isin(verdicts.kinds, numbers) & verdicts.near & ((verdicts.verdict >= 0) == decided)
    if listed is not None:
        wanted &= listed[lines.index.group]
    return np.flatnonzero(wanted)


def kinds_said(kind: str) -> str:
    """Return the kinds that a name means."""
    return " or ".join(KINDS[number] for number in kinds_named(kind))


def _of_pair(lines: Lines, decision: source.Decide) -> Judgements:
    if decision.pair is None:
        raise InputError("The decision names no pair", "The keys of two documents")
    a, b = (lines.index.documents.at(key) for key in decision.pair)
    if a == b:
        raise InputError("A document cannot be judged with itself", "The keys of two documents")
    group = int(lines.index.group_of[a])
    if group >= 0 and lines.made.heads[group] == a:
        a, b = b, a
    names = _without_folder(str(lines.index.documents.id(document)) for document in (a, b))
    return Judgements(((a, b),), f"{verdict_sentence(decision)}: {names}")


def _without_folder(ids: Iterable[str], between: str = " and ") -> str:
    """Return ids without their common folder, which is last; the store refuses sentences with very long names."""
    folder, names = without_common(*map(printable, ids))
    within = f" in {middle_cut(folder, LONGEST_NAME)}" if folder else ""
    return f"{between.join(distinct(names, LONGEST_NAME))}{within}"


def _of_kind(lines: Lines, decision: source.Decide, listed: Bools | None) -> Judgements:
    places = places_of_kind(
        lines, decision.kind, listed, decided=decision.verdict is None and not decision.only_note
    )
    if not len(places):
        state = "with" if decision.verdict is None else "without"
        raise InputError(f"There is no pair of this kind {state} a verdict", "A kind that pairs have")
    within = f" in the groups found by {printable(decision.filter.strip())}" if decision.filter.strip() else ""
    what = f"{counted(len(places), 'pair')} of the kind “{kinds_said(decision.kind)}”{within}"
    return Judgements(pairs_at(lines, places), f"{verdict_sentence(decision)}: {what}")


def _close(threads: list[PageThread], warming: threading.Thread) -> None:
    for thread in threads:
        thread.close()
    warming.join(LAST_WAIT)


@dataclass(frozen=True, eq=False)
class _Listed:
    """A list of groups: which are in it, the keys of its order, its canonical filter."""

    groups: Bools
    keys: Int64s
    meaning: str
    read: tuple[KindSweep | WordIndex, ...]
    """The readings of texts that the filter needs."""
    partial: bool
    """Whether texts were still being read."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the list may lack groups."""
        return tuple(note for reading in self.read if (note := reading.note()))

    def require_whole(self) -> None:
        """Raise InputError for a list that may lack groups: a decision for all of them would miss some."""
        if self.partial:
            given = f"Not all pairs of this kind are known yet: {'; '.join(self.notes)}"
            raise InputError(given, "", "Decide when they are")


class Desk:
    """The groups and pairs of a subject, with the decisions on them. Several threads may call methods.

    All raise InputError for a key that does not exist and QueryError for a filter that cannot be read. Changes
    raise ``ChangedMeanwhileError`` if another action concerned the same documents since ``seen``.

    The tables are put in order once, and again when the groups of a collection change; decisions that come later,
    also from other processes, are applied one by one. ``threaded``: a thread compares members between pages.
    """

    def __init__(self, subject: Subject, *, threaded: bool = False) -> None:
        self._subject, self._lock, self._threaded = subject, threading.RLock(), threaded
        self._threads: list[PageThread] = []
        self._read, self._partial = list[KindSweep | WordIndex](), False
        self._build()
        self._warming = threading.Thread(target=self._warm, name="warming", daemon=True)
        self._warming.start()
        self._stop = weakref.finalize(self, _close, self._threads, self._warming)  # when the program ends

    def _build(self) -> None:
        """Put the tables in order."""
        result = self._subject.found
        self._index = index = ResultIndex(result)
        self._made = VerdictIndex(index)
        self._reader = TextReader(index.documents, result.texts)
        whereabouts = Whereabouts(index.documents, result.places)
        other = self._query if result.run.action == COLLECTION else None
        metadata = Metadata(index.documents, None if other else result.texts, whereabouts)
        self._lines = Lines(index, self._made, self._reader, whereabouts, metadata, self._threaded)
        self._subjects = Subjects(index.documents, result.texts)
        self._kinds = KindSweep(self._lines)
        finding = (self._bring_kinds, self._groups_with_words, self._alike, other)
        self._fields = GroupFields(index, self._made, whereabouts, metadata, *finding)
        self._facets = Facets(index, self._made, metadata, self._fields.of_groups)
        self._words = WordIndex(index.documents, self._reader, index.members)
        self._ordered = views.Ordered(index)
        self._queues = views.Queues(self._lines, self._ordered)
        self._thresholds = Thresholds(result, self._lines)
        self._threads[:] = (self._lines.sweep, self._kinds, self._words, self._thresholds)

    @classmethod
    def open(cls, folder: str | Path, *, read_only: bool = False, threaded: bool = False) -> "Desk":
        """Open a result folder."""
        return cls(ResultSubject(load(folder), folder, read_only=read_only), threaded=threaded)

    @classmethod
    def of_collection(cls, collection: Collection, *, title: str = "", threaded: bool = False) -> "Desk":
        """Review a collection, which stays open."""
        return cls(CollectionSubject(collection, title=title), threaded=threaded)

    def close(self) -> None:
        """Close the file of decisions, and stop reading."""
        self._stop()
        self._subject.close()

    def about(self) -> source.Reviewed:
        """Return the name, the size and the settings of the subject."""
        with self._lock:
            self._refresh()
            return self._subject.about(self._fields.names, self._reader.fault())

    def progress(self) -> source.ReviewProgress:
        """Return how many pairs and groups are decided."""
        with self._lock:
            self._refresh()
            index = self._made
            return source.ReviewProgress(
                int(index.count.sum()),
                int(index.pairs.sum()),
                int((~index.open).sum()),
                len(index.pairs),
                len(index.near),
                len(index.state.conflicts),
                len(index.state.waiting.get(reader.get(), ())),
            )

    def batches(self) -> tuple[source.BatchLine, ...]:
        """Return the batches of the people, and the groups in none."""
        with self._lock:
            self._refresh()
            keys = self._ordered.keys("stake", self._made)

            def first(group: int) -> tuple[source.Key, source.Key]:
                rows = self._index.documents.rows
                return int(rows[next(self._undecided_members(group))]), int(rows[self._made.heads[group]])

            return batches.batch_lines(self._made, keys, first)

    def people(self) -> set[str]:
        """Return the names of those who have a batch or gave a verdict."""
        with self._lock:
            self._refresh()
            return {*self._made.people, *(one.by for one in self._made.state.judgements.values() if one.by)}

    def hand_out(self, order: source.HandOut) -> source.Acted:
        """Hand groups to people, or take them back."""
        with self._lock:
            question = source.Question(order.filter, order.order)
            listed = self._listed_in_time(order.filter, question)
            listed.require_whole()
            changes, what = batches.hand_out(self._index, self._made, listed.groups, listed.keys, order)
            return source.Acted(self._act(changes, order.by, what, order.seen))

    def second_reviews(self) -> source.SecondReviews:
        """Return how far the second review is, and how far the verdicts agree."""
        with self._lock:
            self._refresh()
            return batches.second_reviews(self._made.state, self._keys_of, self._subject.draws())

    def _keys_of(self, pair: tuple[Id, Id]) -> tuple[source.Key, source.Key] | None:
        """Return the keys of two ids; None if the pages do not show both."""
        a, b = map(self._index.documents.number, pair)
        return None if a is None or b is None else views.keys_of(self._lines, (a, b))

    def draw_seconds(self, draw: source.DrawSeconds) -> source.Acted:
        """Hand a sample of the decided pairs to people for a second verdict."""
        with self._lock:
            self._listed_in_time(draw.filter, source.Question()).require_whole()
            frame = batches.frame_of(self._index, self._made, find_pairs(draw.filter, self._fields))
            changes, what = batches.draw_seconds(self._made.state, draw, frame)
            return source.Acted(self._act(changes, draw.by, what, draw.seen))

    def decide_second(
        self, pair: tuple[source.Key, source.Key], verdict: Verdict, note: str, by: str, seen: int
    ) -> source.Acted:
        """Store a second verdict, beside the first one. Raises InputError for a pair that does not wait for it."""
        with self._lock:
            self._refresh()
            ids = [self._index.documents.id(self._index.documents.at(key)) for key in pair]
            if not self._made.state.waits(ids[0], ids[1], by):
                raise InputError("This pair does not wait for your second verdict", "Those of the page Batches")
            what = f"second {verdict}: {_without_folder(map(str, ids))}"
            action = self._act([SecondVerdict(ids[0], ids[1], verdict, note)], by, what, seen)
            waiting = map(self._keys_of, batches.waiting_pairs(self._made.state, by))
            return source.Acted(action, next(filter(None, waiting), None))

    def last_sitting(self, by: str) -> source.Sitting | None:
        """Return the work of a person in the last sitting; None before the first action."""
        mine = batches.last_sitting(islice(batches.all_actions(self._subject.history), batches.MOST_ACTIONS), by)
        with self._lock:
            self._refresh()
            return batches.sitting_view(self._index, self._made, mine)

    def groups(self, question: source.Question) -> source.GroupList:
        """Return a page of the list of groups; a filter waits for the texts that it needs."""
        with self._lock:
            listed = self._listed_in_time(question.filter, question)
            places = np.flatnonzero(listed.groups)
            description = f"{question.order} {listed.meaning}"
            chosen, next = views.page(listed.keys[places], question.after, question.limit, description)
            budget = self._reader.budget()
            lines = self._lines.groups(places[chosen].tolist(), budget)
            pending = listed.partial or budget.short
            facets = () if listed.partial else self._facets.of(listed.groups)
            return source.GroupList(
                lines, len(places), next, listed.meaning, listed.notes, listed.partial, pending, facets
            )

    def find(self, text: str) -> source.Finds:
        """Return documents of groups by words of their ids, and groups also by subjects: the first of each."""
        with self._lock:
            self._refresh()
            return views.finds(self._lines, text.split(), self._subjects)

    def group(
        self, key: source.Key, question: source.Question | None = None, chosen: AlikeFilter | None = None
    ) -> source.GroupView:
        """Return a group; ``question`` is the list the reader came from, lines have the ``chosen`` members."""
        with self._lock:
            self._refresh()
            group = self._index.at(key)
            question_of = question or source.Question()
            listed = self._list_groups(question_of.filter, question_of)
            around = views.neighbours(listed.keys, listed.groups, group)
            before, after = (None if other is None else self._index.key(other) for other in around)
            return views.group_view(self._lines, group, before, after, chosen or EVERY_MEMBER)

    def in_time(self, a: source.Key, b: source.Key) -> tuple[source.Key, source.Key]:
        """Return the keys of two documents, the earlier document first."""
        with self._lock:
            earlier = self._lines.is_earlier(self._index.documents.at(a), self._index.documents.at(b))
            return (a, b) if earlier else (b, a)

    def pair(self, a: source.Key, b: source.Key, queue: source.Queue | None = None, **how: Any) -> source.PairView:
        """Return two documents side by side; ``how`` are the keywords of ``compare``."""
        with self._lock:
            self._refresh()
            lines = self._lines
            one, other = self._index.documents.at(a), self._index.documents.at(b)
            around = views.in_group(lines, one, other) if queue is None else self._queues.around(queue, one, other)
        comparison = lines.comparisons.of(self._subject.compare, one, other, how)
        return views.pair_view(lines, one, other, around, comparison)

    def comparison_so_far(self, a: source.Key, b: source.Key) -> SoFar | None:
        """Return how far the alignment of two documents is; None if none is being made."""
        return self._lines.comparisons.under_way(*map(self._index.documents.at, (a, b)))

    def texts(self, a: source.Key, b: source.Key) -> tuple[str, str]:
        """Return the texts of two documents."""
        with self._lock:
            self._refresh()
            one, other = (self._lines.reader.look(self._index.documents.at(key)).text for key in (a, b))
            return one, other

    def quotes(self, key: source.Key, length: int) -> source.QuotesView:
        """Return the passages of at least ``length`` tokens of a document that others have, too."""
        with self._lock:
            self._refresh()
            lines, document = self._lines, self._index.documents.at(key)
            others = views.related_members(lines, document)[:QUOTING]
        looked = (lines.reader.look(other) for other in others)
        return views.quotes_view(
            lines, document, *self._subject.passages(lines.reader.look(document), looked, length)
        )

    def panes(self, key: source.Key, question: source.Question) -> source.Panes:
        """Return the panes beside a group or a pair; ``question`` is the list the reader came from."""
        with self._lock:
            self._refresh()
            listed = self._list_groups(question.filter, question)
            keys = self._ordered.keys("stake", self._made) if question.order == "undecided" else listed.keys
            budget = self._reader.budget()
            return views.panes_view(self._lines, keys, listed.groups, self._index.at(key), budget)

    def next_undecided(
        self,
        after: tuple[source.Key, source.Key] | source.Key,
        question: source.Question,
        queue: source.Queue | None = None,
    ) -> tuple[source.Key, source.Key] | None:
        """Return the next pair without a verdict after a pair, in the list or queue the reader came from.

        After a group, it is the first one of that group or, if all of these are decided, of the next.
        """
        with self._lock:
            self._refresh()
            if queue is not None and isinstance(after, tuple):
                return self._next_in_queue(queue, after)
            listed = self._list_groups(question.filter, question) if question.filter.strip() else None
            pair = after if isinstance(after, tuple) else (after,)
            own = [self._index.documents.at(key) for key in pair]
            group = int(self._index.group_of[own[0]])
            place = int(self._ordered.keys("stake", self._made)[group]) if group >= 0 else -1
            if group < 0 or len(own) == 1:
                return self._next(-1, place, listed)
            leads = int(self._made.heads[group]) == own[0]
            waiting = set(self._undecided_members(group)) - set(own)
            return self._next(pair[int(leads)], place, listed, skipped=-1 if waiting else group)

    def _undecided_members(self, group: int) -> Iterator[int]:
        """Yield the members of a group without a verdict, in its order."""
        verdict, place = self._made.verdict, self._index.member_of
        return (member for member in views.near_of(self._lines, group) if verdict[place[member]] < 0)

    def queue(self, queue: source.Queue, after: str = "", limit: int = 50) -> source.PairList:
        """Return a page of a queue."""
        with self._lock:
            self._refresh()
            return self._queues.page(queue, after, limit)

    def threshold(self, value: float | None = None) -> source.ThresholdView:
        """Return the histogram, and pairs around ``value`` (the threshold of the run unless given)."""
        with self._lock:
            self._refresh()
        return self._thresholds.view(value)

    def kinds(self, filter: str = "") -> source.KindCounts:
        """Return the kinds of the pairs in the groups that a filter finds, the most frequent first."""
        with self._lock:
            listed = self._listed_in_time(filter, source.Question(), kinds=True)
            verdicts = self._made
            wanted = verdicts.near & listed.groups[self._index.group] & (verdicts.kinds >= 0)
            every = np.bincount(verdicts.kinds[wanted], minlength=len(KINDS))
            left = np.bincount(verdicts.kinds[wanted & (verdicts.verdict < 0)], minlength=len(KINDS))
            order = np.argsort(-every, kind="stable").tolist()
            counts = tuple((KINDS[kind], int(left[kind]), int(every[kind])) for kind in order if every[kind])
            return source.KindCounts(counts, listed.notes, listed.partial)

    def sample_of_kind(self, kind: str, filter: str = "") -> source.KindSample:
        """Return the pairs without a verdict that a decision for a kind would concern."""
        with self._lock:
            listed = self._listed_in_time(filter, source.Question(), kinds=True)
            places = places_of_kind(self._lines, kind, listed.groups)
            drawn, budget = evenly_spaced(places, SAMPLED), self._reader.budget()
            lines = self._lines.pairs([(a, b, "") for a, b in pairs_at(self._lines, drawn)], budget)
            return source.KindSample(kinds_said(kind), len(places), lines, listed.notes, listed.partial)

    def decide(self, decision: source.Decide) -> source.Acted:
        """Store a decision."""
        with self._lock:
            self._refresh()
            listed = self._list_groups(decision.filter, source.Question()) if decision.filter.strip() else None
            if decision.asked == "kind":
                listed = self._listed_in_time(decision.filter, source.Question(), kinds=True)
                listed.require_whole()
            judgements_made = judgements(self._lines, decision, None if listed is None else listed.groups)
            pairs = batches.without_waiting(self._index, self._made.state, judgements_made.pairs, decision.by)
            judgements_made = Judgements(pairs[0], judgements_made.sentence + pairs[1])
            changes = judgements_made.changes(self._lines, decision)
            judged = views.keys_of(self._lines, judgements_made.pairs[-1])
            assert judged is not None
            group = int(self._index.group_of[judgements_made.pairs[-1][0]])
            place = int(self._ordered.keys("stake", self._made)[group]) if group >= 0 else -1
            action = self._act(changes, decision.by, judgements_made.sentence, decision.seen)
            if decision.queue is not None:
                return source.Acted(action, self._next_in_queue(decision.queue, judged))
            if decision.filter.strip():
                listed = self._list_groups(decision.filter, source.Question())
            return source.Acted(action, self._next(judged[0], place, listed))

    def represent(self, group: source.Key, document: source.Key, by: str, seen: int) -> source.Acted:
        """Make another member the representative of a group; that of the result withdraws the change."""
        with self._lock:
            number, chosen = self._index.at(group), self._index.documents.at(document)
            if self._index.group_of[chosen] != number:
                raise InputError("This document is not in the group", "A member of the group")
            head = int(self._index.heads[number])
            id = self._index.documents.id
            change = Represents(id(head), None if chosen == head else id(chosen))
            names = _without_folder((str(id(chosen)), str(id(head))), " represents the group of ")
            return source.Acted(self._act([change], by, names, seen))

    def keep(self, document: source.Key, fate: Fate | None, by: str, seen: int) -> source.Acted:
        """Store the fate of one document."""
        id = self._index.documents.id(self._index.documents.at(document))
        what = f"{fate or 'fate withdrawn'}: {_without_folder([str(id)])}"
        return source.Acted(self._act([FateOf(id, fate)], by, what, seen))

    def tag(self, document: source.Key, tag: str, on: bool, by: str, seen: int) -> source.Acted:
        """Add a tag to a document, or take it away."""
        id = self._index.documents.id(self._index.documents.at(document))
        what = f"tag {tag.strip()} {'on' if on else 'taken from'} {_without_folder([str(id)])}"
        return source.Acted(self._act([Tag(id, tag, on)], by, what, seen))

    def tag_group(self, group: source.Key, tag: str, on: bool, by: str, seen: int) -> source.Acted:
        """Add a tag to all members of a group, or take it away, as one action.

        Raises InputError if all have it already, or none.
        """
        with self._lock:
            self._refresh()
            number, tag = self._index.at(group), tag.strip()
            ids = map(self._index.documents.id, self._index.members[self._index.slice(number)].tolist())
            changes = [Tag(id, tag, on) for id in ids if (tag in self._made.state.tags.get(id, ())) != on]
            if not changes:
                given = f"All members have the tag {tag}" if on else f"No member has the tag {tag}"
                raise InputError(given, "A tag that changes something")
            head = _without_folder([str(self._index.documents.id(int(self._index.heads[number])))])
            what = f"tag {tag} {'on' if on else 'taken from'} the group of {head}"
            return source.Acted(self._act(changes, by, what, seen))

    def undo(self, by: str, action: int | None = None) -> source.Acted | None:
        """Undo an action, or the last one of this reviewer; None if there is none.

        The pair to look at now is one that lost or regained its verdict.
        """
        with self._lock:
            self._refresh()
            before = self._made.state
            undone = self._subject.undo(by=by, action=action)
            if undone is None:
                return None
            self._refresh()
            return source.Acted(undone, views.keys_of(self._lines, self._made.changed_since(before)))

    def history(self, before: int | None = None, limit: int = 50) -> tuple[Action, ...]:
        """Return actions, the latest first."""
        with self._lock:
            self._refresh()
            return batches.as_read(self._made.state, self._subject.history(before, limit))

    def export(self, what: Exported, form: str, *, every: bool = False) -> Iterator[bytes]:
        """Yield a file: groups, decisions or tags as csv, jsonl, parquet or dat.

        ``every``: with the groups also the documents in none and the attachments of mails, of a result alone.
        """
        return self._subject.export(what, form, every=every)

    def _warm(self) -> None:
        """Sort what pages need, and read the columns of facets, before they are asked for."""
        self._ordered.warm()
        self._queues.warm()
        self._facets.warm()
        if self._threaded:  # the first page is compared before anybody asks for it
            self._lines.hand_in(np.argsort(self._ordered.keys("undecided", self._made))[:AHEAD].tolist())

    def wait_until_sorted(self) -> None:
        """Wait until what pages need is sorted."""
        self._warming.join()

    def _refresh(self) -> None:
        """Apply the changes and decisions made since the last call."""
        self._lines.sweep.yield_to_page()
        renewed = self._subject.refresh()
        if renewed == "tables":
            self._kinds.close()
            self._lines.sweep.close()
            self._build()
        elif renewed == "texts":
            self._lines.forget()
        self._made.apply(self._subject.state())

    def _act(self, changes: Sequence[Change], by: str, what: str, seen: int) -> Action:
        action = self._subject.act(changes, by=by, what=what, seen=seen)
        with self._lock:
            self._refresh()
        return action

    def _listed_in_time(self, filter: str, question: source.Question, *, kinds: bool = False) -> _Listed:
        """Return a list of groups; if it needs texts that are not read yet, wait for them for a while.

        ``kinds``: the kinds of difference are needed, whatever the filter. The lock, held once, is given back
        while this waits.
        """
        budget = self._reader.budget()
        self._refresh()
        listed = self._list_groups(filter, question, kinds=kinds)
        if listed.partial:
            self._lock.release()
            try:
                for reading in listed.read:
                    reading.wait(budget.seconds_left())
            finally:
                self._lock.acquire()
            self._refresh()
            listed = self._list_groups(filter, question, kinds=kinds)
        return listed

    def _list_groups(self, filter: str, question: source.Question, *, kinds: bool = False) -> _Listed:
        self._read, self._partial = [], False
        if kinds:
            self._bring_kinds()
        groups, meaning = find_groups(filter, self._fields)
        return _Listed(
            groups,
            self._ordered.keys(question.order, self._made),
            meaning,
            tuple(dict.fromkeys(self._read)),
            self._partial,
        )

    def _bring_kinds(self) -> None:
        self._kinds.read_ahead()
        self._note_reading(self._kinds)

    def _groups_with_words(self, clause: WordsClause, query: str) -> Bools:
        if (rows := self._subject.query(clause, query)) is not None:
            return self._of_rows(rows)
        having = self._words.documents_with(clause, query)
        self._note_reading(self._words)
        return self._index.of_documents(having)

    def _alike(self, clause: Fingerprint, query: str) -> Bools:
        rows = self._subject.query(clause, query)
        if rows is None:
            raise document_filter_error(clause, query)
        return self._of_rows(rows)

    def _query(self, clause: FieldClause, query: str) -> Bools:
        rows = self._subject.query(clause, query)
        assert rows is not None
        return self._of_rows(rows)

    def _of_rows(self, rows: Int64s) -> Bools:
        """Return the groups of documents by their keys; documents in no group have none."""
        return self._index.of_documents(np.flatnonzero(np.isin(self._index.documents.rows, rows)))

    def _note_reading(self, reading: KindSweep | WordIndex) -> None:
        """Note that an answer rests on this reading, which may not be at its end."""
        self._read.append(reading)
        self._partial = self._partial or reading.pending

    def _next_in_queue(
        self, queue: source.Queue, judged: tuple[source.Key, source.Key]
    ) -> tuple[source.Key, source.Key] | None:
        """Return the next pair of a queue to judge."""
        try:
            pair = self._index.documents.at(judged[0]), self._index.documents.at(judged[1])
        except InputError:  # after the verdict, a document is in no group of the collection
            pair = -1, -1
        return views.keys_of(self._lines, self._queues.next(queue, *pair))

    def _next(
        self, judged: source.Key, own: int, listed: _Listed | None, skipped: int = -1
    ) -> tuple[source.Key, source.Key] | None:
        """Return the next member to judge: in its group, then in the undecided groups after it, then before it.

        ``own`` is the place of the group in the order of stake; −1 for a pair of different groups. The group
        ``skipped`` is left out.
        """
        index, verdicts = self._index, self._made
        rows = index.documents.rows
        behind = (self._ordered.keys("stake", verdicts) - own) % (len(index) + 1)
        waits = verdicts.open & (np.arange(len(index)) != skipped)
        if listed is not None:
            waits &= listed.groups
        if not waits.any():
            return None
        group = int(np.argmin(np.where(waits, behind, len(index) + 2)))
        order = {int(rows[member]): place for place, member in enumerate(views.near_of(self._lines, group))}
        waiting = list(self._undecided_members(group))
        after = (member for member in waiting if order[int(rows[member])] > order.get(judged, -1))
        return int(rows[next(after, waiting[0])]), int(rows[verdicts.heads[group]])
