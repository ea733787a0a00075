"""``neardup dedup PART --merged OUT``: the rows of one part that stay by a merged result."""

from __future__ import annotations

import json as notation
from pathlib import Path

import typer

from neardup import display
from neardup.cli.messages import DONE
from neardup.cli.options.on_files import DedupOptions
from neardup.cli.shown import watcher


def dedup_part(options: DedupOptions, merged: Path) -> int:
    """Write the rows of a part that the merged result keeps."""
    from neardup.io.readers import open_files
    from neardup.io.writers import OutputFolder, common_access
    from neardup.run.found import load
    from neardup.run.save import check_before
    from neardup.run.shards.kept import check_part, kept_of_part
    from neardup.settings import Settings

    found, name = load(merged), str(merged)
    check_part(found)
    documents = open_files(options.inputs, reading=Settings.of(**found.run["settings"]).reading)
    if options.out is None or options.dry_run:
        made = kept_of_part(documents, found, name, None)
    else:
        check_before(documents, options.out, "dedup")
        with watcher() as progress, OutputFolder(options.out, overwrite=options.overwrite) as folder:
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
