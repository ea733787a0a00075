"""A run in parts (``fingerprint``, ``merge``, ``part``), and new documents against saved fingerprints."""

from __future__ import annotations

import json as notation
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.config import given_settings
from neardup.cli.log import count
from neardup.cli.messages import DONE, REJECTED, resumable
from neardup.cli.option import typed_text
from neardup.cli.options.on_files import FingerprintOptions, MergeOptions, PartOptions
from neardup.cli.output import open_output, print_result, refuse_unusable_out, reports_aside, watcher
from neardup.errors import InputError, OutputError

if TYPE_CHECKING:
    from neardup.deduplication.parts import Fingerprinted
    from neardup.io.inputs import Chosen, Documents
    from neardup.io.outputs import RunJournal
    from neardup.settings import Settings


def fingerprint(options: FingerprintOptions) -> int:
    """Fingerprint one part of the documents, for neardup merge."""
    if options.new_key is not None:
        return _make_key(options.new_key)
    if not options.inputs:
        raise InputError("No input was given", "Files, folders or patterns", "Name the documents of this part")
    if options.out is None:
        raise OutputError("No folder for the fingerprints was given", "", "Give -o FP/PART")
    if options.key is None and typed_text(options.out) != str(options.out):
        raise InputError(
            f"{typed_text(options.out)} is a URL, and no key file was given",
            "A key file on this machine, which is put nowhere else",
            "Make one with neardup fingerprint --new-key FILE, and give it with --key FILE",
        )
    folder = _fingerprint(options, options.out)
    counts = {"documents": folder.documents, "rejected": folder.rejected}
    count(counts)
    if options.json:
        typer.echo(
            notation.dumps({"out": typed_text(folder.folder), **counts, "notes": list(folder.notes)}, indent=2)
        )
    else:
        for remark in () if options.quiet else folder.notes:
            typer.echo(display.printable(remark))
        typer.echo(
            f"{display.printable(typed_text(folder.folder))}: {display.counted(folder.documents, 'document')}"
            + (f", {display.counted(folder.rejected, 'row')} rejected" if folder.rejected else "")
        )
    return REJECTED if folder.rejected else DONE


def _make_key(path: Path) -> int:
    from neardup.io.fingerprints import new_key_file
    from neardup.runtime import new_secret

    new_key_file(path, new_secret())
    typer.echo(f"{display.printable(str(path))}: a new key, readable for you only")
    return DONE


def _fingerprint(options: FingerprintOptions, out: Path) -> Fingerprinted:
    from neardup.deduplication.parts import save_fingerprints
    from neardup.io.fingerprints import key_file, shared_secret
    from neardup.io.inputs import choose_columns, open_files
    from neardup.io.outputs import discard
    from neardup.runtime import new_secret

    settings = options.settings.to_settings()
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text, options.id)
    secret_file = key_file(out, options.key)
    if options.resume and options.key is None:
        shared_secret(secret_file, new_secret())  # the parts depend on it
    with (
        watcher() as progress,
        _journal(out, "fingerprint", settings, columns, documents, [secret_file], options.resume) as journal,
    ):
        saved = save_fingerprints(
            documents,
            columns,
            settings,
            out,
            key=options.key,
            overwrite=options.overwrite,
            progress=progress,
            journal=journal,
        )
    if options.resume:
        discard(out)
    return saved


def _journal(
    out: Path,
    command: str,
    settings: Settings,
    columns: Chosen,
    documents: Documents | None,
    files: Sequence[Path],
    resume: bool,
) -> AbstractContextManager[RunJournal | None]:
    """Open the journal of a command that may go on later; None without --resume."""
    if not resume:
        return nullcontext()
    from neardup.deduplication.runs import open_journal

    inputs = {"input": documents} if documents is not None else {}
    return resumable(open_journal(out, command, settings, columns, inputs, None, None, files))


def merge(options: MergeOptions) -> int:
    """Group the documents of fingerprinted parts, as one run over all of them would."""
    from neardup.deduplication.parts import merge_opened as merged
    from neardup.deduplication.parts import name_parts, open_parts, parts_to_merge, with_settings
    from neardup.deduplication.results import write_result
    from neardup.io.fingerprints import MANIFEST
    from neardup.io.outputs import OutputFolder, common_access, discard, working_in

    refuse_unusable_out(options)
    folders = [part for name in options.parts for part in parts_to_merge(Path(name))]
    documents, shared = open_parts(folders, key=options.key, inputs=options.moved)
    settings = with_settings(shared, given_settings(options.settings, options.explicit))
    with watcher() as progress:
        if options.out is None or options.dry_run:
            return print_result(merged(documents, settings, progress).found, options)
        with OutputFolder(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access(folders))
            records = [part / MANIFEST for part in folders]
            with _journal(
                options.out, "merge", settings, documents.chosen, None, records, options.resume
            ) as journal:
                with working_in(folder.target.parent, journal):
                    outcome = merged(documents, settings, progress)
                result = write_result(outcome.found, folder, store_texts=options.store_texts)
        if options.resume:
            discard(options.out)
        if options.name_groups:
            name_parts(outcome, documents)
    return print_result(result, options)


def part(options: PartOptions) -> int:
    """Write the documents of one part that the merged result of all parts keeps."""
    from neardup.deduplication.parts import kept_of_part
    from neardup.deduplication.results import load
    from neardup.deduplication.runs import check_before
    from neardup.io.inputs import open_files
    from neardup.io.outputs import common_access
    from neardup.settings import Settings

    with reports_aside(options.out):
        refuse_unusable_out(options)
        result, name = load(options.merged), typed_text(options.merged)
        settings = Settings.of(**result.run.settings)
        documents = open_files(options.inputs, reading=settings.reading)
        if options.out is None or options.dry_run:
            kept = kept_of_part(documents, result, name, None)
        else:
            check_before(documents, options.out, "dedup", settings.keep)
            with watcher() as progress, open_output(options.out, overwrite=options.overwrite) as folder:
                folder.restrict(common_access((*options.inputs, options.merged)))
                kept = kept_of_part(documents, result, name, folder, progress)
        counts = {"read": kept.read, "kept": kept.kept, "removed": kept.read - kept.kept}
        written = None if options.dry_run or options.out is None else typed_text(options.out)
        if options.json:
            typer.echo(notation.dumps({"merged": name, "counts": counts, "out": written}, indent=2))
        else:
            typer.echo(
                f"{display.counted(kept.kept, 'document')} of {kept.read:,} kept by {display.printable(name)}"
            )
            typer.echo(f"written: {display.printable(written or 'nothing (dry run)')}")
        return DONE
