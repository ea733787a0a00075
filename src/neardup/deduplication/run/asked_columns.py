"""The columns that the settings of a run name: checked before the work, and read in the first pass."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from neardup.deduplication.group.rows import keep_column, keep_columns, require_order
from neardup.deduplication.join.corpus import Part
from neardup.deduplication.join.criterion import Related
from neardup.deduplication.join.rows import Rows
from neardup.display import counted
from neardup.errors import InputError, SettingError
from neardup.io.inputs import (
    Chosen,
    Documents,
    Reference,
    choose_reference,
    digests,
    find_column,
    find_labels,
    inputs_with,
    offer_fields,
    require_one_kind,
    type_of_column,
)
from neardup.kernels.text import Key
from neardup.settings import KEEP_DIGITAL, Keep, Relations, SettingKeywords, as_tuple, order_of


class FindKeywords(SettingKeywords, total=False):
    """The settings of a run, and the columns of its reference set."""

    against_text: str | Sequence[str] | None
    against_id: str | None


def reference_of(
    against: Documents | None, columns: Chosen, text: str | Sequence[str] | None, id: str | None
) -> Reference | None:
    """Return the reference set of an input with these ``columns``; None without one.

    Raises SettingError for columns that are named without it.
    """
    if against is not None:
        return choose_reference(against, columns, text, id)
    if text or id:
        raise SettingError(
            "Columns of a reference set are named without one",
            "against_text and against_id together with against",
            "Name the reference set with --against (against= in Python)",
        )
    return None


def require_reference(keep: Keep, relations: Relations, against: Reference | None) -> None:
    """Raise SettingError for settings that only a run with a reference set can follow, if there is none."""
    if against is not None:
        return
    given = ["no_self"] * relations.no_self + ["direction"] * (keep.direction != Keep().direction)
    if given:
        raise SettingError(
            f"{' and '.join(given)} given without a reference set",
            "With a reference set, whose documents the new ones are compared with",
            "Name it with --against (against= in Python)",
        )


def parts_of(
    documents: Documents, columns: Chosen, keep: Keep, relations: Relations, against: Reference | None
) -> tuple[Part, ...]:
    """The inputs of a run and the columns to read from each; the reference set, if any, comes first.

    Raises InputError for columns that are missing or of another type than the settings need.
    """
    check_columns(documents, keep, relations)
    new = Part(documents, columns.text, columns.id, _kept_columns(keep), relations)
    if against is None:
        return (new,)
    for option, name in _relations(relations):
        find_labels(against.documents, name, option, " in the reference set")
    offer_fields(against.documents, [name for _, name in _relations(relations)])
    return Part(against.documents, against.columns.text, against.columns.id, (), relations, old=True), new


def asked_columns(keep: Keep, relations: Relations) -> tuple[str, ...]:
    """The columns that the settings name, each once."""
    return tuple(dict.fromkeys((*_kept_columns(keep), *(name for _, name in _relations(relations)))))


def _kept_columns(keep: Keep) -> tuple[str, ...]:
    """The columns by which documents stay, and that of the sources."""
    return tuple(dict.fromkeys((*keep_columns(keep.keep), *((keep.sources,) if keep.sources else ()))))


def relations_of(columns: Mapping[str, pa.Array], relations: Relations, key: Key) -> Related:
    """Which documents may be pairs, by the values of their ``columns``."""
    across = (relations.across,) if relations.across else ()
    within, apart = (
        digests([columns[name] for name in names], role, key.occurrences)[:, 0]
        if names
        else np.empty(0, np.uint64)
        for role, names in (("within", relations.within), ("across", across))
    )
    return Related(within, apart)


def check_columns(documents: Documents, keep: Keep, relations: Relations) -> None:
    """Raise InputError if a column that the settings name is missing in the documents or of the wrong type."""
    for policy in as_tuple(keep.keep):
        name = keep_column(policy)
        if name is None:
            continue
        if policy == KEEP_DIGITAL and all(column.name != name for column in documents.columns):
            raise InputError(
                f'--keep digital: the input has no column "{name}"',
                "Files that are one document each, or rows with that column: digital, unknown or scan",
                "Name the files, add the column, or choose another policy",
            )
        if order_of(policy) is not None:
            find_labels(documents, name, "--keep")
            continue
        find_column(documents, name, "--keep")
        require_one_kind(documents, name, "--keep")
        for one in inputs_with(documents, name):
            kind = type_of_column(one, name)
            if kind is not None:
                require_order(policy, kind)
    for option, name in _relations(relations):
        find_labels(documents, name, option)
    if keep.sources:
        find_labels(documents, keep.sources, "--sources")
    offer_fields(documents, asked_columns(keep, relations))


def related_notes(rows: Rows, relations: Relations) -> list[str]:
    """Notes on the values that decide which documents are compared: how many, and how often one is missing."""
    given, key = relations, rows.corpus.key
    across = (given.across,) if given.across else ()
    notes = []
    for role, names, present in (
        ("within", given.within, rows.row_related.within),
        ("across", across, rows.row_related.across),
    ):
        if not names or not len(present):
            continue
        column = "column" if len(names) == 1 else "columns"
        listed_names = ", ".join(f'"{name}"' for name in names)
        missing = int(
            np.count_nonzero(present == digests([pa.nulls(1)] * len(names), role, key.occurrences)[0, 0])
        )
        without = f"; {counted(missing, 'document')} without one count as of one value" if missing else ""
        values = counted(len(np.unique(present)), "value")
        notes.append(f"compared {role} {values} of the {column} {listed_names}{without}")
    return notes


def _relations(relations: Relations) -> Iterator[tuple[str, str]]:
    """(option, column) of the columns that say which documents may be pairs."""
    for name in relations.within:
        yield "--within", name
    if relations.across:
        yield "--across", relations.across
