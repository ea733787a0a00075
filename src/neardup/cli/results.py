"""Commands that read a result: ``show``, ``report``, ``apply``, ``regroup``, ``export`` and ``import``."""

from __future__ import annotations

import json as notation
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, cast

import typer

from neardup import display
from neardup.cli import output
from neardup.cli.collection import open_existing
from neardup.cli.messages import DIFFERENT, DONE, REJECTED, UNSEEN, warn
from neardup.cli.option import typed_text
from neardup.cli.options import on_results
from neardup.cli.servers import account
from neardup.display import counted, number, printable
from neardup.errors import InputError, OutputError, SettingError
from neardup.io.place import DatabaseURL, Place, file_at, result_at

if TYPE_CHECKING:
    import pyarrow as pa

    from neardup.deduplication.results import Found, Group, Id, Looked
    from neardup.deduplication.reviews import Exported
    from neardup.deduplication.texts import Outside


ALL_RIGHT = "no difference: tables, kept rows and counts were derived again"
_BEGINNING = 300
"""Characters of the text to show."""


DOCUMENTS, KEPT, PAIRS = "documents", "kept", "pairs"
_SHOWN = 10
"""Unknown ids to name."""
_DIFFERENCES = 40
"""Differences of a report to name."""


def verify(options: on_results.VerifyOptions) -> int:
    """Derive a result again; print a line for each check, the first difference, and the parts left out."""
    from neardup.deduplication.texts import fetched_inputs

    if options.report is not None:
        return _verify_report(options, options.report)
    with fetched_inputs(options.out, options.inputs) as inputs:
        return _verify(replace(options, inputs=inputs), compared=inputs != options.inputs)


def _verify(options: on_results.VerifyOptions, compared: bool) -> int:
    """Derive it; ``compared``: the states of files at URLs are known to be the recorded ones."""
    from neardup.deduplication.results import require_result
    from neardup.verifier import URL_STATES, DifferenceError, Verifier

    if options.sample < 0:
        raise SettingError(
            f"sample is {options.sample}", "A whole number, 0 or more; 0: all", "Leave out --sample"
        )
    require_result(options.out, of_any_command=True)
    lines: dict[str, str] = {}
    difference = None
    verifier = Verifier(options.out, options.inputs, options.sample)
    try:
        for check in Verifier.CHECKS:
            lines[check] = verifier.check(check)
            if not options.json:
                typer.echo(f"{check:<14}{lines[check]}")
    except DifferenceError as error:
        difference = str(error)
    if compared:
        del verifier.unseen[URL_STATES]
    unseen = {what: count for what, count in sorted(verifier.unseen.items()) if count}
    if options.json:
        typer.echo(notation.dumps({"checks": lines, "difference": difference, "not_looked_at": unseen}, indent=2))
    else:
        for what, count in unseen.items():
            typer.echo(f"not looked at {number(count)} {printable(what)}")
        parts = (
            f"{counted(len(unseen), 'part')} of the result {'was' if len(unseen) == 1 else 'were'} not looked at"
        )
        kept = f"no difference was seen; {parts}"
        typer.echo(
            f"{'difference' if difference else 'verified':<14}{difference or (kept if unseen else ALL_RIGHT)}"
        )
    if difference is None:
        return UNSEEN if unseen else DONE
    return DIFFERENT


