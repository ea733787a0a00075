"""``neardup dedup`` with fingerprints: a part by a merged result, and new documents against saved ones."""

from __future__ import annotations

import json as notation
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.configured import given_here
from neardup.cli.messages import DONE
from neardup.cli.option import SettingOptions
from neardup.cli.options.on_files import DedupOptions, GroupOptions
from neardup.cli.shown import watcher
from neardup.cli.target import open_output
from neardup.errors import SettingError
from neardup.settings import FIELDS

if TYPE_CHECKING:
    from neardup.run.account import Action
    from neardup.run.decided import ReviewedResult
    from neardup.run.found import Found


def dedup_part(options: DedupOptions, merged: Path) -> int:
    """Write the rows of a part that the merged result keeps."""
    from neardup.io.readers import open_files
    from neardup.io.writers import common_access
    from neardup.run.found import load
    from neardup.run.save import check_before
    from neardup.run.shards.kept import kept_of_part
    from neardup.settings import Settings

    found, name = load(merged), str(merged)
    settings = Settings.of(**found.run["settings"])
    documents = open_files(options.inputs, reading=settings.reading)
    if options.out is None or options.dry_run:
        made = kept_of_part(documents, found, name, None)
    else:
        check_before(documents, options.out, "dedup", settings)
        with watcher() as progress, open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access((*options.inputs, merged)))
            made = kept_of_part(documents, found, name, folder, progress)
    counts = {"read": made.read, "kept": made.kept, "removed": made.read - made.kept}
    written = None if options.dry_run else str(options.out)
    if options.json:
        typer.echo(notation.dumps({"merged": name, "counts": counts, "out": written}, indent=2))
    else:
        typer.echo(f"{display.counted(made.kept, 'document')} of {made.read:,} kept by {display.printable(name)}")
        typer.echo(f"written: {display.printable(written or 'nothing (dry run)')}")
    return DONE


def given_settings(settings: SettingOptions, explicit: frozenset[str]) -> dict[str, Any]:
    """Return the settings that were given on the command line or in a file of options."""
    given = given_here(explicit)
    return {name: getattr(settings.read(), name) for name in FIELDS if name in given}


def saved_parts(options: DedupOptions | GroupOptions) -> list[Path]:
    """Return the parts that --against names; empty if it names documents. Raises SettingError."""
    from neardup.run.shards.merge import parts_in

    parts = parts_in(options.against)
    of_documents = {"against_text", "against_id", "ignore", "resume", "predict", "by", "shard_size"}
    together = of_documents if parts else {"key", "update"}
    given = sorted(f"--{name.replace('_', '-')}" for name in together & options.explicit)
    if given:
        when = "together with" if parts else "without"
        raise SettingError(
            f"{', '.join(given)} cannot be given {when} fingerprints in --against",
            "--key and --update with fingerprints; --against-text, --against-id, --ignore, --resume, --predict, "
            "--by and --shard-size without",
            "Leave it out",
        )
    return parts


def find_with_saved(
    action: Action, options: DedupOptions | GroupOptions, parts: list[Path], review: ReviewedResult | None = None
) -> Found:
    """Find near-duplicates of new documents and of saved ones; write the result, and the new fingerprints.

    ``review`` holds the decisions to follow.
    """
    from neardup.io.readers import choose_columns, open_files
    from neardup.io.writers import common_access
    from neardup.io.writers.scratch import working_in
    from neardup.run.save import check_before
    from neardup.run.shards.growing import fill_against, find_against, growing_by, read_documents
    from neardup.run.shards.merge import open_parts, require_columns, with_settings

    against, shared = open_parts(parts, key=options.key)
    settings = with_settings(shared, given_settings(options.settings, options.explicit))
    require_columns(against, settings)
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text or against.chosen.text, options.id or against.chosen.id)
    with watcher() as progress, ExitStack() as held:
        if options.out is None or options.dry_run:
            new = read_documents(documents, columns, settings, against.key, progress)
            return find_against(new, columns, settings, against, progress, action, review)[0].found
        check_before(documents, options.out, action, settings)
        # opened before the work, so that an unwritable folder is reported at once
        new = read_documents(documents, columns, settings, against.key, progress)
        add = (
            held.enter_context(growing_by(new, columns, settings, against, options.update))
            if isinstance(options, DedupOptions) and options.update
            else None
        )
        asked = (new, columns, settings, against)
        with open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access((*options.inputs, *parts)))
            with working_in(folder.target.parent):
                outcome, compared = find_against(*asked, progress, action, review)
                found, names = fill_against(outcome, compared, folder, action, progress, options.store_texts)
        if add is not None:
            add(names)
        if names.joining:
            counted = display.counted(names.joining, "document")
            typer.echo(f"note: {counted} near copies in several named groups; names.parquet lists them", err=True)
    return found
