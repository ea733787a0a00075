"""The lines of lists: groups, members and pairs, with their words and differences; kinds found meanwhile."""

import re
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from neardup.comparison.kinds import KINDS
from neardup.deduplication.results import OLD, of_member
from neardup.display import beginning, counted, middle_cut, number, shorten, without_common
from neardup.errors import InputError
from neardup.io.decisions import JudgedPair, Verdict
from neardup.io.inputs import PLACE
from neardup.review.desk.differences import (
    NOT_YET,
    AlikeMembers,
    Comparisons,
    ComputedPairs,
    Differences,
    kind_in_words,
)
from neardup.review.desk.index import ResultIndex
from neardup.review.desk.metadata import DATE, SUBJECT, Metadata, is_earlier, version_of
from neardup.review.desk.subjects import COLLECTION
from neardup.review.desk.texts import Budget, PageThread, TextReader, Whereabouts
from neardup.review.desk.verdicts import Fates, VerdictIndex
from neardup.review.source import GroupLine, MemberItem, MemberLine, PairLine, known_number
from neardup.tables import Int64s

NAMED_MEMBERS, LEAST_TITLE, FEW = 300, 3, 6
"""Members whose names make the title of a group, letters of a title, and members to judge of a group that are all
compared for the list."""
_SHOWN, FOLDER = 200, 64
"""Columns of a value of the input, and of the folder of a group, that are shown."""
_REPLY = re.compile(r"\A(?:(?:re|fwd?|aw|wg|sv|vs|tr|rv)(?:\[\d+\])?: *)+", re.IGNORECASE)
"""The marks of a reply before the subject of a mail."""
_FRACTION = re.compile(r"\.\d+Z\Z", re.ASCII)
"""The fraction of the second of a time."""


