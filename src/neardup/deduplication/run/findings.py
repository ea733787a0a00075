"""The result of a run as data that can be queried; ``views`` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from neardup import display
from neardup.deduplication.run import found_view, lost_text, records
from neardup.deduplication.run.fates import given_back, stays, stream
from neardup.deduplication.run.found_view import ShownPairs, shown_pairs
from neardup.deduplication.run.graph import Neighbourhood, around, edges_of
from neardup.deduplication.run.places import (
    Outside,
    StoredPlaces,
    first_copies,
    input_documents,
    is_known,
    links,
    look_at,
    outside,
    stored_pairs,
)
from neardup.deduplication.run.regroup import regroup
from neardup.deduplication.run.result_folder import read_result
from neardup.deduplication.run.sides import Names
from neardup.deduplication.run.texts import StoredTexts
from neardup.deduplication.run.views import DRAWN_MEMBERS
from neardup.errors import InputError, NeardupError
from neardup.io.outputs import OutputFolder, common_access, fetched_copy
from neardup.io.place import url_in
from neardup.runtime import peak_memory
from neardup.settings import as_compared
from neardup.tables import RESULT_TABLES, TEXTS_FILE, Bools, column

if TYPE_CHECKING:
    from neardup.comparison.compare import Comparison


SHOWN_GROUPS = 10

_PORTION = 10_000
"""Groups looked up together."""

_NAMES = 100_000
"""Ids among which similar ones are sought."""

_READ_AGAIN = 10**9
"""Bytes of text up to which an input is read again to look for an id."""


class Found(records.ResultRecord):
    """The result of a run: the tables of ``records.ResultRecord``, with methods to query them."""

    @property
    def removed(self) -> pa.Table:
        """The documents that are removed: id, kept_id (the representative), similarity, reason.

        Those removed for having no text (``empty="drop"``) come last, with neither kept_id nor similarity. Where
        the representative goes, too (``keep="none"``), kept_id is null.
        """
        rows = self.groups.filter(pc.invert(self.groups["kept"]))
        judged = rows.select(["id", "group", "similarity", "reason"]).rename_columns(
            ["id", "kept_id", "similarity", "reason"]
        )
        leaderless = rows.filter(rows["representative"])["group"]
        if len(leaderless):
            stays = pc.invert(pc.is_in(rows["group"], value_set=leaderless))
            null = pa.scalar(None, judged["kept_id"].type)
            judged = judged.set_column(1, "kept_id", pc.if_else(stays, judged["kept_id"], null))
        others = self.not_judged.filter(pc.invert(self.not_judged["kept"]))
        if not others.num_rows:
            return judged
        unknown = {name: pa.nulls(others.num_rows, judged.schema.field(name).type) for name in judged.column_names}
        columns = {**unknown, "id": others["id"], "reason": others["reason"]}
        return pa.concat_tables([judged, pa.table(columns).cast(judged.schema)])

    @property
    def kept(self) -> Any:
        """The rows that stay, in the type of the object that ``find`` was given, with all their columns.

        Frames keep their index; an iterator comes back as an iterator, each time from the first row. Raises
        InputError for documents in files, for a loaded result, and if the object has changed its length.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> find([text, text + " today", "another text"], threshold=0.6, keep="first").kept
        ['the quick brown fox jumps over the lazy dog and runs far away', 'another text']
        """
        return given_back(self)

    def mask(self) -> Bools:
        """Return bool[documents]: whether each document of the input stays, in input order.

        It selects from the input of the run, or from a column beside it: ``frame[found.mask()]`` in pandas.
        Rows that could not be read have no entry. Raises InputError for a loaded result with removed documents
        that its tables do not locate: those of a run with a reference set, or named by a column and without text.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> find([text, text + " today", "another text"], threshold=0.6, keep="first").mask().tolist()
        [True, False, True]
        """
        return stays(self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows that stay, for libraries that read Arrow data: ``pl.DataFrame(found)``, ``pa.table(found)``."""
        return stream(self).__arrow_c_stream__(requested_schema)

    @cached_property
    def _names(self) -> Names:
        return Names(self)

    @property
    def named(self) -> Found:
        """The result with a name of its own for each document in place of the id.

        With a reference set whose ids the input has, too, these are strings, ``old:ID`` for those of the reference
        set. Without, it is the result itself.
        """
        found: Found = self._names.result
        return found

    def name_of(self, id: records.Id) -> records.Id:
        """Return the name in :attr:`named` of the document that an id means; the id itself if it is unknown."""
        return self._names.of(id)[0]

    def first_groups(self, limit: int | None = SHOWN_GROUPS) -> list[records.Group]:
        """The first groups with their members and the evidence of each, by the names of :attr:`named`."""
        named = self.named
        ids = pc.unique(named.groups["group"])
        return named._groups_of(ids if limit is None else ids[:limit])

    def __iter__(self) -> Iterator[records.Group]:
        """Yield the groups with their members and evidence, of which :meth:`first_groups` lists the first."""
        named = self.named
        ids = pc.unique(named.groups["group"])
        for first in range(0, len(ids), _PORTION):
            yield from named._groups_of(ids[first : first + _PORTION])

    def group(self, id: records.Id) -> records.Group | None:
        """Return the group with this id, which is the id of its representative; None if there is none."""
        named, name = self.named, self.name_of(id)
        groups = named._groups_of(pa.array([name], named.groups.schema.field("group").type))
        return groups[0] if groups and groups[0].members else None

    def why(self, id: records.Id) -> records.Decision:
        """Return the evidence for one document, also for one that stays because it is in no group.

        With a reference set, an id is that of a document of the input, else of one of the reference set;
        ``"old:ID"`` is the one in the reference set, ``"new:ID"`` the one in the input. The decision says which.
        Raises InputError for an unknown id. A stored result knows the documents in pairs, groups and copies, and
        looks for others in its input, if that has at most 1 GB of text and can be read.

        >>> from neardup.deduplication.run.find import find
        >>> print(find(["one text", "another text"]).why(1))
        1 is kept: it is in no group.
        """
        name, in_reference = self._names.of(id)
        return replace(self.named._decision(name), in_reference=in_reference)

    def _decision(self, id: records.Id) -> records.Decision:
        member_of = self.groups.filter(pc.equal(self.groups["id"], self._as_key(id)))
        copy_of = first_copies(self, [id]).get(id)
        if member_of.num_rows == 0:
            aside = self._not_judged(id)
            if copy_of is None and aside is None and not is_known(self, id):
                self._find_in_input(id)
            return records.Decision(id, None, copy_of, None, aside)
        row = member_of.slice(0, 1).to_pylist()
        first_of = first_copies(self, [id, row[0]["group"]])
        return records.Decision(
            id, row[0]["group"], copy_of, self._members(row, first_of, self._shared_pairs(row, (), first_of))[0]
        )

    def look(self, id: records.Id) -> records.Looked:
        """Return a document: its text, and where it is. Any document of the input can be read, kept or not.

        A stored result has the documents in pairs and copies. Raises InputError for any other id, for an input
        that has changed, and for a result without texts. Ids are those of :meth:`why`.
        """
        return look_at(self.named, self.name_of(id))

    def compare(self, a: records.Id, b: records.Id, **how: Any) -> Comparison:
        """Compare two documents of the input by every measure, as :func:`neardup.compare` does.

        ``how`` are its keywords; ``length``, ``unit``, and the text that is left out are those of the run unless
        given. Raises InputError as :meth:`look` does.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> find([text, text + " today"], threshold=0.6).compare(0, 1).measures["resemblance"]
        0.9
        """
        from neardup.comparison.compare import compare  # other results need not wait for its kernels

        settings = as_compared(self.run.settings)
        return compare(self.look(a).text, self.look(b).text, **{**settings, **how})

    def pair(self, a: records.Id, b: records.Id) -> records.Shared | None:
        """Return the counts of a pair, seen from ``a``; None if none is stored. Exact copies have the same pairs.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> print(find([text, text + " today"], threshold=0.6).pair(1, 0))
        shared 9 of 10 + 9 shingles
        """
        named, (a, b) = self.named, map(self.name_of, (a, b))
        first_of = first_copies(named, [a, b])
        ends = first_of.get(a, a), first_of.get(b, b)
        return stored_pairs(named, (), (), ends).get(ends)

    def outside(self, id: records.Id, limit: int = SHOWN_GROUPS) -> tuple[Outside, ...]:
        """Return the nearest documents outside the group of a document, by the stored pairs of its members.

        Pairs below the threshold are not stored. An exact copy is represented by the first of its kind.
        """
        return outside(self.named, self.name_of(id), limit)

    def around(self, id: records.Id, hops: int = 1, most: int = 1000) -> Neighbourhood:
        """Return the documents within ``hops`` pairs of a document, at most ``most``, and the pairs among them.

        Raises InputError if no pair or copy has the id, and SettingError for values out of range.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> found = find([text, text + " today", text + " to the hills"], threshold=0.6, pairs="all")
        >>> found.around(0).edges.select(["id_a", "id_b", "similarity"]).to_pylist()[0]
        {'id_a': '0', 'id_b': '1', 'similarity': 0.9}
        """
        return around(edges_of(self.named), str(self.name_of(id)), hops, most)

    def at(self, threshold: float) -> Found:
        """Return the result at a stricter threshold, from the stored pairs; no document is read again.

        Raises SettingError for a threshold below that of this result, where no pairs were sought, and InputError
        for a result without its table of ranks.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> found = find([text, text + " today", text + " to the hills"], threshold=0.6)
        >>> found
        Found(3 pairs, 1 group, 0 exact copies, 2 of 3 documents removed)
        >>> found.at(0.9)
        Found(1 pair, 1 group, 0 exact copies, 1 of 3 documents removed)
        """
        return regroup(self, threshold)

    def save(self, out: str | Path, *, overwrite: bool = False, store_texts: bool = True) -> None:
        """Write the tables and ``run.json`` into the folder ``out``; :func:`load` reads them.

        The texts of all documents in pairs and copies are written too, for :meth:`look` and :meth:`compare`, but
        not without ``store_texts``. Raises OutputError if the folder cannot be written, or if it exists and
        ``overwrite`` is not set.
        """
        with OutputFolder(out, overwrite=overwrite) as folder:
            # the kept rows of another folder are not in this one
            write_result(records.with_account(self, kept_files=None), folder, store_texts=store_texts)

    def __repr__(self) -> str:
        counts = self.run.counts
        return (
            f"Found({display.counted(self.pairs.num_rows, 'pair')}, "
            f"{display.counted(counts.groups, 'group')}, "
            f"{display.counted(self.copies.num_rows, 'exact copy', 'exact copies')}, "
            f"{counts.removed:,} of {display.counted(counts.read, 'document')} removed)"
        )

    def _repr_html_(self) -> str:
        return found_view.html(self, self.first_groups())

    def show_pairs(self, limit: int | None = 20, *, lowest: bool = False) -> ShownPairs:
        """Return the most similar pairs with the first words of both texts; with ``lowest``, the least similar.

        Each pair has id_a, id_b, similarity, words_a and words_b, which are "" where the text cannot be read.

        >>> from neardup.deduplication.run.find import find
        >>> text = "the quick brown fox jumps over the lazy dog and runs far away"
        >>> find([text, text + " today", "lunch"], threshold=0.6).show_pairs()
        0.900  0  the quick brown fox jumps over the lazy dog and runs far away
               1  the quick brown fox jumps over the lazy dog and runs far away today
        <BLANKLINE>
        1 pair
        """
        return shown_pairs(self.named, limit, lowest=lowest)

    def _groups_of(self, group_ids: pa.Array) -> list[records.Group]:
        rows = self.groups.filter(pc.is_in(self.groups["group"], value_set=group_ids)).to_pylist()
        first_of = first_copies(self, sorted({row["id"] for row in rows}, key=str))
        of_group: dict[records.Id, list[dict[str, Any]]] = {id: [] for id in group_ids.to_pylist()}
        for row in sorted(rows, key=lambda row: not row["representative"]):
            of_group[row["group"]].append(row)
        drawn = {id: [row["id"] for row in ordered[:DRAWN_MEMBERS]] for id, ordered in of_group.items()}
        shared = self._shared_pairs(rows, chain.from_iterable(drawn.values()), first_of)
        return [
            records.Group(id, self._members(ordered, first_of, shared), links(self, drawn[id], first_of, shared))
            for id, ordered in of_group.items()
        ]

    def _members(
        self,
        rows: Sequence[dict[str, Any]],
        first_of: Mapping[records.Id, records.Id],
        shared: Mapping[tuple[records.Id, records.Id], records.Shared],
    ) -> tuple[records.Member, ...]:
        """The members in some rows of the table of groups."""
        members = []
        for row in rows:
            this, other = (first_of.get(row[key], row[key]) for key in ("id", "group"))
            values = {name: row[name] for name in ("id", "representative", "similarity", "kept", "reason")}
            gone = lost_text.of_member(row, self.run.settings)
            members.append(records.Member(**values, pair=shared.get((this, other)), lost=gone))
        return tuple(members)

    def _shared_pairs(
        self,
        rows: Sequence[dict[str, Any]],
        drawn: Iterable[records.Id],
        first_of: Mapping[records.Id, records.Id],
    ) -> dict[tuple[records.Id, records.Id], records.Shared]:
        """The pairs of members with their representatives, and those among the ``drawn`` members."""
        ends = ([row["id"] for row in rows], [row["group"] for row in rows], drawn)
        return stored_pairs(self, *({first_of.get(id, id) for id in ids} for ids in ends))

    def _not_judged(self, id: records.Id) -> records.NotJudged | None:
        try:
            key = pa.scalar(id, self.not_judged.schema.field("id").type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            return None
        rows = self.not_judged.filter(pc.equal(self.not_judged["id"], key)).to_pylist()
        return records.NotJudged(rows[0]["kind"], rows[0]["kept"], rows[0]["reason"]) if rows else None

    def _as_key(self, id: records.Id) -> pa.Scalar:
        kind = self.groups.schema.field("id").type
        try:
            return pa.scalar(id, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
            raise InputError(f"The id {id!r} is not of the type of the ids here", f"Ids of type {kind}") from error

    def _find_in_input(self, id: records.Id) -> None:
        """Look for an id that no table has among the documents of the input. Raises InputError unless it is there.

        A document without a near copy is in no table of a stored result.
        """
        known = dict.fromkeys(map(str, islice(pc.unique(self.groups["id"]).to_pylist(), _NAMES)))
        try:
            if self.run.bytes.text > _READ_AGAIN:
                raise InputError("The input is too large to look for the id in it")
            # a result of this process has looked in its input already
            for document in input_documents(self) if self.folder is not None else ():
                if document.id == id:
                    return
                if len(known) < _NAMES:
                    known[str(document.id)] = None
        except (NeardupError, OSError) as error:
            why = error.given if isinstance(error, NeardupError) else str(error)
            raise InputError(
                f"Of {id!r} no near copy at or above the threshold is stored, and whether there is such a "
                f"document cannot be said: {why}",
                "A document in a pair, a group or a copy; any other one while its input can be read",
            ) from error
        near = get_close_matches(str(id), known, n=3)
        given = f"No document of the input has the id {id!r}"
        raise InputError(given, "", f"Did you mean {' or '.join(near)}?" if near else "")


def load(folder: str | Path) -> Found:
    """Load the result in a folder that ``neardup dedup``, ``neardup group`` or :meth:`Found.save` has written.

    One at a URL is copied into the folder for temporary files first.

    Raises InputError for a folder without a result, and FormatError for one of another format version.

    >>> load("nowhere")
    Traceback (most recent call last):
    neardup.errors.InputError: nowhere is not a result of neardup: there is no such folder. ...
    """
    url = url_in(folder)
    if url is not None:
        folder = fetched_copy(url)
    stored = read_result(Path(folder))
    access = common_access([folder, *Path(folder).iterdir()])
    places = StoredPlaces.of(stored)
    place_of = places.of_row if places is not None else lambda row: ("", row)
    rows = column(stored.tables["ranks"], "row")
    return Found(
        **stored.tables,
        run=stored.run,
        problems=stored.problems,
        access=access,
        texts=StoredTexts(stored.folder, rows, place_of) if stored.texts else None,
        places=places,
        folder=stored.folder,
    )


def write_result(
    result: Found, folder: OutputFolder, *, store_texts: bool = True, measured: bool = False
) -> Found:
    """Write the tables, the rejected rows and ``run.json`` into an open folder, as private as the input.

    ``store_texts``: also the texts of the documents in pairs and copies, if the result has them. Returns the
    result as written: if saved fingerprints have no texts any more, with a note, and, if ``measured``, with the
    memory of this process, which grows up to the last file.
    """
    if folder.rows_only:
        return result
    folder.restrict(result.access)
    for name in RESULT_TABLES:
        folder.write_table(f"{name}.parquet", getattr(result, name))
    if result.missed is not None:
        folder.write_table("missed.parquet", result.missed)
    rows = column(result.ranks, "row")
    for name, table in {} if result.places is None else result.places.tables(rows).items():
        folder.write_table(f"{name}.parquet", table)
    if store_texts and result.texts is not None:
        result = _with_texts(result, result.texts, folder)
    if result.common is not None:
        folder.write_table("common.parquet", result.common)
    folder.write_jsonl("problems.jsonl", result.problems)
    if measured:
        result = records.with_account(result, peak_memory_bytes=peak_memory())
    folder.write_json("run.json", result.run.as_dict())
    return result


def _with_texts(result: Found, texts: records.Texts, folder: OutputFolder) -> Found:
    """Store the texts; those of saved fingerprints may have gone since."""
    try:
        with folder.texts(TEXTS_FILE) as file:
            for table in texts.to_store(column(result.ranks, "row")):
                file.add(table)
    except InputError as error:
        if not texts.saved:
            raise
        folder.remove(TEXTS_FILE)
        note = f"the result has no texts to show: {error.given}"
        return records.with_account(result, notes=[*result.run.notes, note])
    return result
