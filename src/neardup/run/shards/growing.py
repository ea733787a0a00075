"""New documents against saved fingerprints, which may then grow by them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup.display import printable
from neardup.errors import InputError, SettingError
from neardup.io.fingerprints.chunk import ReadChunk
from neardup.io.fingerprints.documents import FingerprintedDocuments
from neardup.io.fingerprints.names import write_names
from neardup.io.fingerprints.writing import FingerprintFolder
from neardup.io.readers.base import Chunk, Column, Documents, Format, Sink
from neardup.io.readers.columns import Chosen, Reference
from neardup.io.readers.findings import Findings
from neardup.io.readers.sources import Source
from neardup.io.writers import OutputFolder, access_of, common_access
from neardup.join.corpus import Corpus
from neardup.join.first_pass import read_chunks
from neardup.kernels.text.keyed import Key
from neardup.lsh.bands import plan
from neardup.measures import MEASURES
from neardup.run.asked_columns import parts_of
from neardup.run.find import run
from neardup.run.found import Found
from neardup.run.review_decisions import ReviewedResult
from neardup.run.save import fill
from neardup.run.shards.lookup import NewKeys, meeting
from neardup.run.shards.names import NamedGroups, named_groups
from neardup.run.shards.part import complete, saved_form, saved_sources
from neardup.run.stages.records import Action, Inputs
from neardup.run.stages.result import Outcome
from neardup.runtime import Progress
from neardup.settings import Settings
from neardup.sketch.documents import simhash_words

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
        found: tuple[Source, ...] = getattr(self.documents, "sources", ())
        return found

    def stretches(self, position: int) -> list[tuple[int, int]]:
        """Return places in a file to start reading from."""
        found: Any = self.documents
        places: list[tuple[int, int]] = found.stretches(position)
        return places

    def digest(self, position: int) -> bytes | None:
        """Return the digest of a file that is one document."""
        found: Any = self.documents
        digest: bytes | None = found.digest(position)
        return digest

    def require(self, text: str, id: str | None) -> None:
        """Define a good row."""
        self.documents.require(text, id)

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
    documents: Documents, columns: Chosen, settings: Settings, key: Key, progress: Progress
) -> ReadDocuments:
    """Fingerprint new documents under the key of saved ones."""
    parts = parts_of(documents, columns, settings, None)
    corpus = Corpus(parts, settings, key, empty_alike=settings.keep.empty == "one")
    slots = 0 if simhash_words(settings) else settings.sketch.slots
    saved = []
    with progress.stage("fingerprint", documents.size_bytes, "bytes") as advance:
        for read in read_chunks(corpus, slots):
            saved.append(saved_form(read, key))
            advance(read.bytes_read)
    return ReadDocuments(documents, saved, key)


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
    asked = settings.search
    if not settings.by_simhash and asked.method != "exact" and MEASURES[asked.measure].by_lsh:
        keys = NewKeys.of(new.saved, plan(asked.threshold, asked.recall, settings.sketch.slots))
        against = against.only([meeting(part, keys) for part in against.parts])
    old = Reference(against, against.chosen)
    return run(Inputs(new, columns, settings, old, action, review=review), progress), against


def fill_against(
    outcome: Outcome,
    compared: FingerprintedDocuments,
    folder: OutputFolder,
    action: Action,
    progress: Progress,
    store_texts: bool = False,
) -> tuple[Found, NamedGroups]:
    """Write a result of new documents with the names of the groups; ``compared`` are the saved documents."""
    found = fill(outcome, folder, action, progress, store_texts=store_texts)
    names = named_groups(outcome, compared)
    folder.write_table("names.parquet", names.table())
    return found, names


@contextmanager
def growing_by(
    new: ReadDocuments, columns: Chosen, settings: Settings, against: FingerprintedDocuments, parent: Path
) -> Iterator[Callable[[NamedGroups], None]]:
    """Add the new documents as a part to the folder ``parent``, when the block ends without an exception.

    The block calls the yielded function with the names of the groups. Raises InputError for documents that are
    among the saved ones already, OutputError if the part cannot be written.
    """
    _require_new(new, against)
    words = simhash_words(settings)
    sizes = (0 if words else settings.sketch.slots, words)
    target = next_part(parent)
    named: list[NamedGroups] = []
    with FingerprintFolder(target, settings, sizes, against.secret) as made:
        made.restrict(access_of(new))
        for chunk in new.saved:
            made.add(chunk)
        complete(made, new, columns, settings)
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
