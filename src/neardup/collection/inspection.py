"""Check that a collection agrees with its texts: everything derived is recomputed and compared, groups too."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from itertools import islice

import numpy as np

from neardup.collection.contract import KEPT, Entries, GroupRow, MemberRow, Totals
from neardup.collection.entries import entries_again
from neardup.collection.fields import facts
from neardup.collection.groups.formation import Ties
from neardup.collection.sets import Sets, reaches
from neardup.collection.store import Store
from neardup.errors import FormatError
from neardup.io.decisions import TOGETHER
from neardup.kernels.shingles import mix_all
from neardup.runtime import Progress
from neardup.tables import Int64s, UInt64s

_GROUPS_PAGE = 1000


def group_faults(store: Store) -> Iterator[str]:
    """The faults found, as sentences."""
    replayed = _replayed_groups(store)
    sets = Sets(store)
    after = 0
    while page := store.groups.page(after, _GROUPS_PAGE):
        for row in page:
            members = store.groups.members(row.number)
            yield from _of_group(store, sets, row, members)
            if replayed.pop(row.number, None) != (row.representative, {one.document for one in members}):
                yield f"Group {row.number} contradicts the change log"
        after = page[-1].number
    for group in replayed:
        yield f"The change log says that there is a group {group}"
    yield from store.decisions.faults()
    yield from _decisions(store)


def _of_group(store: Store, sets: Sets, row: GroupRow, members: list[MemberRow]) -> Iterator[str]:
    documents = [one.document for one in members]
    known = np.array(documents, np.int64)
    if len(documents) < 2 or row.representative not in documents or len(store.rows(known)) < len(documents):
        yield f"Group {row.number} has members that are not there, or lacks its representative"
        return
    sizes = sets.sizes(documents)
    if not sets.base.numbers.isdisjoint(documents):
        yield f"Group {row.number} has a member that is boilerplate"
    counted = dict(zip(documents, sets.shared_counts(row.representative, documents).tolist(), strict=True))
    if counted != {one.document: one.shared for one in members}:
        yield f"Counts of members of group {row.number} with its representative contradict their texts"
    ties = Ties(store.decisions.pairs_of(documents))
    head = sizes[row.representative]
    near = {one for one in documents if reaches(counted[one], sizes[one], head, row.threshold)}
    near.add(row.representative)
    inside = set(documents)
    for one in documents:
        bundle = ties.bundle(one)
        if near.isdisjoint(bundle) or not inside.issuperset(bundle):
            yield f"Document number {one} does not belong in group {row.number}"
    if ties.apart(documents, inside):
        yield f"Group {row.number} has members that were decided not to be alike"


def _decisions(store: Store) -> Iterator[str]:
    after = 0
    while page := store.decisions.pairs_after(after, _GROUPS_PAGE):
        wanted = sorted({one for row in page for one in (row.a, row.b)})
        there = {row.number for row in store.rows(np.array(wanted, np.int64))}
        groups = store.groups.memberships(wanted)
        for row in page:
            if not {row.a, row.b} <= there:
                yield f"Decision {row.number} is about a document that is not there"
            elif row.value in TOGETHER and (
                row.a not in groups or row.b not in groups or groups[row.a].group != groups[row.b].group
            ):
                yield f"The documents of decision {row.number} are not in one group"
        after = page[-1].number
    tagged = {row.a for row in store.decisions.tags_of()}
    for number in sorted(tagged - {row.number for row in store.rows(np.array(sorted(tagged), np.int64))}):
        yield f"A document that is not there has a tag (number {number})"


def _replayed_groups(store: Store) -> dict[int, tuple[int, set[int]]]:
    """The groups that result from replaying the change log: (representative, members) by group."""
    heads: dict[int, int] = {}
    members: dict[int, Counter[int]] = {}
    after = 0
    while page := store.groups.changes(after, _GROUPS_PAGE):
        for row in page:
            after = row.number
            if row.what in ("made", "leads"):
                heads[row.group] = row.document
            if row.what in ("made", "joined", "left"):
                members.setdefault(row.group, Counter())[row.document] += -1 if row.what == "left" else 1
            if row.what == "ended":
                heads.pop(row.group, None)
                members.pop(row.group, None)
    return {
        group: (head, {one for one, times in members.get(group, Counter()).items() if times > 0})
        for group, head in heads.items()
    }


_PAGE = 500
_MOST = 20
_WORD = 1 << 64
_GOLD = 0x9E37_79B9_7F4A_7C15
_LONGEST_WORD = 32_768
"""The leading bytes of a word that the full-text index compares."""
_POSTINGS, _WORDS, _FACTS = (
    "postings of sampled shingles",
    "words of the full-text index",
    "facts of the metadata",
)


def faults(store: Store, progress: Progress) -> list[str]:
    """Return the faults, as sentences, at most about 20; empty if there are none."""
    with store.reading():
        try:
            found = store.faults() + _derived_problems(store, progress)
            found += _roles(store)
            return [*found, *islice(group_faults(store), _MOST)][:_MOST]
        except FormatError as error:
            return [error.given]


def _derived_problems(store: Store, progress: Progress) -> list[str]:
    counted = np.zeros(6, np.int64)
    made = Counter[str]()
    found: list[str] = []
    totals = store.totals()
    with progress.stage("check", totals.documents, "documents") as advance:
        for numbers in _pages(store):
            entries = entries_again(store, numbers)
            found += _rows(store, entries, numbers)
            made.update(_digests(entries, numbers))
            counted += _counts(entries)
            advance(len(numbers))
            if len(found) > _MOST:
                return found
    stored = _stored_digests(store)
    found += [f"The {what} do not match the texts" for what in stored if (stored[what] - made[what]) % _WORD]
    return found + _totals_problems(totals, counted)


def _roles(store: Store) -> list[str]:
    numbers = np.array(sorted(store.base_texts()), np.int64)
    if len(store.rows(numbers)) == len(numbers):
        return []
    return ["There are boilerplate texts without a document"]


def _digests(entries: Entries, numbers: Int64s) -> dict[str, int]:
    """Digests of all indexed data, recomputed from documents: see ``_stored_digests``."""
    said = [
        (key, value, number)
        for number, metadata in zip(numbers.tolist(), entries.metadata, strict=True)
        for key, value in facts(metadata)
    ]
    return {
        _POSTINGS: _digest(*_postings(entries, numbers)),
        _WORDS: _words_of(entries, numbers),
        _FACTS: sum(map(hash, said)),
    }


def _stored_digests(store: Store) -> dict[str, int]:
    """Sums of hashes over all indexed data; they do not depend on its order."""
    return {
        _POSTINGS: sum(_digest(hashes & KEPT, numbers) for hashes, numbers in store.sampled()),
        _WORDS: sum(hash(word) * (count * _GOLD + total) for word, count, total in store.words()),
        _FACTS: sum(map(hash, store.facts())),
    }


def _pages(store: Store) -> Iterator[Int64s]:
    after = 0
    while page := store.page(after, _PAGE):
        yield np.array([number for number, _ in page], np.int64)
        after = page[-1][0]


def _rows(store: Store, entries: Entries, numbers: Int64s) -> Iterator[str]:
    signatures = store.signatures(numbers)
    for place, row in enumerate(store.rows(numbers)):
        made = entries.sizes[place], entries.tokens[place], entries.shingles[place]
        if made != (row.size, row.tokens, row.shingles):
            yield f"The counts of document {row.id!r} do not match its text"
        if not np.array_equal(signatures[place], entries.signatures[place].astype(np.uint8)):
            yield f"The signature of document {row.id!r} does not match its text"


def _words_of(entries: Entries, numbers: Int64s) -> int:
    """A sum over words of documents, like the sum over the index: hash of the word · (a constant + the number)."""
    return sum(
        sum(map(hash, {word[:_LONGEST_WORD] for word in stream.encode().split()})) * (_GOLD + number)
        for stream, number in zip(entries.streams, numbers.tolist(), strict=True)
    )


def _postings(entries: Entries, numbers: Int64s) -> tuple[UInt64s, Int64s]:
    """The postings as the store keeps them: two hashes of a document with equal kept bits are one posting."""
    hashes, owners = entries.hashes & KEPT, np.repeat(np.arange(len(numbers)), np.diff(entries.offsets))
    order = np.lexsort((hashes, owners))
    hashes, owners = hashes[order], owners[order]
    first = np.ones(len(hashes), np.bool_)
    first[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    return hashes[first], numbers[owners[first]]


def _digest(hashes: UInt64s, numbers: Int64s) -> int:
    """A sum over postings, modulo 2⁶⁴: does not depend on their order, and changes with any of them."""
    mixed = np.empty(len(hashes), np.uint64)
    mix_all(np.ascontiguousarray(hashes), mixed)
    mixed += numbers.astype(np.uint64) * np.uint64(_GOLD)
    out = np.empty(len(mixed), np.uint64)
    mix_all(mixed, out)
    return int(out.sum(dtype=np.uint64))


def _counts(entries: Entries) -> Int64s:
    sums = entries.tokens.sum(), entries.shingles.sum(), len(entries.hashes), entries.sizes.sum()
    return np.array([len(entries), *sums, sum(map(len, entries.packed))], np.int64)


def _totals_problems(totals: Totals, counted: Int64s) -> list[str]:
    names = [field.name for field in fields(Totals)][: len(counted)]
    stored = [getattr(totals, name) for name in names]
    return [
        f"There are {now} {name}, and the totals say {said}"
        for name, now, said in zip(names, counted.tolist(), stored, strict=True)
        if now != said
    ]
