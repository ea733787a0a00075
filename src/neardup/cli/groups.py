"""``neardup groups`` and ``decide``: the groups of a collection, and decisions about documents."""

from __future__ import annotations

import json as notation
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast, get_args

import typer

from neardup import display
from neardup.cli.collection import opened
from neardup.cli.messages import DONE, told_if_stopped
from neardup.cli.options.on_collections import DecideOptions, GroupsOptions
from neardup.cli.shown import CountedStages, watcher
from neardup.errors import SettingError
from neardup.io.decisions.records import Verdict

if TYPE_CHECKING:
    from neardup.collection import Collection, StoredGroup
    from neardup.collection.records import GroupedPending

_SHOWN = 20
"""Members to list for a group; --json lists more."""


def groups(options: GroupsOptions) -> int:
    """Show the groups of a collection, by id."""
    if not options.complete and options.explicit & {"near", "near_recall"}:
        raise SettingError("--near or --recall was given without --complete", "", "Give --complete, too")
    done = None
    with opened(options.path, options.wait) as collection:
        if options.complete:
            done = _completed(collection, options)
        page = collection.groups(options.after, options.limit)
    if options.json:
        told = page.as_dict() if done is None else {**page.as_dict(), "completed": done.as_dict()}
        typer.echo(notation.dumps(told, indent=2, ensure_ascii=False))
        return DONE
    if done is not None:
        sure = "complete" if done.recall == 1 else f"recall {done.recall:g} or more"
        parts = f"{display.number(done.repeats)} near another one ({sure}), {display.number(done.linked)} linked"
        typer.echo(f"{display.counted(done.compared, 'document')} in no group compared: {parts}")
    for group in page.groups:
        for line in _lines(group):
            typer.echo(line)
    if not page.groups:
        typer.echo("no groups" if options.after is None else "no more groups")
    if page.next is not None:
        typer.echo(f"more: --after {page.next}")
    return DONE


def _completed(collection: Collection, options: GroupsOptions) -> GroupedPending:
    from neardup.collection import Near

    recall = options.near_recall
    near = Near(options.near) if recall is None else Near(options.near, recall)
    with watcher() as progress:
        counting = CountedStages(progress)

        def said() -> str:
            compared = f"{display.number(counting.done)} of {display.counted(counting.total, 'document')} compared"
            stored = display.counted(collection.store.groups.count(), "group")
            return f"{compared}, and their groups are stored ({stored} in all); run it again to go on"

        with told_if_stopped(said):
            return collection.group_pending(near, progress=counting)


def decide(options: DecideOptions) -> int:
    """Decide whether two documents of a collection belong together."""
    a, b, verdict = options.a, options.b, options.verdict
    if verdict not in (*get_args(Verdict), "undecided"):
        raise SettingError(f"The verdict is {verdict!r}", f"One of {', '.join(get_args(Verdict))}, undecided")
    with opened(options.path, options.wait) as collection:
        if verdict == "undecided":
            was = collection.undecide(a, b, by=options.by)
            typer.echo("withdrawn" if was else "there was no decision about them")
        else:
            collection.decide(a, b, cast(Verdict, verdict), by=options.by, note=options.note)
            typer.echo(f"{verdict}: {display.printable(a)} and {display.printable(b)}")
    return DONE


def _lines(group: StoredGroup) -> Iterator[str]:
    yield f"group {group.id}: {display.counted(group.size, 'document')}, threshold {group.threshold:g}"
    for member in group.members[:_SHOWN]:
        held = member.held_by if member.held_by == "representative" else display.similarity(member.resemblance, 4)
        decided = ", held by a decision" if member.held_by == "decision" else ""
        yield f"  {display.printable(member.id)}  {held}{decided}"
    if group.size > _SHOWN:
        yield f"  and {display.number(group.size - _SHOWN)} more"
