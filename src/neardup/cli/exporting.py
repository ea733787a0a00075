"""``neardup export`` and ``neardup import``: groups, decisions and tags for other programs, and tags from them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from neardup.cli.collection import opened
from neardup.cli.messages import DONE, REJECTED, warn
from neardup.cli.options.on_files import ExportOptions, ImportOptions
from neardup.display import counted, printable
from neardup.errors import InputError, SettingError

if TYPE_CHECKING:
    import pyarrow as pa

    from neardup.run.exported import Exported

DOCUMENTS = "documents"
_SHOWN = 10
"""Unknown ids to name."""


def export(options: ExportOptions) -> int:
    """Write the groups, decisions or tags of a reviewed result as a file for another program."""
    from neardup.io.writers import common_access
    from neardup.io.writers.exports import OutputExport
    from neardup.run.exported import described, export_bytes, require_export

    if options.what == DOCUMENTS:
        return _export_documents(options)
    form = options.form or _form_of(options.file)
    require_export(options.what, form)
    what = cast("Exported", options.what)
    table = _table(options.out, what)
    parts = export_bytes(table, what, form)
    if options.file == Path("-"):
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return DONE
    inside = options.out.iterdir() if options.out.is_dir() else ()
    with OutputExport(
        options.file, overwrite=options.overwrite, access=common_access([options.out, *inside])
    ) as file:
        for part in parts:
            file.write_bytes(part)
    typer.echo(f"{described(table, what, form)} written to {options.file}")
    return DONE


def _export_documents(options: ExportOptions) -> int:
    """Write the documents of a collection."""
    if not options.out.is_file():
        raise InputError(
            f"{options.out} is not a collection",
            "A collection; the documents of a result are its kept rows",
        )
    with opened(options.out) as collection:
        if options.file == Path("-"):
            for part in collection.exported(options.form or "jsonl"):
                sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
            return DONE
        count = collection.export(options.file, options.form, overwrite=options.overwrite)
    typer.echo(f"{counted(count, 'document')} written to {printable(options.file)}")
    return DONE


def _table(path: Path, what: Exported) -> pa.Table:
    """Return the table to export from a result folder or a collection."""
    if path.is_file():
        from neardup.collection.groups.methods import collection_table

        with opened(path) as collection:
            return collection_table(collection, what)
    from neardup.io.decisions.store import DecisionStore
    from neardup.run.exported import export_table
    from neardup.run.found import load

    found = load(path)
    with DecisionStore(path, read_only=True) as store:
        return export_table(found, store.state(), what)


def import_tags(options: ImportOptions) -> int:
    """Read tags from a file of another program into a result."""
    from neardup.run.imported import import_into

    added = import_into(
        options.out, options.file, options.form or _form_of(options.file), options.by, options.columns
    )
    if added.action is None:
        typer.echo("no tags to add")
    else:
        number = added.action.number
        typer.echo(
            f"{counted(added.tags, 'tag')} of {counted(added.documents, 'document')} added (action {number:,})"
        )
    if added.unknown:
        warn(_unknown(added.unknown))
    return REJECTED if added.unknown else DONE


def _unknown(ids: Sequence[str]) -> str:
    listed = ", ".join(printable(id) for id in islice(ids, _SHOWN))
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    verb = "is" if len(ids) == 1 else "are"
    said = f"{counted(len(ids), 'id')} {verb} in no pair and no copy of this result, and left out"
    return f"{said}: {listed}{more}"


def _form_of(file: Path) -> str:
    """Return the form that the suffix of a file names. Raises SettingError for any other."""
    from neardup.io.writers.exports import FORMS

    if file == Path("-"):
        raise SettingError("No format was given for standard output", "", f"Give --format {', '.join(FORMS)}")
    form = file.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise InputError(
            f"The suffix of {file} names no format",
            ", ".join(f".{name}" for name in FORMS),
            "Give --format, or another name",
        )
    return form
