"""The parts of a document outside its text: attachments, and parts that are not read; only bytes are compared.

They are part of the identity of the document. They are held by row, and rows without any are left out.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.formats.content import ATTACHED, UNREAD, Attachment
from neardup.tables import Bools, Int64s, UInt64s

ATTACHMENTS = "attachments"
"""The column of readers and tables that holds them."""

ATTACHMENTS_TYPE = pa.list_(
    pa.struct(
        [
            ("name", pa.large_string()),
            ("size", pa.int64()),
            ("sha256", pa.large_string()),
            ("kind", pa.large_string()),
        ]
    )
)

_CARRYING = frozenset(("text", "warc"))

NOT_COMPARED = "not_compared"
"""The column of pairs with the kinds of unread content in which the two documents differ."""

BESIDE = "beside"
"""In place of a hash: a file beside a document, of the same sample, whose content is not compared."""

SHOWN, SHOWN_LETTERS = 3, 60
"""Number of attachment names in a sentence, and letters of each."""


def carries(documents: Any) -> bool:
    """Return whether documents, or some of several inputs in one, may have parts beside their texts."""
    return not _CARRYING.isdisjoint(getattr(documents, "formats", (documents.format,)))


Carried: TypeAlias = Mapping[int, tuple[Attachment, ...]]
"""The attachments of rows that have some, sorted by name."""


def carried_by(column: Any) -> dict[int, tuple[Attachment, ...]]:
    """Return the attachments in a column of ``ATTACHMENTS_TYPE``, by place; places without any are left out."""
    if column.null_count == len(column):
        return {}
    places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    found = column.take(pa.array(places)).to_pylist()
    return {
        place: tuple(Attachment(**one) for one in listed)
        for place, listed in zip(places.tolist(), found, strict=True)
        if listed
    }


def column_of(found: Sequence[Sequence[Attachment]]) -> pa.Array:
    """Return a column of ``ATTACHMENTS_TYPE``, with null for places without attachments."""
    return pa.array([[one._asdict() for one in listed] or None for listed in found], ATTACHMENTS_TYPE)


def column_for(rows: Int64s, carried: Carried) -> pa.Array:
    """Return the column ``attachments`` for the given rows."""
    return column_of([carried.get(row, ()) for row in rows.tolist()])


def mix_in(keys: UInt64s, carried: Carried) -> None:
    """Make the attachments and unread parts part of the stream keys (uint64[n, 2]) of the texts at these places.

    Two texts have the same key only if they have the same stream, and attachments and unread parts of the same
    names, sizes and contents.
    """
    for place, found in carried.items():
        for person, listed in ((b"attachments", own_of(found)), (b"unread", unread_of(found))):
            if not listed:
                continue
            digest = hashlib.blake2b(keys[place].tobytes(), digest_size=16, person=person)
            for one in listed:
                name = one.name.encode("utf-8", "surrogatepass")
                digest.update(b"%d:%b%d:%b" % (len(name), name, one.size, one.sha256.encode("ascii", "replace")))
            keys[place] = np.frombuffer(digest.digest(), np.uint64)


def own_of(found: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Return the attachments alone: no unread parts, and no files beside the document."""
    return tuple(one for one in found if one.kind == ATTACHED and one.sha256 != BESIDE)


