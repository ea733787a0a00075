"""The training side: documents stream through a scan, which keeps candidates and counts, not the texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from neardup.corpus.contamination.evidence import WindowCounts
from neardup.corpus.contamination.matches import CANDIDATES, ItemSearch, Scanned, scan
from neardup.deduplication.runs import Meter
from neardup.display import printable
from neardup.errors import InputError
from neardup.io.files import beginning
from neardup.io.inputs import Chosen, Chunk, Documents, Problem, memory_of, remind
from neardup.io.outputs import FinishedParts, OutputFolder, Scratch, journal_here
from neardup.io.sources import ChangedError, decoded_table
from neardup.runtime import ordered_map
from neardup.tables import facts_of, one_array, with_facts

_PLACE = [("id", pa.large_string()), ("source", pa.large_string()), ("row", pa.int64())]
TRAINED = pa.schema([*_PLACE, *list(CANDIDATES)[1:]])
"""A candidate with the id, file and row of its document."""

CANDIDATES_FILE, COUNTS_FILE, SCAN_FILE = "candidates.parquet", "window_counts.parquet", "scan.json"
"""The scan of one part of the training documents, in its output folder."""


class ScanPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The facts of a scanned chunk besides its candidates, for a journal."""

    texts: int
    windows: list[int]
    documents: list[int]
    problems: list[Problem]
    memory: str | None = None


class ScanFacts(msgspec.Struct, frozen=True):
    """The origin of a stored scan: the ``items``, by their digest, the least ``share``, and the training files."""

    items: str
    share: str
    texts: int
    sources: list[str]
    candidates: int


@dataclass(frozen=True, eq=False)
class TrainingScan:
    """All candidates of some training documents (TRAINED), in a working file, and the counts of the windows."""

    search: ItemSearch
    candidates: pa.Table
    counts: WindowCounts
    sources: Sequence[str]
    problems: Sequence[Problem] = field(default_factory=list)

    def save(self, folder: OutputFolder) -> None:
        """Write the tables that the runs of other parts need to weigh their matches by all parts."""
        windows = np.flatnonzero(self.counts.documents)
        counts = {
            "window": pa.array(windows),
            "documents": pa.array(self.counts.documents[windows].astype(np.int64)),
        }
        facts = ScanFacts(
            self.search.items.digest,
            str(self.search.rules.share),
            self.counts.texts,
            list(self.sources),
            self.candidates.num_rows,
        )
        folder.write_table(CANDIDATES_FILE, self.candidates)
        folder.write_table(COUNTS_FILE, pa.table(counts))
        folder.write_json(SCAN_FILE, msgspec.to_builtins(facts))


def scan_training(documents: Documents, columns: Chosen, search: ItemSearch, meter: Meter) -> TrainingScan:
    """Scan the documents once, a few chunks at a time; parts that a journal has are not scanned again."""
    counts, problems, journal = WindowCounts(search.items), list[Problem](), journal_here()
    table = Scratch().table()

    def work(chunk: Chunk) -> tuple[pa.Table, ScanPart]:
        return _scan_chunk(chunk, columns, search, journal)

    names = [columns.text, *([columns.id] if columns.id else [])]
    with meter.stage("scan", None, "documents") as advance, table:
        table.add(TRAINED.empty_table())
        for candidates, facts in ordered_map(work, documents.chunks(None, names), search.settings.work.threads):
            windows, having = np.array(facts.windows, np.int64), np.array(facts.documents, np.int64)
            counts.add(Scanned(facts.texts, candidates, windows, having))
            problems += facts.problems
            if candidates.num_rows:
                table.add(candidates)
            advance(facts.texts)
    return TrainingScan(search, table.table, counts, documents.names, problems)


def _scan_chunk(
    chunk: Chunk, columns: Chosen, search: ItemSearch, journal: FinishedParts | None
) -> tuple[pa.Table, ScanPart]:
    name = f"chunk {chunk.index}"
    finished = None if journal is None else journal.get(name)
    if finished is not None:
        facts = facts_of(finished, ScanPart)
        remind(chunk, facts.memory)
        return finished.replace_schema_metadata(None), facts
    rows = chunk.read([columns.text, columns.id] if columns.id else [columns.text])
    scanned = scan(one_array(rows.table.column(columns.text)), search)
    texts = scanned.candidates["text"].to_numpy()
    numbers = rows.row_numbers[texts]
    if columns.id:
        ids = rows.table.column(columns.id).take(pa.array(texts)).cast(pa.large_string())
    else:
        ids = pa.array([f"{chunk.source}#{number}" for number in numbers.tolist()], pa.large_string())
    places = [ids, pa.array([chunk.source] * len(texts), pa.large_string()), pa.array(numbers)]
    table = pa.table([*places, *scanned.candidates.columns[1:]], schema=TRAINED)
    memory = None if journal is None else memory_of(chunk)
    problems = list(rows.problems)
    facts = ScanPart(scanned.texts, scanned.windows.tolist(), scanned.documents.tolist(), problems, memory)
    if journal is not None:
        journal.put(name, with_facts(table, facts))
    return table, facts


def stored_scan(folders: Sequence[Path], search: ItemSearch) -> TrainingScan:
    """The scans of several parts as one. Raises InputError for scans of other items, or of one part twice."""
    counts, sources = WindowCounts(search.items), list[str]()
    table = Scratch().table()
    with table:
        table.add(TRAINED.empty_table())
        for folder in folders:
            facts, candidates, windows = _load_scan(folder)
            if (facts.items, facts.share) != (search.items.digest, str(search.rules.share)):
                raise InputError(
                    f"{printable(str(folder))} was scanned for other test items, or with another share",
                    "Scans with the same --against, --fields, --length and --threshold",
                    "Scan that part again",
                )
            if again := set(sources) & set(facts.sources):
                raise InputError(
                    f"{printable(min(again))} is in two of the scans", "Each part once", "Leave one of them out"
                )
            sources += facts.sources
            places, having = windows["window"].to_numpy(), windows["documents"].to_numpy()
            counts.add(Scanned(facts.texts, candidates, places, having))
            table.add(candidates)
    return TrainingScan(search, table.table, counts, sources)


def _load_scan(folder: Path) -> tuple[ScanFacts, pa.Table, pa.Table]:
    try:
        facts = msgspec.json.decode(beginning(folder / SCAN_FILE), type=ScanFacts)
        tables = [decoded_table(name, beginning(folder / name)) for name in (CANDIDATES_FILE, COUNTS_FILE)]
        if tables[0].num_rows != facts.candidates:
            raise ValueError("the tables are of another scan")
        return facts, tables[0].cast(TRAINED), tables[1]
    except (OSError, ValueError, KeyError, ChangedError, msgspec.MsgspecError, pa.ArrowException) as error:
        raise InputError(
            f"{printable(str(folder))} has no scan: {printable(str(error))}",
            "Folders that neardup decontaminate --report-only has written",
            "Scan that part with --report-only",
        ) from error
