"""``neardup PATH``: the largest groups of near copies in some documents, and the command to type next."""

from __future__ import annotations

import json as notation
import shlex
from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import typer

from neardup import display
from neardup.cli.messages import DONE, REJECTED
from neardup.cli.options.on_files import LookOptions
from neardup.cli.shown import WIDTH, watcher

if TYPE_CHECKING:
    from neardup.run.largest import GroupMember
    from neardup.run.stages.result import Outcome

GROUPS, MEMBERS = 10, 3
"""Groups that are shown, and members of each."""
_ID = 28
"""Columns of an id."""


def look(options: LookOptions) -> int:
    """Print the ten largest groups of near copies in some documents, and the next command; write nothing."""
    from neardup.io.readers import choose_columns, open_files
    from neardup.run.find import run
    from neardup.run.stages.records import Inputs

    settings = options.settings.checked()
    documents = open_files(options.inputs, reading=settings.reading)
    columns = choose_columns(documents, options.text, options.id)
    with watcher() as progress:
        outcome = run(Inputs(documents, columns, settings, action="dedup"), progress)
    counts = outcome.found.run["counts"]
    if options.json:
        typer.echo(notation.dumps(outcome.found.run, indent=2, ensure_ascii=False))
    else:
        for line in _shown(outcome):
            typer.echo(line)
        typer.echo(_next(options, counts["removed"]))
    return REJECTED if counts["rejected"] else DONE


def _shown(outcome: Outcome) -> Iterator[str]:
    """The largest groups, each with its first members, and a line about all."""
    from neardup.run.largest import largest_groups

    account = outcome.found.run
    groups = largest_groups(outcome, GROUPS, MEMBERS)
    width = get_terminal_size((WIDTH, 24)).columns
    for group in groups:
        yield display.counted(group.size, "document")
        names = [display.shortened(display.printable(member.id), _ID) for member in group.members]
        column = max(map(display.columns, names))
        for member, name in zip(group.members, names, strict=True):
            head = f"  {_likeness(member):<6} {name}{' ' * (column - display.columns(name))}  "
            yield head + display.shortened(member.words, max(20, width - display.columns(head)))
        if group.size > len(group.members):
            yield f"  … and {group.size - len(group.members):,} more"
        yield ""
    if more := account["counts"]["groups"] - len(groups):
        yield f"… and {display.counted(more, 'smaller group')}\n"
    yield from _summed(account)


def _likeness(member: GroupMember) -> str:
    if member.is_representative:
        return "stays"
    if member.is_copy:
        return "copy"
    return "" if member.similarity is None else display.similarity(member.similarity)


def _summed(account: dict[str, object]) -> Iterator[str]:
    counts = account["counts"]
    assert isinstance(counts, dict)
    yield (
        f"{display.counted(counts['read'], 'document')}: {display.counted(counts['groups'], 'group')} with "
        f"{display.counted(counts['exact_copies'], 'exact copy', 'exact copies')} and "
        f"{display.counted(counts['near_copies'], 'near copy', 'near copies')}; "
        f"{counts['removed']:,} ({display.percent(counts['removed'], counts['read'])}) can go"
    )
    if counts["rejected"]:
        yield f"{display.counted(counts['rejected'], 'row')} could not be read"


def _next(options: LookOptions, removed: int) -> str:
    """The command to type next."""
    inputs = " ".join(map(shlex.quote, options.inputs))
    if not removed:
        return f"\nNext, if near copies are missing: neardup plan {inputs}"
    stem = Path(options.inputs[0].rstrip("/\\")).name.partition(".")[0].strip("-*?[]") or "documents"
    out, number = f"{stem}-dedup", 1
    while Path(out).exists():
        number += 1
        out = f"{stem}-dedup-{number}"
    from neardup.io.readers.fields import joined

    given = {"text": joined(options.text), "id": options.id}
    typed = "".join(f" --{name} {shlex.quote(value)}" for name, value in given.items() if value)
    return f"\nNext: neardup dedup {inputs}{typed} -o {shlex.quote(out)}"
