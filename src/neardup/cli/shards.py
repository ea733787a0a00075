"""``neardup fingerprint`` and ``neardup merge``: the first pass in parts, and one result of all parts."""

from __future__ import annotations

import json as notation
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.batch import refuse_unusable_out, tell
from neardup.cli.messages import DONE, REJECTED
from neardup.cli.options.on_shards import FingerprintOptions, MergeOptions, ShinglesOptions
from neardup.cli.parts import given_settings
from neardup.cli.shown import watcher
from neardup.errors import InputError, OutputError

if TYPE_CHECKING:
    from neardup.io.fingerprints.documents import FingerprintedDocuments
    from neardup.io.fingerprints.exchange import Request
    from neardup.run.shards.part import Fingerprinted


def fingerprint(options: FingerprintOptions) -> int:
    """Fingerprint one part of the documents, for neardup merge."""
    if options.new_key is not None:
        return _make_key(options.new_key)
    if not options.inputs:
        raise InputError("No input was given", "Files, folders or patterns", "Name the documents of this part")
    if options.out is None:
        raise OutputError("No folder for the fingerprints was given", "", "Give -o FP/PART")
    made = _fingerprinted(options, options.out)
    counts = {"documents": made.documents, "rejected": made.rejected}
    if options.json:
        typer.echo(notation.dumps({"out": str(made.folder), **counts, "notes": list(made.notes)}, indent=2))
    else:
        for remark in made.notes:
            typer.echo(display.printable(remark))
        typer.echo(
            f"{display.printable(str(made.folder))}: {display.counted(made.documents, 'document')}"
            + (f", {display.counted(made.rejected, 'row')} rejected" if made.rejected else "")
        )
    return REJECTED if made.rejected else DONE


def _make_key(path: Path) -> int:
    from neardup.io.fingerprints.keys import new_key_file
    from neardup.text.keys import new_secret

    new_key_file(path, new_secret())
    typer.echo(f"{display.printable(str(path))}: a new key, readable for you only")
    return DONE


def _fingerprinted(options: FingerprintOptions, out: Path) -> Fingerprinted:
    from neardup.io.readers import choose_columns, open_files
    from neardup.run.shards.part import save_fingerprints

    settings = options.settings.checked()
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text, options.id)
    with watcher() as progress:
        return save_fingerprints(
            documents, columns, settings, out, key=options.key, overwrite=options.overwrite, progress=progress
        )


def merge(options: MergeOptions) -> int:
    """Group the documents of fingerprinted parts, as one run over all of them would."""
    from neardup.io.writers import OutputFolder, common_access
    from neardup.io.writers.scratch import working_in
    from neardup.run.found import write_result
    from neardup.run.shards.asking import open_answers, require_sets, wanted
    from neardup.run.shards.growing import name_parts
    from neardup.run.shards.merge import merge_opened as merged
    from neardup.run.shards.merge import open_parts, parts_to_merge, with_settings

    if options.wanted is None:
        refuse_unusable_out(options)
    folders = [part for name in options.parts for part in parts_to_merge(Path(name))]
    documents, shared = open_parts(folders, key=options.key, inputs=options.moved)
    settings = with_settings(shared, given_settings(options.settings, options.explicit))
    if options.shingles:
        require_sets(settings)
        documents = open_answers([Path(name) for name in options.shingles], documents)
    with watcher() as progress:
        if options.wanted is not None:
            return _ask(options.wanted, wanted(documents, settings, progress), documents, options)
        if options.out is None or options.dry_run:
            return tell(merged(documents, settings, progress).found, options)
        with OutputFolder(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access(folders))
            with working_in(folder.target.parent):
                outcome = merged(documents, settings, progress)
            found = outcome.found
            write_result(found, folder, store_texts=options.store_texts)
        if options.name_groups:
            name_parts(outcome, documents)
    return tell(found, options)


def _ask(path: Path, request: Request, documents: FingerprintedDocuments, options: MergeOptions) -> int:
    from neardup.io.fingerprints.exchange import write_request

    write_request(path, request, documents.secret, overwrite=options.overwrite)
    folders = {part.manifest.seal: str(part.folder) for part in documents.parts}
    for part, rows in request.rows.items():
        typer.echo(f"{display.printable(folders[part])}: {display.counted(len(rows), 'document')} wanted")
    return DONE


def shingles(options: ShinglesOptions) -> int:
    """Answer a merge that cannot read the texts of a part: write the shingle sets it wants."""
    from neardup.io.fingerprints.exchange import read_request, write_answer
    from neardup.io.writers import common_access
    from neardup.run.shards.asking import answered
    from neardup.run.shards.merge import open_parts

    if options.request is None or options.out is None:
        raise InputError("No request or no file for the answer was given", "Both", "Give --for FILE and -o FILE")
    documents, _ = open_parts([Path(options.part)], key=options.key, inputs=options.moved)
    request = read_request(options.request, documents.secret)
    answer = answered(documents.parts[0], request, documents)
    access = common_access([options.part]) & common_access(source.path for source in documents.sources)
    write_answer(options.out, answer, documents.secret, overwrite=options.overwrite, access=access)
    typer.echo(f"{display.printable(str(options.out))}: {display.counted(len(answer.rows), 'document')}")
    return DONE