class Lines:
    """Makes the lines of pages from the columns of a result."""

    def __init__(
        self,
        index: ResultIndex,
        verdicts: VerdictIndex,
        reader: TextReader,
        whereabouts: Whereabouts,
        metadata: Metadata,
        threaded: bool = False,
    ) -> None:
        self._dates = metadata
        self.index, self.made, self.reader, self.whereabouts = index, verdicts, reader, whereabouts
        self.differences = Differences(index.documents, reader)
        self.computed = ComputedPairs(index, reader)
        self.alike = AlikeMembers(index.documents, reader)
        self.sweep = AlikeSweep(self.alike, threaded)
        self.comparisons = Comparisons(reader)
        self._fates = Fates(index, verdicts)
        self._settings = index.found.run.settings

    def forget(self) -> None:
        """Drop what was read and computed: texts have changed."""
        for store in (self.reader, self.differences, self.computed, self.alike, self.comparisons):
            store.forget()

    def groups(self, groups: list[int], budget: Budget) -> tuple[GroupLine, ...]:
        """Return lines of the list: all their words first, then differences, in limited time.

        The places that differ are those of the members compared by now. The sweep gets those that lack: of each
        group the least similar one, and of small groups all.
        """
        self.hand_in(groups)
        self.read_ahead((document for group in groups for document in self._read_for(group)), budget)
        for group in groups:
            self.words(int(self.made.heads[group]), budget)
        return tuple(self._group(group, budget) for group in groups)

    def hand_in(self, groups: list[int]) -> None:
        """Have those members of groups compared that their lines name."""
        few = {group: self.made.pairs[group] <= FEW for group in groups}
        places = {group: self._near(group).tolist() if few[group] else [self._least(group)] for group in groups}
        heads, members = self.made.heads, self.index.members
        self.sweep.hand_in({int(heads[group]): members[own].tolist() for group, own in places.items() if own})

    def _near(self, group: int) -> Int64s:
        """Return the places of the members to judge."""
        inside = self.index.slice(group)
        near: Int64s = inside.start + np.flatnonzero(self.made.near[inside])
        return near

    def read_ahead(self, documents: Iterable[int], budget: Budget) -> None:
        """Read at once the documents that a page shows, if there is time."""
        if budget.seconds_left():
            self.reader.read_ahead(documents)

    def _read_for(self, group: int) -> list[int]:
        """Return the documents whose texts the line of a group needs: none if it was made before."""
        head, place = int(self.made.heads[group]), self._least(group)
        member = head if place < 0 else int(self.index.members[place])
        if member != head and not self.differences.knows(member, head):
            return [head, member]
        return [head] if self.reader.held_words(head) is None else []

    def _least(self, group: int) -> int:
        """Return the place of the member that is least similar to the representative; −1 if all are copies."""
        near = self._near(group)
        similarity = self.index.similarity[near]
        return int(near[np.argmin(np.where(np.isnan(similarity), 2.0, similarity))]) if len(near) else -1

    def briefs(self, groups: list[int]) -> tuple[GroupLine, ...]:
        """Return the lines of groups without their differences, and with words only in place of a title."""
        untitled = {group: int(self.made.heads[group]) for group in groups if not self._title(group)[0]}
        self.reader.read_ahead(head for head in untitled.values() if self.reader.held_words(head) is None)
        words = {group: self.words(head) for group, head in untitled.items()}
        return tuple(self._line(group, words.get(group, ""), "") for group in groups)

    def steps(self, members: list[int], budget: Budget) -> dict[int, float]:
        """Return the similarity of each member but the first to the one before it, as far as there is time."""
        stored = self.index.pairs.similarity_of
        self.read_ahead(
            (document for pair in pairwise(members) if stored(*pair) is None for document in pair), budget
        )
        pairs = ((a, b, self.between(a, b, budget)) for a, b in pairwise(members))
        return {later: step for _, later, step in pairs if step is not None}

    def item(self, document: int, name: str, head: int, step: float | None) -> MemberItem:
        """Return a member for the pane beside a pair."""
        verdict, _, waits = self.decision_on(document, head)
        key = int(self.index.documents.rows[document])
        return MemberItem(key, name, self.date(document)[:10], step, document == head, verdict, waits)

    def _group(self, group: int, budget: Budget | None) -> GroupLine:
        head = int(self.made.heads[group])
        return self._line(group, self.words(head, budget), self._differs(group, head, budget))

    def _line(self, group: int, words: str, differs: str) -> GroupLine:
        index, (title, folder) = self.index, self._title(group)
        if not title and (subject := self._subject(group)):
            title, words = _REPLY.sub("", subject), words.removeprefix(subject).lstrip()
        return GroupLine(
            index.key(group),
            index.documents.id(int(index.heads[group])),
            words,
            int(index.size[group]),
            int(index.size[group] - 1 - self.made.pairs[group]),
            known_number(index.lowest[group]),
            known_number(index.highest[group]),
            differs,
            int(index.stake[group]),
            int(self.made.count[group]),
            int(self.made.pairs[group]),
            title,
            folder,
            None if self.made.hides(group) else self._removed_count(group),
            self._kinds(group),
            self._places(int(self.made.heads[group]), int(self.made.pairs[group])),
        )

    def _places(self, head: int, members: int) -> str:
        """Return how members differ, of those compared by now; that they wait, or "", before the first one."""
        return self.alike.in_words(head, members) or NOT_YET * self.sweep.has(head)

    def _kinds(self, group: int) -> tuple[str, ...]:
        """Return the kinds of difference in a group, the most frequent first; none before all are known."""
        inside = self.index.slice(group)
        kinds = self.made.kinds[inside][self.made.near[inside]]
        if not len(kinds) or (kinds < 0).any():
            return ()
        counts = np.bincount(kinds)
        return tuple(KINDS[kind] for kind in np.argsort(-counts, kind="stable").tolist() if counts[kind])

    def _title(self, group: int) -> tuple[str, str]:
        """Return the names of the members share, and their folder."""
        members = self.index.members[self.index.slice(group)][:NAMED_MEMBERS].tolist()
        folder, names = without_common(*(str(self.index.documents.id(member)) for member in members))
        shared = beginning(names)
        return (shared if sum(map(str.isalpha, shared)) >= LEAST_TITLE else ""), middle_cut(folder, FOLDER)

    @property
    def have_subjects(self) -> bool:
        """Whether the documents may be mails: no columns of a collection are known."""
        return SUBJECT in self._dates.names or self.index.found.run.action == COLLECTION

    def _subject(self, group: int) -> str:
        """Return the subject of the representative if the documents are mails."""
        if not self.have_subjects:
            return ""
        return " ".join(str(self.reader.fields(int(self.made.heads[group])).get(SUBJECT, "")).split())

    def _removed_count(self, group: int) -> int:
        """Return the number of members that go."""
        index, inside = self.index, self.index.slice(group)
        members = index.members[inside]
        if self._fates.follow(members):
            rows = (self._fates.of(member)[0] for member in members.tolist())
            return sum(row is not None and not row["kept"] for row in rows)
        return len(members) - 1 if index.found.run.action == "group" else int((~index.kept[inside]).sum())

    def _differs(self, group: int, head: int, budget: Budget | None) -> str:
        """Name the difference of the least similar member, and the number of other members."""
        index, inside = self.index, self.index.slice(group)
        place = self._least(group)
        if place < 0:
            return "exact copies only"
        difference = self.difference(int(index.members[place]), head, int(self.made.kinds[place]), budget)
        others = int(self.made.near[inside].sum()) - 1
        if difference and others:
            difference += f"; {counted(others, 'other member')}"
        return difference

    def difference(self, member: int, head: int, kind: int, budget: Budget | None = None) -> str:
        """Return how a member differs from its representative, in words; from the stored ``kind`` if need be."""
        return self.differences.of(member, head, budget)[1] or kind_in_words(kind)

    def words(self, document: int, budget: Budget | None = None) -> str:
        """Return the first words of a document; "" if time is up."""
        known = self.reader.held_words(document)
        if known is None and (budget is None or budget.allows()):
            return self.reader.words(document)
        return known or ""

    def member(self, document: int, head: int, budget: Budget | None = None) -> MemberLine:
        """Return a document as a member, seen from the representative ``head``."""
        index, verdicts = self.index, self.made
        id, place = index.documents.id(document), int(index.member_of[document])
        inside = place >= 0 and index.group_of[document] == index.group_of[head]
        shares = None if document == head else self._containments(document, head, budget)
        copy = document != head and not (inside and verdicts.near[place]) and self._is_copy(document, head)
        near = document != head and not copy
        kind = int(index.pairs.kinds_of(np.array([document]), np.array([head]))[0]) if near else -1
        hidden, (verdict, note, waits) = (
            verdicts.hides(int(index.group_of[document])),
            self.decision_on(document, head),
        )
        row, why = self._fates.of(document)
        gone = None if row is None else of_member(row, self._settings)
        return MemberLine(
            key=int(index.documents.rows[document]),
            id=id,
            words=self.words(document, budget),
            size=int(index.documents.bytes[document]),
            representative=document == head,
            exact_copy=copy,
            similarity=self.similarity(document, head, budget),
            containment=None if shares is None else shares[0],
            contained=None if shares is None else shares[1],
            kind=self.difference(document, head, kind, budget) if near else "",
            kept=True if row is None else bool(row["kept"]),
            reason="" if hidden else why,
            lost="" if gone is None or hidden else gone.brief(),
            where=self.whereabouts.of(document),
            metadata=self._metadata(document) if budget is None or budget.allows() else (),
            verdict=verdict,
            fate=verdicts.fate_of(id),
            tags=verdicts.state.tags.get(id, ()),
            note=note,
            date=self.date(document)[:10],
            written=self._fates.is_written(document, row is None or bool(row["kept"])),
            waits=waits,
            hidden=hidden,
        )

    def similarity(self, document: int, head: int, budget: Budget | None = None) -> float | None:
        """Return the similarity of a member to the representative: stored, or counted if there is time."""
        index, place = self.index, int(self.index.member_of[document])
        value: float | None = None
        if place >= 0 and index.heads[index.group[place]] == head:
            value = known_number(index.similarity[place])
        return self.between(document, head, budget) if value is None else value

    def between(self, a: int, b: int, budget: Budget | None = None) -> float | None:
        """Return the similarity of two documents: that of their stored pair, or counted if there is time."""
        similarity = self.index.pairs.similarity_of(a, b)
        if similarity is None:
            return self.computed.similarity(a, b, budget)
        return similarity

    def _containments(self, a: int, b: int, budget: Budget | None) -> tuple[float, float] | None:
        """Return the share of a that is in b, and of b in a."""
        shares = self.index.pairs.containments(a, b)
        if shares is None:
            counts = self.computed.counts(a, b, budget)
            shares = None if counts is None else (counts[0] / max(counts[1], 1), counts[0] / max(counts[2], 1))
        return shares

    def judged_pair(self, a: int, b: int) -> JudgedPair | None:
        """Return the verdict on two documents."""
        return self.made.state.verdict(self.index.documents.id(a), self.index.documents.id(b))

    def decision_on(self, a: int, b: int) -> tuple[Verdict | None, str, bool]:
        """Return the verdict and the note on two documents, and whether they are hidden from the reader."""
        if a == b or self.made.waits(a, b):
            return None, "", a != b
        judged, id = self.judged_pair(a, b), self.index.documents.id
        return None if judged is None else judged.verdict, self.made.state.note(id(a), id(b)), False

    def pairs(self, some: list[tuple[int, int, str]], budget: Budget) -> tuple[PairLine, ...]:
        """Return the lines of pairs of documents, each with the reason why it is listed."""
        self.read_ahead((document for a, b, _ in some for document in self._read_for_pair(a, b)), budget)
        for a, b, _ in some:
            self.words(a, budget)
            self.words(b, budget)
        return tuple(self._pair(a, b, why, budget) for a, b, why in some)

    def _read_for_pair(self, a: int, b: int) -> list[int]:
        """Return the documents whose texts the line of a pair needs: none if it was made before."""
        ready = self.differences.knows(a, b)
        return [document for document in (a, b) if not ready or self.reader.held_words(document) is None]

    def _pair(self, a: int, b: int, why: str, budget: Budget) -> PairLine:
        index, documents = self.index, self.index.documents
        kind = int(index.pairs.kinds_of(np.array([a]), np.array([b]))[0])
        verdict, note, waits = self.decision_on(a, b)
        return PairLine(
            int(documents.rows[a]),
            int(documents.rows[b]),
            documents.id(a),
            documents.id(b),
            (self.words(a, budget), self.words(b, budget)),
            self.similarity_of(a, b),
            self.difference(a, b, kind, budget),
            verdict,
            why,
            note,
            waits,
        )

    def similarity_of(self, a: int, b: int) -> float | None:
        """Return the similarity of two documents, from stored pairs, groups or the audit; None if unknown."""
        index = self.index
        similarity = index.pairs.similarity_of(a, b)
        group = int(index.group_of[a])
        if similarity is None and group >= 0 and index.group_of[b] == group and index.heads[group] in (a, b):
            return self.similarity(*((b, a) if index.heads[group] == a else (a, b)))
        return index.missed.similarity_of(a, b) if similarity is None and index.missed is not None else similarity

    def is_earlier(self, a: int, b: int) -> bool:
        """Return whether document a is before b: in their group if they are in one, or else alone."""
        group = int(self.index.group_of[a])
        if group >= 0 and group == self.index.group_of[b]:
            inside = self.index.slice(group)
            if inside.stop - inside.start <= NAMED_MEMBERS:
                order = self.in_time(self.index.members[inside].tolist())[0]
                return order.index(a) < order.index(b)
        return is_earlier(*((self.date(document), self.index.documents.id(document)) for document in (a, b)))

    def in_time(self, documents: list[int]) -> tuple[list[int], str]:
        """Return documents in one order, and in words where it comes from: dates if all have one, or else names.

        A part of the dates would order some pairs by date and others by name, and a group by neither.
        """
        dates = {document: self.date(document) for document in documents}
        missing = sum(not date for date in dates.values())
        ids = {document: str(self.index.documents.id(document)) for document in documents}
        old = self.index.documents.in_reference  # whose names may have the mark of their side before the id
        names = {of: version_of(id.removeprefix(OLD) if old[of] else id) for of, id in ids.items()}
        if not missing:
            return sorted(documents, key=lambda document: (dates[document], names[document])), "by date"
        part = f" ({missing:,} of {len(documents):,} have no date)" if missing < len(documents) else ""
        return sorted(documents, key=names.__getitem__), f"by name{part}"

    def date(self, document: int) -> str:
        """Return the date of a document as its metadata has it, "" without one."""
        if self.index.found.run.action == COLLECTION:  # whose columns are not held
            return str(self.reader.fields(document).get(DATE, ""))
        return self._dates.dates.get(document, "")

    def _is_copy(self, document: int, head: int) -> bool:
        """Return whether the group has another document with the same text before this one."""
        first = self.index.documents.first
        if first[document] == first[head]:
            return True
        group = int(self.index.group_of[document])
        if group < 0:
            return False
        members = self.index.members[self.index.slice(group)]
        same = members[first[members] == first[document]]
        return bool(len(same) > 1 and same[0] != document)

    def _metadata(self, document: int) -> tuple[tuple[str, str], ...]:
        table = self.index.documents.table
        id = str(self.index.documents.id(document))
        values: dict[str, object] = {
            name: _FRACTION.sub("Z", str(value))
            for name, value in self.reader.fields(document).items()
            if name != "size" and not (name in PLACE and str(value).rstrip("…") in id)
        }
        if "source" in table.column_names and (source := table["source"][document].as_py()) is not None:
            values.setdefault("source", source)
        return tuple((name, shorten(str(value), _SHOWN)) for name, value in values.items())


