"""``decontaminate``: which training documents contain which test items, and the proof of each match."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack, cast

import pyarrow as pa
import pyarrow.compute as pc

from neardup.corpus.contamination.evidence import MATCHES, Weights
from neardup.corpus.contamination.items import TestItems, read_items
from neardup.corpus.contamination.matches import ItemSearch, MatchRules
from neardup.corpus.contamination.outputs import Action, write
from neardup.corpus.contamination.record import ContaminationRecord, StrongMatch
from neardup.corpus.contamination.stream import TrainingScan, scan_training
from neardup.corpus.contamination.views import as_fragment, lines_of
from neardup.deduplication.runs import Meter
from neardup.errors import InputError, SettingError
from neardup.io.inputs import Chosen, Documents, choose_columns, open_documents
from neardup.io.outputs import OutputFolder, Scratch
from neardup.runtime import Progress, Silent
from neardup.settings import SettingKeywords, Settings, required_share

STRONGEST = 20
"""The matches that a report shows side by side."""


class ContaminationKeywords(SettingKeywords, total=False):
    """The rules of a match, and the settings of texts."""

    run: int
    common: float


class Contamination(ContaminationRecord):
    """The result of :func:`decontaminate`: a record that prints as text, renders in a notebook, and is saved."""

    def save(
        self, out: str | Path, action: Action = "drop", *, marker: str | None = None, overwrite: bool = False
    ) -> dict[str, Any]:
        """Write the folder of ``neardup decontaminate``, and return its account.

        ``action``: "drop" the documents with test items, "tag" them, "cut" their passages with ``marker`` in
        their place, or "report" without any document. Raises OutputError.
        """
        with OutputFolder(out, overwrite=overwrite) as folder:
            return write(self, folder, action, Meter(Silent()), marker)

    def __repr__(self) -> str:
        return (
            f"Contamination({self.contaminated:,} of {self.read:,} documents, {self.matches.num_rows:,} matches)"
        )

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def _repr_html_(self) -> str:
        return as_fragment(self)


def decontaminate(
    train: object,
    *,
    against: str | Path | Sequence[str | Path],
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    fields: Sequence[str] = (),
    against_id: str | None = None,
    progress: Progress | None = None,
    **settings: Unpack[ContaminationKeywords],
) -> Contamination:
    """Find the training documents that contain test items, with the evidence for each.

    ``train``: what :func:`neardup.find` accepts. ``against``: files with test items, one test set each; ``fields``
    names their columns with text. Each is looked for alone, and all of them together. An item is contained if
    ``threshold`` (.8) of its shingles are in a training document; of an item of fewer than ten tokens, the whole.
    A match needs text that is not common: see ``matches.MatchRules`` for ``run`` (13 tokens) and ``common``
    (.001). The test side is held in memory, and the training side is read once, a few chunks at a time.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.
    """
    threshold = required_share("threshold", settings.pop("threshold", 0.8))
    rules = rules_of(threshold, settings.pop("run", 13), settings.pop("common", 0.001))
    chosen = Settings.of(**cast(SettingKeywords, settings))
    if chosen.shingles.unit != "word" or chosen.cleaning.is_on:
        raise SettingError("decontaminate compares words as they are", "unit word, and no mask", "Leave it out")
    names = [against] if isinstance(against, str | Path) else list(against)
    if not names:
        raise InputError("No test set was given", "Files with test items", "Name them with against")
    meter = Meter(progress or Silent())
    items = read_items(names, [fields] if isinstance(fields, str) else fields, against_id, chosen, meter)
    documents = open_documents(train, reading=chosen.reading)
    columns = choose_columns(documents, text, id)
    search = ItemSearch.of(items, chosen, rules)
    return weigh_candidates(scan_training(documents, columns, search, meter), documents, columns, meter)


def rules_of(share: float, run: int, common: float) -> MatchRules:
    """The rules of a match. Raises SettingError for values out of range."""
    required_share("threshold", share)
    if not 0 <= common <= 1:
        raise SettingError(f"common is {common}", "a number from 0 to 1, or a percentage")
    if run < 1:
        raise SettingError(f"run is {run}", "a whole number of tokens, from 1")
    return MatchRules(Fraction(str(share)), run, Fraction(str(common)))


def weigh_candidates(scan: TrainingScan, documents: Documents, columns: Chosen, meter: Meter) -> Contamination:
    """Weigh the candidates of a scan by how common their shingles are in all documents of the scan."""
    search, (trained, faults) = scan.search, _named_once(scan.candidates, columns)
    weights = Weights(search.items, search.rules, scan.counts.texts, scan.counts.documents)
    proven, common = Scratch().table(), Scratch().table()
    hits: dict[str, dict[int, tuple[int, ...]]] = {}
    strongest: dict[int, StrongMatch] = {}
    with meter.stage("evidence", scan.candidates.num_rows, "matches") as advance, proven, common:
        for table in (proven, common):
            table.add(MATCHES.empty_table())
        for batch in trained.to_batches():
            matches, is_proven, candidates = weights.judge(batch)
            of_items = pa.Table.from_batches([matches.filter(pa.array(is_proven))])
            proven.add(of_items)
            common.add(pa.Table.from_batches([matches.filter(pa.array(~is_proven))]))
            for source, row, item in _places(candidates):
                of_source = hits.setdefault(source, {})
                of_source[row] = (*of_source.get(row, ()), item)
            strongest = _strongest(strongest, of_items, candidates, search.items)
            advance(batch.num_rows)
    shown = heapq.nlargest(STRONGEST, strongest.values(), key=_strength)
    notes = (*columns.notes, *faults, *search.items.notes)
    return Contamination(proven.table, common.table, weights, scan, documents, columns, hits, shown, notes)


def _named_once(candidates: pa.Table, columns: Chosen) -> tuple[pa.Table, Sequence[str]]:
    """Name the documents by source and row number if the ids of a guessed column repeat; and a note on that."""
    if not columns.id_guessed:
        return candidates, ()
    each = candidates.select(["id", "source", "row"]).group_by(["id", "source", "row"]).aggregate([])
    dropped = columns.dropped_ids_note(each["id"])
    if not dropped:
        return candidates, ()
    parts = candidates["source"], candidates["row"].cast(pa.large_string()), pa.scalar("#", pa.large_string())
    place = candidates.schema.get_field_index("id")
    renamed = candidates.set_column(place, candidates.schema.field(place), pc.binary_join_element_wise(*parts))
    return renamed, dropped


def _places(candidates: pa.RecordBatch) -> Iterable[tuple[str, int, int]]:
    columns = (candidates.column(name).to_pylist() for name in ("source", "row", "item"))
    return zip(*columns, strict=True)


def _strength(shown: StrongMatch) -> tuple[float, int]:
    return shown.match["share"], shown.match["run"]


def _strongest(
    before: dict[int, StrongMatch], matches: pa.Table, candidates: pa.RecordBatch, items: TestItems
) -> dict[int, StrongMatch]:
    """The strongest match of each item, for the items with the strongest ones."""
    order = pc.sort_indices(matches, [("share", "descending"), ("run", "descending")])
    best = dict(before)
    for place in _first_of_each(order.to_pylist(), candidates.column("item").to_pylist()):
        item = candidates.column("item")[place].as_py()
        match = matches.slice(place, 1).to_pylist()[0]
        shown = StrongMatch(match, items.items[item].text, candidates.column("context")[place].as_py())
        if item not in best or _strength(shown) > _strength(best[item]):
            best[item] = shown
    kept = heapq.nlargest(STRONGEST, best, key=lambda item: _strength(best[item]))
    return {item: best[item] for item in kept}


def _first_of_each(order: Sequence[int], items: Sequence[int], most: int = STRONGEST) -> Iterator[int]:
    """The places of the first match of each item in this order, of the first items."""
    seen: set[int] = set()
    for place in order:
        if items[place] not in seen:
            seen.add(items[place])
            yield place
            if len(seen) == most:
                return