def unread_of(parts: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Return the parts of the document that are not in its text."""
    return tuple(one for one in parts if one.kind == UNREAD)


def not_compared(own: Sequence[Attachment], other: Sequence[Attachment]) -> tuple[str, ...]:
    """Return the kinds of unread content in which two documents differ.

    >>> not_compared([Attachment("images", 4, "88d4", UNREAD)], [Attachment("plan.pdf", 1, "ca97")])
    ('images',)
    """
    differing = {*unread_of(own)} ^ {*unread_of(other)}
    return tuple(sorted({one.name for one in differing}))


def in_samples(rows: Int64s, carried: Carried) -> Bools:
    """bool[n]: which of the rows are files of samples."""
    found = [row for row, listed in carried.items() if any(one.sha256 == BESIDE for one in listed)]
    return np.isin(rows, np.array(found, np.int64))


def missing_attachments(own: Sequence[Attachment], kept: Sequence[Attachment]) -> list[Attachment]:
    """Return the attachments of ``own`` whose content is not among ``kept``, under any name."""
    there = {one.sha256 for one in kept}
    return [one for one in own if one.sha256 not in there]


def lacking_places(rows: Int64s, heads: Int64s, carried: Carried) -> Int64s:
    """Return the places of ``rows`` with an attachment that their head lacks, and of files of samples."""
    if not carried:
        return np.empty(0, np.int64)
    having = np.flatnonzero(np.isin(rows, np.fromiter(carried, np.int64, len(carried)))).tolist()
    found = [
        k
        for k in having
        if missing_attachments(own_of(carried[int(rows[k])]), own_of(carried.get(int(heads[k]), ())))
    ]
    return np.union1d(np.array(found, np.int64), np.flatnonzero(in_samples(rows, carried) & (rows != heads)))


def lost_unread(groups: Sequence[Any], kept: Sequence[bool], carried: Carried) -> dict[str, int]:
    """Return for each kind of unread parts how many members go with parts that no member of their group keeps.

    ``groups`` and ``kept`` are those of each member, ``carried`` the parts by the places of the members.
    """
    there = {
        (groups[place], one.name, one.sha256) for place, parts in carried.items() if kept[place] for one in parts
    }
    gone = ((groups[place], unread_of(parts)) for place, parts in carried.items() if not kept[place])
    kinds = (one.name for group, parts in gone for one in parts if (group, one.name, one.sha256) not in there)
    return dict(sorted(Counter(kinds).items()))


def differences(rows: Int64s, heads: Int64s, labels: Any, carried: Carried) -> Iterator[tuple[int, str]]:
    """Yield (place, sentence) where a row or its head has attachments, or unread parts that differ.

    The sentence describes how they differ.

    ``labels`` are the names of the heads.
    """
    if not carried:
        return
    having = np.fromiter(carried, np.int64, len(carried))
    for k in np.flatnonzero(np.isin(rows, having) | np.isin(heads, having)).tolist():
        all_own, all_other = (carried.get(int(row), ()) for row in (rows[k], heads[k]))
        own, other = own_of(all_own), own_of(all_other)
        said = [_difference(own, other, labels[k].as_py())] if own or other else []
        if any(one.sha256 == BESIDE for one in all_own):
            said.append(_sample_in_words(all_own))
        if kinds := not_compared(all_own, all_other):
            said.append(f"not compared: {', '.join(kinds)}, which differ")
        if said:
            yield k, "; ".join(said)


def in_words(found: Sequence[Attachment]) -> str:
    """Return the number of attachments and the names of the first ones, files beside the document, unread kinds.

    >>> in_words([Attachment("plan.pdf", 4, "88d4"), Attachment("images", 9, "ca97", UNREAD)])
    '1 attachment: plan.pdf; images, which are not read'
    """
    own, unread = own_of(found), unread_of(found)
    beside = [one for one in found if one.sha256 == BESIDE]
    phrases = [f"{len(own):,} attachment{'s' * (len(own) != 1)}: {_names(own)}"] if own else []
    phrases += [f"files beside it: {_names(beside)}"] if beside and not own else []
    phrases += [f"{', '.join(one.name for one in unread)}, which are not read"] if unread else []
    return "; ".join(phrases)


def _names(parts: Sequence[Attachment]) -> str:
    shown = (one.name[:SHOWN_LETTERS] + "…" * (len(one.name) > SHOWN_LETTERS) for one in parts[:SHOWN])
    return ", ".join(shown) + ", …" * (len(parts) > SHOWN)


def _sample_in_words(found: Sequence[Attachment]) -> str:
    return f"shares its name with {_names([one for one in found if one.sha256 == BESIDE])}"


def differing_kinds(own: Sequence[Attachment], other: Sequence[Attachment]) -> tuple[str, ...]:
    """Return the kinds of parts beside their text in which two documents differ, attachments included."""
    attachments = ("attachments",) * (own_of(own) != own_of(other))
    return (*attachments, *not_compared(own, other))


def differing_in(table: pa.Table, a: int, b: int) -> tuple[str, ...]:
    """Return the same of two rows of a stored table; nothing if it lacks the column."""
    if ATTACHMENTS not in table.column_names or min(a, b) < 0:
        return ()
    parts = stored_attachments(table.select([ATTACHMENTS]).take(pa.array([a, b])))
    return differing_kinds(parts.get(0, ()), parts.get(1, ()))


def kinds_not_compared(a: Int64s, b: Int64s, carried: Carried) -> pa.Array:
    """Return for each pair of rows the kinds of unread content in which they differ, else null."""
    both = zip(a.tolist(), b.tolist(), strict=True)
    differing = (not_compared(carried.get(one, ()), carried.get(other, ())) for one, other in both)
    return pa.array([", ".join(kinds) or None for kinds in differing], pa.string())


def same_or_not(a: Int64s, b: Int64s, carried: Carried) -> pa.Array:
    """Return for each pair of rows whether their attachments differ; null where neither has any."""
    said = []
    for one, other in zip(a.tolist(), b.tolist(), strict=True):
        own, theirs = own_of(carried.get(one, ())), own_of(carried.get(other, ()))
        said.append(own != theirs if own or theirs else None)
    return pa.array(said, pa.bool_())


def stored_attachments(table: pa.Table) -> dict[int, tuple[Attachment, ...]]:
    """Return the attachments of the rows of a stored table; empty if the column is missing.

    Raises InputError for attachments that lack a name, a size or a hash.
    """
    if ATTACHMENTS not in table.column_names:
        return {}
    column = pc.cast(table[ATTACHMENTS], ATTACHMENTS_TYPE)
    each = pc.list_flatten(column)
    parts = [each, *(pc.struct_field(each, field.name) for field in ATTACHMENTS_TYPE.value_type)]
    if any(part.null_count for part in parts):
        raise InputError(
            "The attachments in this result are damaged",
            "Attachments with a name, a size and a hash",
            "Run neardup on the documents again",
        )
    return carried_by(column)


def _difference(own: Sequence[Attachment], other: Sequence[Attachment], label: str) -> str:
    if own == other:
        return f"with the same {in_words(own)}"
    missing, more = missing_attachments(own, other), missing_attachments(other, own)
    if missing:
        return f"has {in_words(missing).replace(':', f' that {label} lacks:', 1)}"
    if more and own:
        return f"all its attachments are in {label}, which has {len(more):,} more"
    return (
        f"has no attachments; {label} has {in_words(more)}" if more else "the same attachments under other names"
    )
