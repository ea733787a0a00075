"""New documents against saved fingerprints, which may then grow by them, and the names of groups, which stay."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.deduplication.join.corpus import Corpus
from neardup.deduplication.join.first_pass import read_chunks
from neardup.deduplication.run.asked_columns import parts_of
from neardup.deduplication.run.find import run
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.parts.merge import complete, saved_form, saved_sources
from neardup.deduplication.run.parts.rows import NewKeys, meeting_rows
from neardup.deduplication.run.review_decisions import ReviewedResult
from neardup.deduplication.run.save import DEFAULT_FILES, RowFiles, fill
from neardup.deduplication.run.stages.account import Run
from neardup.deduplication.run.stages.records import Action, Inputs
from neardup.deduplication.run.stages.result import Outcome
from neardup.display import printable
from neardup.errors import InputError, SettingError
from neardup.io.fingerprints import (
    NAMES,
    FingerprintedDocuments,
    FingerprintFolder,
    ReadChunk,
    names_at,
    read_names,
    write_names,
)
from neardup.io.inputs import Chosen, Chunk, Column, Documents, Findings, Format, Reference, Sink
from neardup.io.outputs import OutputFolder, access_of, common_access
from neardup.io.sources import Source
from neardup.kernels.text import Key
from neardup.runtime import Progress
from neardup.settings import MEASURES, Settings
from neardup.tables import Int64s, column
from neardup.text.keys import key_of
from neardup.text.lsh.bands import plan
from neardup.text.sketch import simhash_words

_UPDATE, _DIGITS = "update-", 6
"""The names of the parts that updates add."""


@dataclass(frozen=True, eq=False)
class ReadDocuments:
    """Documents that were fingerprinted in this process: their ``saved`` chunks, under ``key``."""

    documents: Documents
    saved: Sequence[ReadChunk]
    key: Key

    @property
    def format(self) -> Format:
        """The format of the documents."""
        return self.documents.format

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sources."""
        return self.documents.names

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that may be chosen."""
        return self.documents.columns

    @property
    def size_bytes(self) -> int | None:
        """The size of the input."""
        return self.documents.size_bytes

    @property
    def findings(self) -> Findings:
        """The findings of the reader."""
        return self.documents.findings

    @property
    def sources(self) -> tuple[Source, ...]:
        """The files."""
        files: tuple[Source, ...] = getattr(self.documents, "sources", ())
        return files

    def digest(self, position: int) -> bytes | None:
        """Return the digest of a file that is one document."""
        documents: Any = self.documents
        digest: bytes | None = documents.digest(position)
        return digest

    def require(self, text: str, id: str | None) -> None:
        """Define a good row."""
        self.documents.require(text, id)

    def readers(self, wanted: Collection[int]) -> list[Documents]:
        """Return the documents."""
        return [self.documents]

    def fingerprints(self) -> Iterator[ReadChunk]:
        """Yield the fingerprints of all chunks, in order."""
        return iter(self.saved)

    def chunks(
        self, wanted: Collection[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[Chunk]:
        """Yield the chunks of the documents."""
        return self.documents.chunks(wanted, columns)

    def sink(self, folder: Path, extra: Any, threads: int = 1) -> Sink:
        """Open the writer of kept rows."""
        return self.documents.sink(folder, extra, threads)


def read_documents(
    documents: Documents, columns: Chosen, settings: Settings, secret: bytes, progress: Progress
) -> ReadDocuments:
    """Fingerprint new documents under the ``secret`` of saved ones."""
    settings, key = _without_reference(settings), key_of(secret)
    parts = parts_of(documents, columns, settings.keep, settings.relations, None)
    corpus = Corpus(parts, settings, key, empty_alike=settings.keep.empty == "one")
    slots = 0 if simhash_words(settings) else settings.sketch.slots
    saved = []
    with progress.stage("fingerprint", documents.size_bytes, "bytes") as advance:
        for read in read_chunks(corpus, slots):
            saved.append(saved_form(read, key))
            advance(read.bytes_read)
    return ReadDocuments(documents, saved, key)


def _without_reference(settings: Settings) -> Settings:
    """The settings of fingerprints, which hold for any reference set."""
    return replace(settings, relations=replace(settings.relations, no_self=False))


def find_against(
    new: ReadDocuments,
    columns: Chosen,
    settings: Settings,
    against: FingerprintedDocuments,
    progress: Progress,
    action: Action = "dedup",
    review: ReviewedResult | None = None,
) -> tuple[Outcome, FingerprintedDocuments]:
    """Find near-duplicates among new documents and of saved ones, which stay; also return the saved ones compared.

    Saved documents take part if they share a band with a new one or are copies of it; all of them do so for a
    search that does not use bands. ``review`` holds decisions of people, which the groups follow; those about
    saved documents that do not take part are listed as not applicable.
    """
    if settings.base.ignore_common:
        raise SettingError(
            "ignore_common was given with saved fingerprints",
            "A reference set of documents with ignore_common",
            "Name the documents themselves with --against, or leave out --ignore-common",
        )
    search = settings.search
    if not settings.by_simhash and search.method != "exact" and MEASURES[search.measure].by_lsh:
        keys = NewKeys.of(new.saved, plan(search.threshold, search.recall, settings.sketch.slots))
        against = against.only([meeting_rows(part, keys) for part in against.parts])
    old = Reference(against, against.chosen)
    return run(Inputs(new, columns, settings, old, action, review=review), progress), against


def fill_against(
    outcome: Outcome,
    compared: FingerprintedDocuments,
    folder: OutputFolder,
    action: Action,
    progress: Progress,
    *,
    store_texts: bool = True,
    files: RowFiles = DEFAULT_FILES,
) -> "tuple[Found, NamedGroups]":
    """Write a result of new documents with the names of the groups; ``compared`` are the saved documents."""
    result = fill(outcome, folder, action, progress, store_texts=store_texts, files=files)
    names = named_groups(outcome, compared)
    folder.write_table("names.parquet", names.table())
    return result, names


@contextmanager
def growing_by(
    new: ReadDocuments, columns: Chosen, settings: Settings, against: FingerprintedDocuments, parent: Path
) -> "Iterator[Callable[[NamedGroups], None]]":
    """Add the new documents as a part to the folder ``parent``, when the block ends without an exception.

    The block calls the yielded function with the names of the groups. Raises InputError for documents that are
    among the saved ones already, OutputError if the part cannot be written.
    """
    _require_new(new, against)
    settings = _without_reference(settings)
    words = simhash_words(settings)
    sizes = (0 if words else settings.sketch.slots, words)
    target = next_part(parent)
    named: list[NamedGroups] = []
    with FingerprintFolder(target, settings, sizes, against.secret) as fingerprints:
        fingerprints.restrict(access_of(new))
        for chunk in new.saved:
            fingerprints.add(chunk)
        complete(fingerprints, new, columns, settings)
        yield named.append
        for names in named:
            rows = sum(len(chunk) for chunk in new.saved)
            write_names(target, names.of_part(0, rows), access_of(new))


def next_part(parent: Path) -> Path:
    """Return the path of the next part that an update adds."""
    numbers = [int(entry.name[len(_UPDATE) :]) for entry in parent.glob(f"{_UPDATE}{'[0-9]' * _DIGITS}")]
    return parent / f"{_UPDATE}{max(numbers, default=0) + 1:0{_DIGITS}}"


def name_parts(outcome: Outcome, documents: FingerprintedDocuments) -> None:
    """Store the names of the groups of a merged result beside its parts, for later updates."""
    names, first = named_groups(outcome, None), 0
    for part in documents.parts:
        until = first + part.manifest.counts.rows
        write_names(part.folder, names.of_part(first, until), common_access([part.folder]))
        first = until


def _require_new(new: ReadDocuments, against: FingerprintedDocuments) -> None:
    known = {file.full: part for part in against.parts for file in part.manifest.input.sources}
    for file in saved_sources(new):
        if file.full in known:
            raise InputError(
                f"{printable(file.full)} is among the fingerprints already, in {known[file.full].folder}",
                "Documents in files of other names",
                "Leave it out; or give new documents another name, for example with their date",
            )


@dataclass(frozen=True)
class NamedGroups:
    """The rows of the new input that are in a group, ascending, with the ``group`` of each and others it joins."""

    rows: Int64s
    group: list[str]
    joined: list[list[str]]
    ids: list[str]

    @property
    def joining(self) -> int:
        """The number of documents that are near copies in several groups."""
        return sum(map(bool, self.joined))

    def table(self) -> pa.Table:
        """The names for users: id, group, joined."""
        columns = [pa.array(self.ids, pa.string()), pa.array(self.group, pa.string())]
        joined = pa.array(self.joined, NAMES.field("joined").type)
        return pa.table([*columns, joined], names=["id", "group", "joined"])

    def of_part(self, first: int, until: int) -> pa.Table:
        """The NAMES of a part that has the rows ``first`` … ``until − 1`` of the new input."""
        begin, end = np.searchsorted(self.rows, (first, until)).tolist()
        values = [self.rows[begin:end] - first, self.group[begin:end], self.joined[begin:end]]
        return pa.table(
            [pa.array(value, kind) for value, kind in zip(values, NAMES.types, strict=True)], schema=NAMES
        )


def named_groups(outcome: Outcome, against: FingerprintedDocuments | None) -> NamedGroups:
    """Name the group of each new document in one.

    A group has the name of the group of its representative, if that is a saved document in a group, else the id of
    the representative. A document that is a near copy in several named groups belongs to that of its
    representative; the groups stay apart, and ``joined`` names the others.
    """
    rows, decisions = outcome.run.judged_rows, outcome.run.decisions
    order = np.argsort(decisions.rows, kind="stable")
    members, heads = decisions.rows[order], decisions.representative_row[order]
    new = members >= rows.first_new
    members, heads = members[new], heads[new]
    partners = _partners(outcome, members)
    wanted = np.unique(np.concatenate([heads, *partners])) if len(heads) else np.empty(0, np.int64)
    names = dict(zip(wanted.tolist(), _names(outcome.run, wanted, against), strict=True))
    group = [names[head] for head in heads.tolist()]
    joined = [
        sorted({names[row] for row in met.tolist()} - {own}) for met, own in zip(partners, group, strict=True)
    ]
    ids: list[str] = rows.ids.text(members).to_pylist()
    return NamedGroups(members - rows.first_new, group, joined, ids)


def _partners(outcome: Outcome, members: Int64s) -> list[Int64s]:
    """The saved rows that each member is in a pair with."""
    rows, pairs = outcome.run.judged_rows, outcome.run.groups.pairs
    saved = [np.empty((2, 0), np.int64)]
    for some in pairs.batches():
        ends = np.stack([rows.unique[column(some, end)] for end in ("a", "b")])
        saved.append(ends[:, ends[0] < rows.first_new])
    a, b = np.concatenate(saved, axis=1)
    order = np.argsort(b, kind="stable")
    a, b = a[order], b[order]
    first_of = rows.copy_of[members]
    begins, ends = (np.searchsorted(b, first_of, side) for side in ("left", "right"))
    return [a[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def _names(run: Run, wanted: Int64s, against: FingerprintedDocuments | None) -> list[str]:
    names: list[str] = run.judged_rows.ids.text(wanted).to_pylist()
    if against is None:
        return names
    rows = run.rows
    saved = np.flatnonzero(wanted < rows.first_new)
    firsts = np.array([piece.first for piece in rows.corpus.pieces], np.int64)
    owner = np.searchsorted(firsts, wanted[saved], side="right") - 1
    by_part: dict[Path, list[tuple[int, int]]] = {}
    for place, row, k in zip(saved.tolist(), wanted[saved].tolist(), owner.tolist(), strict=True):
        piece = rows.corpus.pieces[k]
        folder, part_row = against.saved_row(piece.chunk, row - piece.first)
        by_part.setdefault(folder, []).append((place, part_row))
    for folder, documents in by_part.items():
        known = names_at(read_names(folder), [part_row for _, part_row in documents])
        for (place, _), name in zip(documents, known, strict=True):
            names[place] = names[place] if name is None else name
    return names
