"""The most similar pairs of an input, without a threshold: the first stages of a run, and a search of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Unpack, cast

import numpy as np
import pyarrow as pa

from neardup.deduplication.group.rows import JudgedRows
from neardup.deduplication.join.base_documents import open_base
from neardup.deduplication.join.method import BYTES_A_SHINGLE, join_room
from neardup.deduplication.join.rows import Rows, Sketches
from neardup.deduplication.join.shingle_store import DocumentSets
from neardup.deduplication.join.top_pairs import BestPairs, Wanted, most_similar
from neardup.deduplication.run.asked_columns import FindKeywords, reference_of
from neardup.deduplication.run.find import READING, given_to
from neardup.deduplication.run.pipeline import Meter, Pipeline, Stage
from neardup.deduplication.run.stages import groups
from neardup.deduplication.run.stages.records import Inputs, Notes
from neardup.deduplication.run.tables import COUNTS, MEASURED, pair_table
from neardup.display import counted, similarity, size
from neardup.display.view import PlainData, heading, name_of, paragraph, table, view
from neardup.errors import SettingError
from neardup.io.inputs import Problems, choose_columns, open_documents
from neardup.runtime import Progress, Silent
from neardup.settings import MEASURES, SearchSettings, SettingKeywords, Settings, Work, share_of
from neardup.tables import Int64s, verified_table

ADDED = ("similarity", "copies_a", "copies_b")
"""The columns after those of ``pairs.parquet``: the value of the measure, and the copies of each document."""
_SHOWN = 10


class SimilarPairs(NamedTuple):
    """The pairs as a table, and the exact copies that were folded into their documents."""

    table: pa.Table
    documents: int
    copies: int
    problems: Problems


@dataclass(frozen=True, eq=False, repr=False)
class TopPairs(PlainData):
    """The most similar pairs, the most similar first: prints as text, and renders in a notebook.

    ``pairs`` has the columns of ``pairs.parquet`` and ADDED; with a reference set document b is the new one,
    and its pairs follow each other. ``documents`` were compared, without ``copies`` rows with the text of
    another.
    """

    pairs: pa.Table
    wanted: Wanted
    measure: str
    documents: int
    copies: int
    problems: Problems
    notes: tuple[str, ...]
    seconds: dict[str, float]

    def __len__(self) -> int:
        return int(self.pairs.num_rows)

    def as_dict(self) -> dict[str, Any]:
        """Return the account and the pairs as plain data."""
        return {
            "top": self.wanted.top,
            "threshold": float(self.wanted.least),
            "nearest": self.wanted.nearest,
            "measure": self.measure,
            "documents": self.documents,
            "exact_copies": self.copies,
            "rejected": len(self.problems),
            "problems": [{"source": one.source, "row": one.row, "reason": one.reason} for one in self.problems],
            "notes": list(self.notes),
            "seconds": self.seconds,
            "pairs": self.pairs.to_pylist(),
        }

    def sentence(self) -> str:
        """Return the number of pairs, and of the documents that were compared."""
        of = f"{counted(len(self), 'pair')} of {counted(self.documents, 'document')} by {self.measure}"
        each = "nearest of each new document" if self.wanted.nearest else "most similar"
        ties = f"the {self.wanted.top:,} {each}, and those as similar as the last"
        return f"{of}: {ties}; {counted(self.copies, 'exact copy', 'exact copies')} left out"

    def __repr__(self) -> str:
        return f"TopPairs({self.sentence()})"

    def _repr_html_(self) -> str:
        head, rows = ("A", "B", "similarity", "in common"), []
        for row in self.pairs.slice(0, _SHOWN).to_pylist():
            ends = name_of(row["id_a"]), name_of(row["id_b"])
            rows.append((*ends, similarity(row["similarity"]), _in_common(row)))
        left = len(self) - len(rows)
        more = [paragraph(f"… and {counted(left, 'more pair')}")] if left else []
        return view(heading("Most similar pairs"), paragraph(self.sentence()), table(head, rows), *more)


def _in_common(row: dict[str, Any]) -> str:
    names = MEASURED if "common" in row else COUNTS
    shared, size_a, size_b = (row[name] for name in names)
    return f"{shared:,} of {size_a:,} + {size_b:,}"


def top_pairs(
    documents: object,
    *,
    top: int = 100,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    against: object | None = None,
    ignore: object | None = None,
    progress: Progress | None = None,
    **settings: Unpack[FindKeywords],
) -> TopPairs:
    """Find the ``top`` most similar pairs by the measure, without a threshold: exactly, and complete with ties.

    ``documents``, ``text``, ``id``, ``ignore`` and ``settings`` as in :func:`neardup.find`; settings of groups and
    of the search have no effect. With ``against``, the ``top`` nearest documents of that reference set for each
    new document. ``threshold`` is the least similarity; by default anything in common. Pairs as similar as the
    last one are all there, so there may be more than ``top``; pairs with nothing in common are never there. Rows
    with the same text are one document, named by the first row. The order is by similarity, then by the rows.

    Raises SettingError for settings out of range, and InputError for input that cannot be used.

    >>> texts = ["the quick brown fox jumps", "the quick brown fox sleeps", "a quick brown fox jumps", "no"]
    >>> top_pairs(texts, top=1, length=2).pairs.select(["id_a", "id_b", "similarity"]).to_pylist()
    [{'id_a': 0, 'id_b': 1, 'similarity': 0.6}, {'id_a': 0, 'id_b': 2, 'similarity': 0.6}]
    """
    least = share_of(settings.pop("threshold", 0.0))
    of_old = (settings.pop("against_text", None), settings.pop("against_id", None))
    wanted = wanted_of(top, least, nearest=against is not None)
    chosen = Settings.of(**cast(SettingKeywords, settings))
    opened = open_documents(documents, reading=chosen.reading)
    columns = choose_columns(opened, text, id)
    old = None if against is None else open_documents(against, reading=chosen.reading.of_references)
    base = open_base(ignore, columns, chosen.reading)
    inputs = Inputs(opened, columns, chosen, reference_of(old, columns, *of_old), ignore=base)
    return top_of(inputs, wanted, progress or Silent())


def wanted_of(top: int, least: float, *, nearest: bool) -> Wanted:
    """The wanted pairs. Raises SettingError for values out of range."""
    if top < 1:
        raise SettingError(f"top is {top}", "A whole number, 1 or more")
    if isinstance(least, str) or not 0 <= least <= 1:
        raise SettingError(f"threshold is {least}", "A number from 0 to 1, or a percentage")
    return Wanted(top, Fraction(str(least)), nearest)


def top_of(inputs: Inputs, wanted: Wanted, progress: Progress) -> TopPairs:
    """Find the pairs of opened documents.

    Raises SettingError for settings that this search does not follow, and if the join exceeds the memory limit.
    """
    inputs = replace(inputs, settings=_as_joined(inputs.settings, wanted))
    meter = Meter(progress)
    given = [*given_to(inputs, meter), wanted]
    similar, notes = Pipeline.of(STAGES, given, (SimilarPairs, Notes)).run(*given)
    measure = inputs.settings.search.in_words
    return TopPairs(
        similar.table,
        wanted,
        measure,
        similar.documents,
        similar.copies,
        similar.problems,
        notes.texts,
        meter.seconds,
    )


def _as_joined(settings: Settings, wanted: Wanted) -> Settings:
    """The settings of an exact join, with pairs of new documents and the reference set alone if that is wanted."""
    if settings.by_simhash or settings.search.method == "lsh":
        given = "sketch is 'simhash'" if settings.by_simhash else "method is 'lsh'"
        raise SettingError(given, "An exact search, which needs no sketch", "Leave it out")
    if wanted.nearest and settings.relations.across:
        raise SettingError(
            f"across is {settings.relations.across!r} with a reference set",
            "One of the two: a pair has a new document and one of the reference set",
            "Leave out across",
        )
    relations = replace(settings.relations, no_self=wanted.nearest)
    return replace(settings, search=replace(settings.search, method="exact"), relations=relations)


def similar_pairs(
    rows: Rows,
    sketches: Sketches,
    judged: JudgedRows,
    wanted: Wanted,
    search: SearchSettings,
    work: Work,
    meter: Meter,
) -> SimilarPairs:
    """Join at falling thresholds until the wanted pairs are there, and name them."""
    _require_room(rows, search)
    measure = MEASURES[search.measure]
    sets = sketches.sets if isinstance(sketches.sets, DocumentSets) and measure.features == "shingles" else None
    pairs = most_similar(rows, sets, wanted, meter)
    with meter.stage("tables", None, "rows"):
        named = _table(pairs, rows, judged, search, work, meter)
    copies = int(np.count_nonzero(judged.copy_of != np.arange(len(judged))))
    return SimilarPairs(named, len(rows.unique), copies, rows.problems)


def _require_room(rows: Rows, search: SearchSettings) -> None:
    """Raise SettingError if the join may need more than the memory limit."""
    needed = BYTES_A_SHINGLE * int(rows.units[rows.unique].sum())
    if search.limit is not None and needed > join_room(search):
        raise SettingError(
            f"The most similar pairs may need {size(needed)}, --memory leaves {size(join_room(search))} for them",
            "A join in memory: unlike one at a threshold, it is not made in parts",
            "Give more memory, or use neardup dedup with a threshold",
        )


def _table(
    pairs: Int64s, rows: Rows, judged: JudgedRows, search: SearchSettings, work: Work, meter: Meter
) -> pa.Table:
    """The pairs with ids, in their order, and the columns ADDED."""
    by_number = verified_table(*pairs.T)
    shingles = groups.on_shingles(rows.stores, by_number, search, work, meter)
    named = pair_table(by_number, shingles, judged, search.measure)
    order = np.argsort(
        np.lexsort((pairs[:, 1], pairs[:, 0])), kind="stable"
    )  # the place of each among those by number
    copies = np.bincount(judged.copy_of, minlength=len(judged))[judged.unique] - 1
    values = BestPairs(1, MEASURES[search.measure].formula, np.empty(0, np.int64)).values(pairs)
    named = named.take(pa.array(order))
    for name, values_of_pairs in zip(ADDED, (values, copies[pairs[:, 0]], copies[pairs[:, 1]]), strict=True):
        named = named.append_column(name, pa.array(values_of_pairs))
    return named


STAGES = (
    *READING,
    Stage(groups.order),
    Stage(similar_pairs),
)
"""The stages of a run up to its rows, and the search."""


def lines_of(result: TopPairs, most: int = _SHOWN) -> Iterator[str]:
    """Yield the first pairs and the account, for people; ids are not escaped."""
    for row in result.pairs.slice(0, most).to_pylist():
        yield f"{similarity(row['similarity'])}  {row['id_a']}  {row['id_b']}  {_in_common(row)}"
    if len(result) > most:
        yield f"… and {counted(len(result) - most, 'more pair')}"
    yield result.sentence()