def marks_of(lines: Sequence[GroupLine]) -> dict[int, str]:
    """Return for each line that looks like another one its folder, or the name or id of its representative.

    The mark is the first of these that no other line of the same title has, or of the same words without a title.
    """
    alike: dict[str, list[tuple[int, tuple[str, str, str]]]] = {}
    for line in lines:
        ways = line.folder, without_common(str(line.id))[1][0], str(line.id)
        alike.setdefault(line.title or line.words or ways[2], []).append((line.key, ways))
    marks = {line.key: "" for line in lines}
    for same in alike.values():
        columns = list(zip(*(ways for _, ways in same), strict=True))
        for key, ways in same if len(same) > 1 else ():
            own = (way for way, column in zip(ways, columns, strict=True) if way and column.count(way) == 1)
            marks[key] = next(own, ways[2])
    return marks


class AlikeSweep(PageThread):
    """Compares members of the groups that lists show, the newest page first.

    No page waits for it: a list names what is compared by then. ``threaded``: a thread works between the pages
    that people ask for, and ends when nothing waits; without it, ``drain`` does the work.
    """

    name, again = "members of lists", True
    most_pages, pause, patience = 8, 0.2, 20
    """Pages that wait; seconds without a page before the next group; the most such waits for one."""

    def __init__(self, alike: AlikeMembers, threaded: bool) -> None:
        super().__init__()
        self._alike, self._threaded, self._page_asked = alike, threaded, threading.Event()
        self._pages: deque[dict[int, list[int]]] = deque(maxlen=self.most_pages)

    def hand_in(self, members: Mapping[int, Sequence[int]]) -> None:
        """Add the members of a page by their representatives; of too many pages, the oldest one is dropped."""
        lacking = self._alike.lacking(members)
        with self._lock:
            if lacking:
                self._pages.append(lacking)
        if self._threaded and self._pages:
            self._begin()

    def has(self, head: int) -> bool:
        """Return whether members of a representative wait."""
        with self._lock:
            return any(head in page for page in self._pages)

    def drain(self) -> None:
        """Compare all members that wait."""
        while self._compare_next():
            pass

    def yield_to_page(self) -> None:
        """Let the thread wait: a page is made."""
        self._page_asked.set()

    def close(self) -> None:
        """Stop after the present group; those that wait are dropped."""
        self._closed = True
        self._page_asked.set()
        super().close()

    def _work(self) -> None:
        self._wait_for_pages()
        while not self._closed and self._compare_next():
            self._wait_for_pages()

    def _wait_for_pages(self) -> None:
        for _ in range(self.patience):
            if self._closed or not self._page_asked.is_set():
                return
            self._page_asked.clear()
            self._page_asked.wait(self.pause)

    def _compare_next(self) -> bool:
        """Compare the members of one group; return whether there were any. After an error, they wait no more."""
        with self._lock:
            if not self._pages:
                self._thread = None  # under the lock: the next page begins another one
                return False
            page = self._pages[-1]
            head, members = next(iter(page.items()))
        try:  # another page may have had them compared
            self._alike.compare(head, self._alike.lacking({head: members}).get(head, ()))
        finally:
            with self._lock:
                del page[head]
                if not page and page in self._pages:
                    self._pages.remove(page)
        return True


