"""Find a document of a result by its id, and read its text again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.display import counted, printable
from neardup.errors import InputError
from neardup.join.criterion import similarity_of
from neardup.measures import LITERAL, MEASURES
from neardup.run.records import SHINGLES, Id, Looked, ResultRecord, Shared
from neardup.run.tables import COUNTS, MEASURED
from neardup.run.texts import MOST_DIGITS, InputTexts
from neardup.tables import Floats, Int64s, column


def looked(found: ResultRecord, id: Id) -> Looked:
    """Return a document of the input. Raises InputError if it cannot be read as it was."""
    if found.texts is None:
        raise no_texts()
    row, size = _recorded(found, id)
    document = found.texts.look(id, row)
    if document is None:
        raise InputError(f"There is no document {printable(id)} in the input", "An id as it is in the input")
    if size is not None and document.size != size:
        raise InputError(
            f"{printable(id)} has changed since the result was made: it has {counted(document.size, 'byte')}, and "
            f"{size:,} were read ({printable(document.where)})",
            "The input as the run read it",
            "Make the result again",
        )
    return document


def no_texts() -> InputError:
    """Return the error for a result without texts."""
    return InputError(
        "The result holds no texts to show",
        "A result with stored texts",
        "Make it again without --no-store-texts, from documents or fingerprints whose texts are there",
    )


def places_of(found: ResultRecord, ids: Collection[Id]) -> Iterator[tuple[Id, str, int | None]]:
    """Yield documents of this run, not of a stored result, with their file and their row, None for a whole file.

    Documents in memory have no place.
    """
    if not isinstance(found.texts, InputTexts) or not ids:
        return
    wanted = pa.array(list(ids), found.ranks.schema.field("id").type)
    ranks = found.ranks.filter(pc.is_in(found.ranks["id"], value_set=wanted))
    places = found.texts.places(column(ranks, "row"))
    for id, (file, row) in zip(ranks["id"].to_pylist(), places, strict=True):
        if file:
            yield id, file, row


def _recorded(found: ResultRecord, id: Id) -> tuple[int | None, int | None]:
    """Return the row of a document and the size of its text, if the result has them.

    If a document of the reference set has the same id, the one of the new input counts.
    """
    rows = found.ranks.filter(_is(found.ranks, id)).select(["row", "bytes", "reference"]).to_pylist()
    rows.sort(key=lambda row: bool(row["reference"]))
    return (rows[0]["row"], rows[0]["bytes"]) if rows else (None, None)


def is_known(found: ResultRecord, id: Id) -> bool:
    """Return whether a document is in the input, as far as the tables show or the input can be read again."""
    if found.ranks.num_columns and pc.any(_is(found.ranks, id)).as_py():
        return True
    try:
        looked(found, id)
    except (InputError, OSError):
        return False
    return True


@dataclass(frozen=True)
class Outside:
    """A document that is not in a group although it has a pair with a ``member``; ``group`` is its own, if any."""

    id: Id
    similarity: float
    member: Id
    group: Id | None


def outside(found: ResultRecord, id: Id, limit: int) -> tuple[Outside, ...]:
    """Return the nearest documents outside the group of a document, by the stored pairs of its members.

    Documents below the threshold are not among them, because their pairs are not stored. Exact copies are
    represented by the first of them.
    """
    inside = _with_group(found, id)
    first = _first_of(found, inside)
    firsts = pa.array(
        list({first.get(member, member) for member in inside}), found.pairs.schema.field("id_a").type
    )
    from_a, from_b = (pc.is_in(found.pairs[end], value_set=firsts) for end in ("id_a", "id_b"))
    crossing = pc.xor(from_a, from_b)
    from_a, pairs = from_a.filter(crossing), found.pairs.filter(crossing)
    member, other = (
        pc.if_else(from_a if begins else pc.invert(from_a), pairs["id_a"], pairs["id_b"])
        for begins in (True, False)
    )
    mine = pc.equal(member, pa.scalar(first.get(id, id), member.type))
    ends = pa.table(
        {
            "value": similarities(found, pairs),
            "mine": pc.cast(mine, pa.uint8()),  # Arrow cannot sort truth values
            "name": pc.cast(other, pa.large_string()),
            "member": member,
            "other": other,
        }
    )
    ends = ends.take(
        pc.sort_indices(ends, [("value", "descending"), ("mine", "descending"), ("name", "ascending")])
    )
    ends = ends.take(np.sort(np.unique(_codes(ends["other"]), return_index=True)[1])[:limit])
    group_of = _groups_of(found, ends["other"])
    shown = zip(*(ends[name].to_pylist() for name in ("other", "value", "member")), strict=True)
    return tuple(Outside(other, value, member, group_of.get(other)) for other, value, member in shown)


def _codes(ids: pa.ChunkedArray) -> Int64s:
    """A number for each id, the same for equal ones."""
    encoded = ids.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def stored_pairs(
    found: ResultRecord, members: Iterable[Id], representatives: Iterable[Id], drawn: Iterable[Id]
) -> dict[tuple[Id, Id], Shared]:
    """Return the pairs of ``members`` with ``representatives``, and those among ``drawn``, from both sides.

    All are first documents of exact copies. There are as many objects as members, however many pairs they have.
    """
    kind = found.pairs.schema.field("id_a").type
    sets = [pa.array(list(ids), kind) for ids in (members, representatives, drawn)]
    (a_member, a_leads, a_drawn), (b_member, b_leads, b_drawn) = (
        [pc.is_in(found.pairs[end], value_set=ids) for ids in sets] for end in ("id_a", "id_b")
    )
    led = pc.or_(pc.and_(a_member, b_leads), pc.and_(a_leads, b_member))
    pairs = found.pairs.filter(pc.or_(led, pc.and_(a_drawn, b_drawn)))
    measured = "common" in pairs.column_names
    unit = MEASURES[found.run.settings["measure"]].unit_of(found.run.settings.get("matching", LITERAL))
    names = ("id_a", "id_b", *(MEASURED if measured else COUNTS))
    evidence = {}
    for a, b, shared, size_a, size_b in zip(*(pairs[name].to_pylist() for name in names), strict=True):
        evidence[a, b] = Shared(shared, size_a, size_b, unit if measured else SHINGLES)
        evidence[b, a] = Shared(shared, size_b, size_a, unit if measured else SHINGLES)
    return evidence


def similarities(found: ResultRecord, pairs: pa.Table) -> Floats:
    """Return the similarities of some pairs of a result by the measure of the run, in the better direction."""
    shared, *sizes = (column(pairs, name) for name in (MEASURED if "common" in pairs.column_names else COUNTS))
    return _similarities(found, shared, *sizes)


def links(
    found: ResultRecord,
    ids: Sequence[Id],
    first_of: Mapping[Id, Id],
    shared: Mapping[tuple[Id, Id], Shared],
) -> tuple[tuple[Id, Id, float], ...]:
    """Return the pairs of different ``ids`` that are in ``shared``, with their similarities.

    ``first_of`` has the first document of each exact copy, which represents it in ``shared``.
    """
    ends = {(a, b): (first_of.get(a, a), first_of.get(b, b)) for a, b in combinations(ids, 2)}
    pairs = [pair for pair, (a, b) in ends.items() if a == b or (a, b) in shared]
    counts = [
        (one.shared, one.size, one.other_size) if one is not None else (1, 1, 1)
        for one in (shared.get(ends[pair]) for pair in pairs)
    ]
    values = _similarities(found, *np.array(counts, np.int64).reshape(-1, 3).T)
    return tuple((a, b, value) for (a, b), value in zip(pairs, values.tolist(), strict=True))


def similarity_of_pair(found: ResultRecord, pair: Shared) -> float:
    """Return the similarity of a pair by the measure of the run, in the better direction."""
    counts = (np.array([count]) for count in (pair.shared, pair.size, pair.other_size))
    return float(_similarities(found, *counts)[0])


def _similarities(found: ResultRecord, shared: Int64s, size: Int64s, other: Int64s) -> Floats:
    formula = MEASURES[found.run.settings["measure"]].formula
    return np.maximum(similarity_of(shared, size, other, formula), similarity_of(shared, other, size, formula))


def fate(found: ResultRecord, id: Id) -> str:
    """Describe in a few words whether a document stays, and why."""
    rows = found.groups.filter(_is(found.groups, id)).to_pylist()
    if rows:
        return f"{'kept' if rows[0]['kept'] else 'removed'}: {rows[0]['reason']}"
    aside = found.not_judged.filter(_is(found.not_judged, id)).to_pylist()
    if aside:
        return f"{'kept' if aside[0]['kept'] else 'removed'}, not judged: {aside[0]['reason']}"
    return "kept: it is in no group"


def _is(table: pa.Table, id: Id) -> pa.ChunkedArray:
    """Return which rows of a table have an id."""
    kind = table["id"].type
    if isinstance(id, str) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pc.equal(table["id"], pa.scalar(id, kind))
    return pc.equal(pc.cast(table["id"], pa.large_string()), str(id))


def typed_id(found: ResultRecord, typed: str) -> Id:
    """Return an id that was typed as the result has it: a number where its ids are numbers."""
    number = pa.types.is_integer(found.ranks.schema.field("id").type)
    digits = typed.removeprefix("-")
    return (
        int(typed) if number and digits.isascii() and digits.isdecimal() and len(digits) <= MOST_DIGITS else typed
    )


def _with_group(found: ResultRecord, id: Id) -> set[Id]:
    """A document and the others of its group."""
    own = _groups_of(found, [id]).get(id, id)
    groups = found.groups
    near = groups.filter(pc.equal(groups["group"], pa.scalar(own, groups["group"].type)))["id"]
    # an id of the reference set may occur again; its last row counts
    return {member for member, group in _groups_of(found, near).items() if group == own} | {id}


def _groups_of(found: ResultRecord, ids: Iterable[Id] | pa.ChunkedArray) -> dict[Id, Id]:
    """The groups of those of some ``ids`` that are in one."""
    return _named(found.groups, "group", ids)


def _first_of(found: ResultRecord, ids: Iterable[Id]) -> dict[Id, Id]:
    """The first documents of those of some ``ids`` that are exact copies."""
    return _named(found.copies, "copy_of", ids)


def _named(table: pa.Table, name: str, ids: Iterable[Id] | pa.ChunkedArray) -> dict[Id, Id]:
    wanted = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else list(ids)
    rows = table.filter(pc.is_in(table["id"], value_set=pa.array(wanted, table.schema.field("id").type)))
    return dict(zip(rows["id"].to_pylist(), rows[name].to_pylist(), strict=True))
