"""``neardup show``: one document of a result, its group, and the nearest documents outside it."""

from __future__ import annotations

import json as notation
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.messages import DONE
from neardup.cli.options.on_files import ShowOptions
from neardup.cli.shown import WIDTH, unbroken
from neardup.errors import InputError, SettingError

if TYPE_CHECKING:
    from neardup.run.found import Found
    from neardup.run.looking import Outside
    from neardup.run.records import Decision, Group, Id, Looked

_BEGINNING = 300
"""Characters of the text to show."""


def show(options: ShowOptions) -> int:
    """Show a document of a result: where it is, whether it stays and why, its group, and the nearest others."""
    from neardup.run.found import load
    from neardup.run.looking import typed_id
    from neardup.run.stored_review import as_reviewed

    if options.limit < 1:
        raise SettingError(f"limit is {options.limit}", "A whole number, 1 or more", "Leave out --limit")
    found = as_reviewed(load(options.out, inputs=options.inputs))
    shown = _Shown(options, found, typed_id(found, options.id))
    if options.json:
        typer.echo(notation.dumps(shown.as_dict(), indent=2))
        return DONE
    width = get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    encoding = sys.stdout.encoding or "utf-8"
    for line in unbroken(list(shown.lines()), width):
        typer.echo(line.encode(encoding, "backslashreplace").decode(encoding))
    return DONE


class _Shown:
    """The facts about a document. Its text is optional: the input may be gone, and the result still says a lot."""

    def __init__(self, options: ShowOptions, found: Found, id: Id) -> None:
        self._options, self._found, self._id = options, found, id
        self._error: InputError | None = None
        self._document = self._looked()
        self._decision = self._decided()
        self._group = self._group_of()
        self._outside = found.outside(id, options.limit)

    def _looked(self) -> Looked | None:
        try:
            return self._found.look(self._id)
        except InputError as error:
            if self._options.inputs:
                raise
            self._error = error
            return None

    def _decided(self) -> Decision | None:
        try:
            return self._found.why(self._id)
        except InputError:
            if self._error is not None:  # neither the result nor the input knows it
                raise self._error from None
            return None  # it is in no group

    def _group_of(self) -> Group | None:
        group = None if self._decision is None else self._decision.group
        return None if group is None else self._found.group(group)

    def lines(self) -> Iterator[display.Line]:
        """Yield labelled lines."""
        yield "document", display.printable(self._id)
        if self._error is not None:
            yield "not read", display.printable(". ".join(filter(None, (self._error.given, self._error.do))))
        if self._document is not None:
            yield "where", display.printable(self._document.where)
            yield "text", self._beginning(self._document.text)
        yield "fate", self._fate()
        if self._group is not None:
            yield from self._of_group(self._group)
        yield from self._near()
        if other := self._other():
            yield (
                "compare",
                display.printable(
                    shlex.join(["neardup", "compare", str(self._options.out), str(self._id), str(other)])
                ),
            )

    def _fate(self) -> str:
        from neardup.run.looking import fate

        said = fate(self._found, self._id)
        member = None if self._decision is None else self._decision.member
        if (
            member is not None
            and member.pair is not None
            and self._group is not None
            and not member.representative
        ):
            said += f". {member.pair.sentence(self._id, self._group.id)}"
        if member is not None and member.lost is not None:
            said = f"{said.removesuffix('.')}. {member.lost.sentence()}"
        return display.printable(said)

    def _of_group(self, group: Group) -> Iterator[display.Line]:
        kept = sum(member.kept for member in group.members)
        gone = len(group.members) - kept
        yield "group", f"{display.counted(len(group.members), 'document')}: {kept:,} kept, {gone:,} removed"
        for member in group.members[: self._options.limit]:
            mark = " (this document)" if member.id == self._id else ""
            yield "", f"{member.fate:<7}  {display.printable(member.id)}{mark}: {display.printable(member.reason)}"
        if len(group.members) > self._options.limit:
            yield "", f"... and {display.counted(len(group.members) - self._options.limit, 'more member')}"

    def _near(self) -> Iterator[display.Line]:
        settings = self._found.run["settings"]
        least = f"{settings['measure']} {display.similarity(settings['threshold'])}"
        inside = "its group" if self._group is not None else "it"
        if not self._outside:
            yield "outside", f"no stored pair leads out of {inside}; pairs below {least} are not stored"
            return
        yield "outside", f"nearest to {inside}; pairs below {least} are not stored"
        for other in self._outside:
            yield "", _near_line(other, settings["measure"])

    def _other(self) -> Id | None:
        """The document to compare with: the representative, or the nearest one."""
        if self._group is not None:
            others = [member.id for member in self._group.members if member.id != self._id]
            return self._group.id if self._group.id != self._id else next(iter(others), None)
        return self._outside[0].id if self._outside else None

    def _beginning(self, text: str) -> str:
        words = " ".join(display.visible(text[: 4 * _BEGINNING]).split())
        shown = display.shortened(words, _BEGINNING)
        return f"{display.size(len(text.encode('utf-8', 'replace')))}: {shown}" if shown else "(empty)"

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, the text in full."""
        document, group = self._document, self._group
        members = () if group is None else group.members
        return {
            "id": self._id,
            "path": document.path if document else None,
            "row": document.row if document else None,
            "text": document.text if document else None,
            "not_read": None if self._error is None else self._error.given,
            "fate": self._fate(),
            "group": None if group is None else group.id,
            "members": [
                {"id": one.id, "similarity": one.similarity, "kept": one.kept, "reason": one.reason}
                for one in members
            ],
            "outside": [asdict(other) for other in self._outside],
        }


def _near_line(other: Outside, measure: str) -> str:
    where = "in no group" if other.group is None else f"in the group of {other.group}"
    near = f"{other.id}: {measure} {display.similarity(other.similarity)} with {other.member}, {where}"
    return display.printable(near)
