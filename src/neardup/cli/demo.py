"""``neardup demo``: near copies found in the bundled sample."""

from __future__ import annotations

import json as notation

import typer

from neardup.cli.options.on_files import DemoOptions
from neardup.cli.shown import show_groups, show_summary, watcher

NEXT = """
What to try next:
  neardup dedup YOUR_FILES -o cleaned --dry-run    see what would be removed; nothing is written
  neardup dedup YOUR_FILES -o cleaned              write the documents that stay, with the evidence
  neardup plan --threshold 0.7                     pairs that another threshold would find"""


def demo(options: DemoOptions) -> int:
    """Find the near copies in a small sample, and show the evidence."""
    from neardup.cli.demo_documents import documents_path
    from neardup.run.find import find

    with watcher() as progress:
        found = find(documents_path(), text="text", id="id", progress=progress)
    if options.json:
        typer.echo(notation.dumps(found.run, indent=2, ensure_ascii=False))
        return 0
    show_groups(found.first_groups(limit=None), found.run["counts"]["groups"])
    show_summary(found.run)
    typer.echo(NEXT)
    return 0