def _verify_report(options: on_results.VerifyOptions, page: Path) -> int:
    """Count a report again; print a line for each check, each difference, and the parts left out."""
    from neardup.deduplication.results import require_result
    from neardup.io.files import beginning
    from neardup.review.report.verifier import ReportVerifier
    from neardup.verifier import DifferenceError, Verifier

    if options.sample or options.inputs:
        raise SettingError(
            "--report is given with inputs or --sample",
            "The page alone: it is compared with the result, not with the documents",
            "Leave them out, and verify the result by a command of its own",
        )
    require_result(options.out)
    try:
        verifier = ReportVerifier(options.out, typed_text(page), beginning(page))
    except OSError as error:
        raise InputError(f"{page}: {error.strerror}", "A page that neardup report has written") from None
    lines, differences = {}, []
    try:
        lines["manifest"] = Verifier(options.out).check("manifest")
    except DifferenceError as error:
        differences.append(f"The result itself was changed: {error}")
    lines |= {check: verifier.check(check) for check in ReportVerifier.CHECKS}
    differences += [one.sentence for one in verifier.mismatches]
    unseen = {what: count for what, count in sorted(verifier.unseen.items()) if count}
    if options.json:
        parts = {"checks": lines, "differences": differences, "stated": verifier.stated, "not_looked_at": unseen}
        typer.echo(notation.dumps(parts, indent=2))
        return DIFFERENT if differences else UNSEEN if unseen else DONE
    shown = [*lines.items(), *(("only stated", f"{what}: {words}") for what, words in verifier.stated.items())]
    shown += [("not looked at", f"{number(count)} {what}") for what, count in unseen.items()]
    shown += [("difference", sentence) for sentence in differences[:_DIFFERENCES]]
    shown += [("differences", counted(len(differences), "difference"))] * (len(differences) > _DIFFERENCES)
    shown += (
        []
        if differences
        else [("verified", "no difference from the result; neardup verify OUT counts the result itself")]
    )
    for name, line in shown:
        typer.echo(f"{name:<14}{printable(line)}")
    return DIFFERENT if differences else UNSEEN if unseen else DONE


def show(options: on_results.ShowOptions) -> int:
    """Show a document of a result: where it is, whether it is kept and why, its group, and the nearest others."""
    from neardup.deduplication.results import load
    from neardup.deduplication.reviews import as_reviewed, older_report
    from neardup.deduplication.texts import typed_id

    if options.limit < 1:
        raise SettingError(f"limit is {options.limit}", "A whole number, 1 or more", "Leave out --limit")
    result = as_reviewed(load(options.out).named)
    decisions = result.run.decisions
    older = older_report(options.out, decisions.last_action if decisions else 0)
    shown = _Shown(options, result, typed_id(result, options.id), older)
    if options.json:
        typer.echo(notation.dumps(shown.as_dict(), indent=2))
        return DONE
    width = get_terminal_size().columns if sys.stdout.isatty() else output.WIDTH
    encoding = sys.stdout.encoding or "utf-8"
    for line in output.unbroken(list(shown.lines()), width):
        typer.echo(line.encode(encoding, "backslashreplace").decode(encoding))
    return DONE