class KindSweep(PageThread):
    """Fills in ``VerdictIndex.kinds`` for members whose pair with the representative has no stored kind."""

    name, again = "kinds of difference", True
    most_awaited = 20_000
    """Pairs whose kinds a page waits for."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines
        members = len(lines.index.members)
        self._found = np.full(members, -1, np.int8)
        self._tried: Int64s = np.full(members, -1, np.int64)  # the representative that a member was compared with
        self.pending = False
        """Whether kinds were still being computed when they were last brought."""

    def read_ahead(self) -> None:
        """Fill in the kinds computed by now, and have the others computed.

        Raises InputError if no kind is known and no text can be read.
        """
        self.pending = False
        if not len(self._uncompared_members()):
            self._apply()
            return
        reader, verdicts = self._lines.reader, self._lines.made
        fault = reader.fault()
        if fault:
            if (verdicts.kinds[verdicts.near] >= 0).any():
                return
            raise InputError(f"The kinds of difference are not stored. {fault}", "A result made with --kinds")
        self._begin()
        self.pending = len(self._uncompared_members()) > 0  # before the kinds are filled in, which then are all
        self._apply()

    def wait(self, seconds: float) -> None:
        """Wait until the kinds are computed, unless they are too many for a page to wait for."""
        if len(self._uncompared_members()) <= self.most_awaited:
            super().wait(seconds)

    def note(self) -> str:
        """Return a sentence on the kinds that are still to compute; "" if there are none."""
        waiting, every = len(self._uncompared_members()), int(self._lines.made.near.sum())
        if not waiting:
            return ""
        return f"kinds are known for {number(every - waiting)} of {counted(every, 'pair')} so far"

    def _uncompared_members(self) -> Int64s:
        """Return the members to compare."""
        index, verdicts = self._lines.index, self._lines.made
        heads = verdicts.heads[index.group]
        return np.flatnonzero(verdicts.near & (verdicts.kinds < 0) & (self._tried != heads))

    def _apply(self) -> None:
        index, verdicts = self._lines.index, self._lines.made
        known = verdicts.near & (verdicts.kinds < 0) & (self._tried == verdicts.heads[index.group])
        verdicts.kinds[known] = self._found[known]

    def _work(self) -> None:
        index, verdicts = self._lines.index, self._lines.made
        for place in self._uncompared_members().tolist():
            if self._closed:
                return
            head = int(verdicts.heads[index.group[place]])
            self._found[place] = self._lines.differences.compute(int(index.members[place]), head)[0]
            self._tried[place] = head
