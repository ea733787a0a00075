"""Views of a result, for the prompt and for a notebook: its summary, its first groups, pairs with their words."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.deduplication.run.places import similarities
from neardup.deduplication.run.records import Group, Id, ResultRecord
from neardup.deduplication.run.show import summary
from neardup.deduplication.run.sides import with_side_names
from neardup.deduplication.run.views import HEAD, NUMBERS, SHOWN_MEMBERS, rows_of
from neardup.display import counted, shorten, similarity
from neardup.display.pictures import Histogram, bars
from neardup.display.view import WORDS, PlainData, excerpt, facts, heading, name_of, paragraph, table, view
from neardup.errors import NeardupError
from neardup.settings import LITERAL, MEASURES
from neardup.tables import column

WIDTH = 80
"""Columns of a line of text."""
_NAME = 24
QUICK = 64_000_000
"""Bytes of text up to which a view reads the input again unasked."""


def html(result: ResultRecord, groups: Sequence[Group]) -> str:
    """Return the view of a result with its first ``groups``; ids and texts come from the documents."""
    run = result.run
    result = with_side_names(result)
    parts: list[str] = [facts(summary(run)), *(paragraph(f"Warning: {text}") for text in run.warnings)]
    if result.pairs.num_rows:
        parts.append(_histogram(result))
    if groups:
        shown = [member.id for group in groups for member in group.members[:SHOWN_MEMBERS]]
        parts += [heading("First groups"), _groups(groups, words_of(result, shown, unasked=True))]
    left = run.counts.groups - len(groups)
    if groups and left > 0:
        parts.append(paragraph(f"… and {counted(left, 'more group')}"))
    return view(*parts)


def _histogram(result: ResultRecord) -> str:
    settings = result.run.settings
    edges, counts = bars(similarities(result, result.pairs), settings["threshold"])
    measure = MEASURES[settings["measure"]].in_words(settings.get("matching", LITERAL))
    return Histogram(edges, counts, settings["threshold"], measure).figure()


def _groups(groups: Sequence[Group], words: dict[Id, str]) -> str:
    rows = []
    for group in groups:
        for place, row in enumerate(rows_of(group.rows(), SHOWN_MEMBERS)):
            beginning = (
                words.get(group.members[place].id, "") if place < min(len(group.members), SHOWN_MEMBERS) else ""
            )
            name = "" if place else name_of(group.id)
            rows.append((name, row.name, row.fate, row.similarity, *([beginning] if words else []), row.evidence))
    head = ("group", *HEAD[:3], *(["first words"] if words else []), HEAD[3])
    return table(head, rows, frozenset(number + 1 for number in NUMBERS))


@dataclass(frozen=True)
class PairWords(PlainData):
    """The ids of a pair, its similarity, and the first words of both; "" where a text cannot be read."""

    id_a: Id
    id_b: Id
    similarity: float
    words_a: str
    words_b: str


@dataclass(frozen=True, repr=False)
class ShownPairs(PlainData):
    """Some of the ``total`` pairs of a result: prints as text and renders in a notebook."""

    pairs: tuple[PairWords, ...]
    total: int

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[PairWords]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        rows = [
            (name_of(pair.id_a), name_of(pair.id_b), similarity(pair.similarity), pair.words_a, pair.words_b)
            for pair in self.pairs
        ]
        listed = table(("A", "B", "similarity", "first words of A", "first words of B"), rows, frozenset((2,)))
        return view(listed if rows else "", paragraph(self._count_in_words()))

    def _lines(self) -> Iterator[str]:
        ends = [
            (name_of(id), words)
            for pair in self.pairs
            for id, words in ((pair.id_a, pair.words_a), (pair.id_b, pair.words_b))
        ]
        width = min(max((len(name) for name, _ in ends), default=0), _NAME)
        for place, (name, words) in enumerate(ends):
            value = "" if place % 2 else similarity(self.pairs[place // 2].similarity)
            line = f"{value:<5}  {shorten(name, width):<{width}}  {words}"
            yield shorten(line.rstrip(), WIDTH)
            if place % 2:
                yield ""
        yield self._count_in_words()

    def _count_in_words(self) -> str:
        if len(self.pairs) == self.total:
            return counted(self.total, "pair")
        return f"{counted(len(self.pairs), 'pair')} of {self.total:,}"


def shown_pairs(result: ResultRecord, limit: int | None, *, lowest: bool) -> ShownPairs:
    """Return the most similar pairs of a result, or the least similar ones; ties in the order of the table."""
    values = similarities(result, result.pairs)
    order = np.argsort(values if lowest else -values, kind="stable")[:limit]
    rows = result.pairs.select(["id_a", "id_b"]).take(order).to_pylist()
    words = words_of(result, {row[end] for row in rows for end in ("id_a", "id_b")})
    pairs = tuple(
        PairWords(row["id_a"], row["id_b"], value, words.get(row["id_a"], ""), words.get(row["id_b"], ""))
        for row, value in zip(rows, values[order].tolist(), strict=True)
    )
    return ShownPairs(pairs, result.pairs.num_rows)


def words_of(
    result: ResultRecord, ids: Collection[Id], *, unasked: bool = False, width: int = WORDS
) -> dict[Id, str]:
    """Return the first ``width`` characters of the documents with these ids, as far as they are unchanged.

    ``unasked``: only if the whole input has at most ``QUICK`` bytes. If the reference set and the new input have
    the same id, the document of the new input counts.
    """
    texts, ranks = result.texts, result.ranks
    if texts is None or not ids or "row" not in ranks.column_names:
        return {}
    if unasked and result.run.bytes.text > QUICK:
        return {}
    try:
        wanted = pa.array(list(ids), ranks.schema.field("id").type)
        chosen = ranks.filter(pc.is_in(ranks["id"], value_set=wanted)).sort_by("row")
        known = {row["row"]: row for row in chosen.select(["row", "id", "bytes", "reference"]).to_pylist()}
        words: dict[Id, str] = {}
        for number, text in texts.each(column(chosen, "row")):
            row = known[number]
            if (row["bytes"] in (None, len(text))) and not (row["reference"] and row["id"] in words):
                words[row["id"]] = excerpt(text[: 16 * width].decode("utf-8", "replace"), width)
    except (NeardupError, OSError, pa.ArrowException, LookupError, ValueError):
        return {}  # the input has changed or is gone: a view does without
    return words