class _Shown:
    """The facts about a document. Its text is optional: without it, the result still says a lot."""

    def __init__(self, options: on_results.ShowOptions, result: Found, id: Id, older: str) -> None:
        self._decision = result.why(id)
        self._options, self._found, self._id, self._older = options, result.named, self._decision.id, older
        self._error: InputError | None = None
        self._document = self._look()
        self._fields = self._other_values() if self._document else {}
        self._group = self._group_of()
        self._outside = self._found.outside(self._id, options.limit)

    def _look(self) -> Looked | None:
        try:
            return self._found.look(self._id)
        except InputError as error:
            self._error = error
            return None

    def _other_values(self) -> Mapping[str, Any]:
        from neardup.deduplication.texts import fields_of

        return fields_of(self._found, self._id)

    def _group_of(self) -> Group | None:
        group = self._decision.group
        return None if group is None else self._found.group(group)

    def lines(self) -> Iterator[display.Line]:
        from neardup.deduplication.results import OLD

        yield "document", display.printable(f"{self._id}{self._decision.side}")
        if self._decision.in_reference and not self._options.id.startswith(OLD):
            place = "among the documents in pairs, copies and groups; the input may have this id outside them"
            yield "looked up", place
        if self._error is not None:
            yield "not read", display.printable(". ".join(filter(None, (self._error.given, self._error.do))))
        if self._document is not None:
            yield "where", display.printable(self._document.where)
            yield "text", self._beginning(self._document.text)
        if self._fields:
            values = (f"{name}: {value}" for name, value in self._fields.items())
            yield "columns", display.printable("; ".join(values))
        yield "fate", self._fate()
        if self._group is not None:
            yield from self._of_group(self._group)
        yield from self._near_lines()
        if other := self._other():
            yield (
                "compare",
                display.printable(
                    shlex.join(["neardup", "compare", typed_text(self._options.out), str(self._id), str(other)])
                ),
            )
        if self._older:
            again = shlex.join(["neardup", "report", typed_text(self._options.out), "-o", "PAGE", "--overwrite"])
            yield "report", f"{self._older}: {display.printable(again)}"

    def _fate(self) -> str:
        from neardup.deduplication.texts import fate

        sentence = fate(self._found, self._id)
        member = self._decision.member
        if (
            member is not None
            and member.pair is not None
            and self._group is not None
            and not member.representative
        ):
            sentence += f". {member.pair.sentence(self._id, self._group.id)}"
        if member is not None and member.lost is not None:
            sentence = f"{sentence.removesuffix('.')}. {member.lost.sentence()}"
        return display.printable(sentence)

    def _of_group(self, group: Group) -> Iterator[display.Line]:
        kept = sum(member.kept for member in group.members)
        gone = len(group.members) - kept
        yield "group", f"{display.counted(len(group.members), 'document')}: {kept:,} kept, {gone:,} removed"
        for member in group.members[: self._options.limit]:
            mark = " (this document)" if member.id == self._id else ""
            yield "", f"{member.fate:<7}  {display.printable(member.id)}{mark}: {display.printable(member.reason)}"
        if len(group.members) > self._options.limit:
            yield "", f"... and {display.counted(len(group.members) - self._options.limit, 'more member')}"

    def _near_lines(self) -> Iterator[display.Line]:
        settings = self._found.run.settings
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
        shown = display.shorten(words, _BEGINNING)
        return f"{display.size(len(text.encode('utf-8', 'replace')))}: {shown}" if shown else "(empty)"

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain data, the text in full."""
        document, group = self._document, self._group
        members = () if group is None else group.members
        return {
            "id": self._id,
            "in_reference": self._decision.in_reference,
            "path": document.path if document else None,
            "row": document.row if document else None,
            "text": document.text if document else None,
            "fields": dict(self._fields),
            "not_read": None if self._error is None else self._error.given,
            "fate": self._fate(),
            "group": None if group is None else group.id,
            "members": [
                {"id": one.id, "similarity": one.similarity, "kept": one.kept, "reason": one.reason}
                for one in members
            ],
            "outside": [asdict(other) for other in self._outside],
            "older_report": self._older or None,
        }


def _near_line(other: Outside, measure: str) -> str:
    where = "in no group" if other.group is None else f"in the group of {other.group}"
    near = f"{other.id}: {measure} {display.similarity(other.similarity)} with {other.member}, {where}"
    return display.printable(near)


def report(options: on_results.ReportOptions) -> int:
    """Write a page about a result: the figures, the groups to look at first, and pairs side by side."""
    from neardup.deduplication.results import load
    from neardup.io.outputs import OutputPage
    from neardup.review.report.content import check_lengths, report_page

    check_lengths(options.most_pairs, options.most_groups, options.megabytes)
    result = load(options.result)
    with OutputPage(options.page, overwrite=options.overwrite, access=result.access) as page:
        content = report_page(
            result,
            pairs=options.most_pairs,
            groups=options.most_groups,
            megabytes=options.megabytes,
            title=options.title or options.result.resolve().name,
            written=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            by=options.by or account(),
        )
        page.write(content)
    name, size = display.printable(typed_text(options.page)), len(content.encode("utf-8", "replace"))
    typer.echo(f"written  {name}: {display.size(size)}")
    return DONE


def apply(options: on_results.ApplyOptions) -> int:
    """Write the documents that are kept after the review of a result, as people decided."""
    from neardup.deduplication.results import load
    from neardup.deduplication.reviews import review_in
    from neardup.deduplication.runs import fill_final, final_result
    from neardup.io.outputs import common_access

    with output.reports_aside(options.out):
        output.refuse_unusable_out(options)
        if options.out is None or options.dry_run:
            result = load(options.result)
            return output.print_result(final_result(result, review_in(result.ranks, options.result)), options)
        _refuse_same_folder(options.out, options.result)
        with output.watcher() as progress, output.open_output(options.out, overwrite=options.overwrite) as folder:
            folder.restrict(common_access(options.moved))
            result = load(options.result)
            final = fill_final(result, review_in(result.ranks, options.result), folder, progress, options.moved)
        return output.print_result(final, options)


def regroup(options: on_results.RegroupOptions) -> int:
    """Group the pairs of an earlier result at a stricter threshold."""
    from neardup.deduplication.results import load, write_result
    from neardup.io.outputs import OutputFolder
    from neardup.tables import DECISIONS_FILE

    output.refuse_unusable_out(options)
    if (options.result / DECISIONS_FILE).exists():
        name = display.printable(options.result)
        warn(f"the decisions in {name} are not followed; neardup dedup --decisions does that")
    if options.out is None or options.dry_run:
        return output.print_result(load(options.result).at(options.stricter), options)
    _refuse_same_folder(options.out, options.result)
    with OutputFolder(options.out, overwrite=options.overwrite) as folder:
        result = load(options.result).at(options.stricter)
        write_result(result, folder)
    return output.print_result(result, options)


def _refuse_same_folder(out: Path, result: Path) -> None:
    if out.resolve() == result.resolve():
        raise OutputError(
            f"{out} is the given result itself",
            "Another folder, since a result cannot replace its source",
            "Choose another folder with -o",
        )


def export(options: on_results.ExportOptions) -> int:
    """Write the groups, decisions or tags of a reviewed result as a file for another program."""
    from neardup.deduplication.reviews import describe_table, export_bytes, require_export
    from neardup.io.outputs import for_spreadsheets

    if options.what in (DOCUMENTS, KEPT):
        return _export_documents(options)
    _refuse_walk(options)
    if options.what == PAIRS:
        return _export_pairs(options)
    form = options.form or form_of(options.file)
    require_export(options.what, form)
    what = cast("Exported", options.what)
    table = _table(options.out, what, every=options.every, moved=options.moved)
    parts = export_bytes(table, what, form)
    if form == "csv" and options.file != Path("-"):
        parts = for_spreadsheets(parts)
    return _write(parts, describe_table(table, what, form), options)


def _write(parts: Iterable[bytes], described: str, options: on_results.ExportOptions) -> int:
    """Write an export to its file, and say what it holds, or to standard output."""
    from neardup.io.outputs import OutputExport, common_access

    if options.file == Path("-"):
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return DONE
    with OutputExport(
        options.file, overwrite=options.overwrite, access=common_access(_files_of(options.out))
    ) as file:
        for part in parts:
            file.write_bytes(part)
    typer.echo(f"{described} written to {printable(typed_text(options.file))}")
    return DONE


def _export_pairs(options: on_results.ExportOptions) -> int:
    """Write the pairs as a graph or an edge list: all of them, or those around a document."""
    from neardup.deduplication.results import around, edges_of, edges_of_members, load
    from neardup.io.outputs import GRAPH_FORMS, as_bytes_of

    form = options.form or form_of(options.file, GRAPH_FORMS)
    if form not in GRAPH_FORMS:
        raise SettingError(f"The export is {form!r}", f"One of {', '.join(GRAPH_FORMS)}")
    place, result = options.out, None
    folder = result_at(place)
    if folder is None:
        edges = edges_of_members(_table(place, "groups"))
    else:
        result = load(folder)
        edges = edges_of(result.named)
    if options.around is None:
        described = counted(edges.num_rows, "pair")
    else:
        named = options.around if result is None else str(result.name_of(options.around))
        near = around(edges, named, 1 if options.hops is None else options.hops, options.most)
        edges, described = (
            near.edges,
            f"{counted(near.edges.num_rows, 'pair')} of {counted(near.documents, 'document')}",
        )
        if near.left_out:
            documents = counted(near.left_out, "document")
            warn(f"{documents} at the last hop left out, and all behind: --most is {options.most:,}")
    return _write(as_bytes_of(edges, form, ("id_a", "id_b")), described, options)


def _refuse_walk(options: on_results.ExportOptions) -> None:
    """Raise SettingError for options of the pairs around a document without them."""
    if options.around is not None and options.what != PAIRS:
        raise SettingError(
            f"--around was given with {options.what}", "--around with --what pairs", "Add --what pairs"
        )
    if options.hops is not None and options.around is None:
        raise SettingError("--hops was given without --around", "Both", "Name a document with --around ID")


def _export_documents(options: on_results.ExportOptions) -> int:
    """Write the documents of a collection, or those that stay."""
    if result_at(options.out) is not None:
        raise InputError(
            f"{options.out} is not a collection",
            "A collection; neardup apply writes the documents that are kept after the review of a result",
        )
    kept = options.what == KEPT
    with open_existing(options.out) as collection:
        if options.file == Path("-"):
            for part in collection.exported(options.form or "jsonl", kept=kept):
                sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
            return DONE
        count = collection.export(options.file, options.form, overwrite=options.overwrite, kept=kept)
    typer.echo(f"{counted(count, 'document')} written to {printable(typed_text(options.file))}")
    return DONE


def _files_of(place: Place) -> list[Path]:
    """Return the files whose readers may read the export: none of a database, which has rights of its own."""
    file = file_at(place)
    if file is None:
        return []
    return [file, *file.iterdir()] if file.is_dir() else [file]


def _table(path: Place, what: Exported, *, every: bool = False, moved: Sequence[str] = ()) -> pa.Table:
    """Return the table to export from a result folder or a collection."""
    folder = result_at(path)
    if folder is None:
        if every:
            raise SettingError("--all was given with a collection", "A result folder", "Use --what documents")
        from neardup.collection.changes import collection_table

        with open_existing(path) as collection:
            return collection_table(collection, what)
    from neardup.deduplication.results import load
    from neardup.deduplication.reviews import export_table
    from neardup.io.decisions import DecisionStore

    result = load(folder)
    with DecisionStore(folder, read_only=True) as store, output.watcher() as progress:
        return export_table(result, store.state(), what, every=every, moved=moved, progress=progress)


def import_tags(options: on_results.ImportOptions) -> int:
    """Read tags and decisions from a file of another program into a result or a collection."""
    place, form = options.out, options.form or form_of(options.file)
    folder = result_at(place)
    if folder is None:
        with open_existing(place) as collection:
            decided = collection.import_decisions(options.file, form, by=options.by)
            added = decided or collection.import_tags(options.file, form, by=options.by, columns=options.columns)
    else:
        from neardup.deduplication.reviews import import_into

        added = import_into(folder, options.file, form, options.by, options.columns)
    if added.action is None:
        typer.echo("nothing to add")
    else:
        parts = [f"{counted(added.tags, 'tag')} of {counted(added.documents, 'document')}"] * bool(added.tags)
        parts += [counted(added.decisions, "decision")] * bool(added.decisions)
        typer.echo(f"{' and '.join(parts)} added (action {added.action.number:,})")
    if added.aside:
        typer.echo(f"{counted(added.aside, 'row')} of batches and second reviews left out")
    if added.waiting:
        where = place if isinstance(place, DatabaseURL) else typed_text(place)
        command = f"{'neardup serve --page' if folder is None else 'neardup review'} {printable(where)}"
        warn(
            f"{counted(added.waiting, 'decision')} left out, on pairs that wait for the second verdict of "
            f"{printable(options.by)}: the first verdicts count until then. Give the second ones on the page "
            f"Batches: {command}"
        )
    if added.unknown:
        warn(_unknown(added.unknown))
    return REJECTED if added.unknown or added.waiting else DONE


def _unknown(ids: Sequence[str]) -> str:
    listed = ", ".join(printable(id) for id in islice(ids, _SHOWN))
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    verb = "is" if len(ids) == 1 else "are"
    sentence = f"{counted(len(ids), 'id')} {verb} in no pair and no copy of this result, or unknown, and left out"
    return f"{sentence}: {listed}{more}"


def form_of(file: Path, allowed: Iterable[str] = ()) -> str:
    """Return the form that the suffix of a file names. Raises SettingError for any other."""
    from neardup.io.outputs import FORMS

    forms = [*(allowed or FORMS)]
    if file == Path("-"):
        raise SettingError("No format was given for standard output", "", f"Give --format {', '.join(forms)}")
    form = file.suffix.lower().removeprefix(".")
    if form not in forms:
        raise InputError(
            f"The suffix of {file} names no format",
            ", ".join(f".{name}" for name in forms),
            "Choose such a name; neardup export and import also have --format",
        )
    return form
