"""Output of all commands: the place of a result, summaries, groups, and progress bars on a terminal."""

from __future__ import annotations

import json as notation
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from io import UnsupportedOperation
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from neardup import display
from neardup.cli.log import count, current
from neardup.cli.messages import DONE, REJECTED, Noted, warn
from neardup.cli.option import typed_text
from neardup.cli.options.general import OutputOptions, ResultOptions
from neardup.errors import OutputError, SettingError
from neardup.runtime import Advance, Progress, Silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import Task

    from neardup.deduplication.results import Found, Group, RunAccount
    from neardup.io.outputs import OutputFolder

WIDTH = 80
"""Columns of output that does not go to a terminal."""
_LABEL = len("exact copies")
"""Columns of a label of a summary, whether a run has exact copies or not."""
STREAM = Path("-")
_FOLDER_ONLY = {
    "resume": "--resume",
    "store_texts": "--store-texts",
    "file_size": "--file-size",
    "write_removed": "--write-removed",
    "revisits": "--revisits",
    "overwrite": "--overwrite",
}
"""Options that need a folder."""
_rows: ContextVar[BinaryIO | None] = ContextVar("_rows", default=None)


_SUMMARY = 22
"""Lines that are left for a summary on a screen."""


def refuse_unusable_out(options: OutputOptions) -> None:
    """Raise OutputError before the work rather than after it."""
    out = options.out
    if out == STREAM:
        given = [spelling for name, spelling in _FOLDER_ONLY.items() if name in options.explicit]
        if given:
            raise SettingError(
                f"{', '.join(given)} cannot be given with -o -",
                "-o -, which writes the kept rows to standard output and nothing else",
                "Leave it out, or give -o DIR",
            )
        _require_open_output()
    if options.dry_run or out == STREAM:
        return
    if out is None:
        raise OutputError(
            "No folder for the results was given",
            "",
            "Give -o DIR, -o - for the kept rows on standard output, or --dry-run to write nothing",
        )
    if typed_text(out) == str(out) and out.exists() and not options.overwrite:
        raise OutputError(
            f"{out} exists already",
            "A folder that does not exist yet",
            "Choose another one, or give --overwrite to replace it",
        )


def _require_open_output() -> None:
    """Raise OutputError if standard output is closed: all rows would be lost."""
    from neardup.io.outputs import unwritable_error

    try:
        os.write((_rows.get() or sys.stdout).fileno(), b"")
    except UnsupportedOperation:  # a stream of Python, which is open
        return
    except OSError as error:
        raise unwritable_error("standard output", error) from error


@contextmanager
def reports_aside(out: Path | None) -> Iterator[None]:
    """Let rows have standard output within the block if ``out`` is a stream: everything printed goes to stderr."""
    if out != STREAM:
        yield
        return
    sys.stdout.flush()
    before = _rows.set(sys.stdout.buffer)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _rows.reset(before)


def open_output(out: Path, *, overwrite: bool) -> OutputFolder:
    """Return the output for a folder or a stream."""
    from neardup.io.outputs import OutputFolder, StreamOutput

    rows = _rows.get()
    return OutputFolder(out, overwrite=overwrite) if out != STREAM or rows is None else StreamOutput(rows)


def show_groups(groups: Sequence[Group], total: int, verbose: bool = True, *, dry: bool = False) -> None:
    """Print groups; unless ``verbose``, as many as a terminal has lines for, with names that fit its columns."""
    most = lines_for_groups(verbose)
    width = None if most is None else get_terminal_size().columns
    from neardup.deduplication.results import group_lines

    for line in group_lines(first_groups(groups, most), total, width, dry=dry):
        typer.echo(line)


def lines_for_groups(verbose: bool, left: int = _SUMMARY) -> int | None:
    """Return how many lines of groups fit on the terminal above ``left`` others; None: all, as in a pipe."""
    return None if verbose or not sys.stdout.isatty() else max(1, get_terminal_size().lines - left)


def first_groups(groups: Sequence[Group], most: int | None) -> Sequence[Group]:
    """Return the first groups that fit in ``most`` lines (None: any number), at least one.

    A group has a line above, where its folder is, and a blank one.
    """
    used = 0
    for place, group in enumerate(groups):
        used += len(group.members) + 2
        if most is not None and used > most:
            return groups[: max(1, place)]
    return groups


def line_about(run: RunAccount, fate: str = "removed") -> str:
    """Return the counts of a run in one line; ``fate`` is that of the documents that do not stay."""
    counts = run.counts
    share = display.percent(counts.removed, counts.read)
    gone = f"; {counts.removed:,} ({share}) {fate}" if run.action == "dedup" else ""
    return (
        f"{display.counted(counts.read, 'document')}: {display.counted(counts.groups, 'group')} with "
        f"{display.counted(counts.exact_copies, 'exact copy', 'exact copies')} and "
        f"{display.counted(counts.near_copies, 'near copy', 'near copies')}{gone}"
    )


def show_by(run: RunAccount, dry: bool) -> None:
    """Print the counts of each value, for a run by a column."""
    if run.by is not None:
        from neardup.deduplication.runs import by_lines

        for line in by_lines(run.by, dry=dry):
            typer.echo(line)
        typer.echo()


def show_summary(run: RunAccount, *more: display.Line, dry: bool = False) -> None:
    """Print the summary of a run and ``more`` lines, and its warnings at the end."""
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    from neardup.deduplication.results import summary

    lines = [*summary(run, dry=dry), *more]
    for line in display.aligned_lines([(label.ljust(_LABEL), text) for label, text in lines], width):
        typer.echo(line)
    show_warnings(run)


def show_warnings(run: RunAccount) -> None:
    """Print the warnings of a run, which ``--quiet`` does not silence."""
    for text in run.warnings:
        warn(display.printable(text))


def print_result(result: Found, options: ResultOptions) -> int:
    """Print the result, and return the exit status."""
    account = result.run.as_dict()
    count(account["counts"])
    if options.json:
        typer.echo(notation.dumps({**account, **_files(options)}, indent=2, ensure_ascii=False))
    else:
        _show(result, options)
    if options.dry_run and result.run.action == "dedup":  # the run itself would have ended there
        from neardup.deduplication.runs import require_most_removed

        require_most_removed(result.run)
    return REJECTED if result.problems else DONE


def _files(options: OutputOptions) -> dict[str, Any]:
    """Return the output folder and its files; none after a dry run."""
    if options.out is None or options.dry_run:
        return {"out": None, "files": []}
    if options.out == STREAM:
        return {"out": "-", "files": []}
    from neardup.io.outputs import names_in

    return {"out": typed_text(options.out), "files": names_in(options.out)}


def _show(result: Found, options: ResultOptions) -> None:
    run, files = result.run, _files(options)
    if options.quiet:
        fate = "to remove" if options.dry_run else "removed"
        typer.echo(f"{line_about(run, fate)}; written: {files['out'] or 'nothing'}")
        show_warnings(run)
    else:
        if options.dry_run:
            dry = run.action == "dedup"  # group removes nothing in any case
            show_groups(result.first_groups(), run.counts.groups, options.verbose, dry=dry)
        show_by(run, options.dry_run)
        table = None if options.dry_run else getattr(options, "write_table", None)
        show_summary(run, ("written", _outputs_in_words(result, files, table)), dry=options.dry_run)
    if not options.quiet and files["out"] not in (None, "-"):
        command = "next"
        for words in _next(shlex.quote(files["out"]), run, options):
            typer.echo(f"{command:<14}neardup {words}")
            command = ""
    if result.problems:  # of the reference set, too
        them = "it" if len(result.problems) == 1 else "them"
        warn(
            _rejected_lines(
                result,
                "" if files["out"] in (None, "-") else f"; problems.jsonl in {files['out']} lists {them}",
            )
        )


def _next(out: str, run: RunAccount, options: ResultOptions) -> list[str]:
    """Return the next commands: without a group one that lists the most similar pairs, if there can be any."""
    parts = [f"part FILES_OF_A_PART --of {out} -o KEPT"] if hasattr(options, "parts") else []
    if run.counts.groups:
        return [*parts, f"review {out}", f"report {out} -o report.html", f"export {out} -o groups.csv"]
    inputs = getattr(options, "inputs", ()) if run.counts.read > 1 else ()
    return [f"pairs {shlex.join(map(str, inputs))}"] if inputs else parts


def _outputs_in_words(result: Found, files: Mapping[str, Any], table: Path | None) -> str:
    """Say where the result is, and the new table of the rows that stay."""
    if files["out"] is None:
        return "nothing (dry run)"
    if files["out"] == "-":
        return f"{display.counted(result.run.counts.kept, 'row')} to standard output"
    kept = result.run.kept_files
    names = (
        f"kept ({display.counted(kept.files, 'file')})" if name == "kept" and kept is not None else name
        for name in files["files"]
    )
    also = "" if table is None else f"; {display.printable(typed_text(table))}: the kept rows"
    return f"{files['out']}: {', '.join(names)}{also}"


def _rejected_lines(result: Found, where: str) -> str:
    first = result.problems[0]
    row = "" if first.row is None else f" row {first.row}"
    return (
        f"{display.counted(len(result.problems), 'row')} rejected{where}.\n"
        f"The first: {display.printable(first.source)}{row}: {display.printable(first.reason)}"
    )


def unbroken(lines: Sequence[display.Line], width: int) -> Iterator[str]:
    """Yield labelled lines like ``display.aligned``, but break no word and no command: they can be copied."""
    column = max((len(label) for label, _ in lines), default=0) + 2
    for label, text in lines:
        line, indent = f"{label:<{column}}{text}", " " * column
        if text.startswith("neardup "):
            yield line
        else:
            yield fill(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


class Shown:
    """The watcher that draws one bar per stage, with its rate and the remaining time."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Draw the bar of a stage."""
        task = self._bars.add_task(name, total=total, unit=unit)
        try:
            yield lambda amount: self._bars.advance(task, amount)
            self._bars.update(task, completed=total)  # totals may be estimates
        finally:
            self._bars.stop_task(task)


class CountedStages:
    """A watcher that forwards everything, and counts the steps, for what is said if the work is stopped."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self.name, self.done, self.total = "", 0, 0

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Count a stage."""
        self.name, self.done, self.total = name, 0, total or 0
        with self._shown.stage(name, total, unit) as advance:

            def count_amount(amount: int) -> None:
                self.done += amount
                advance(amount)

            yield count_amount


@contextmanager
def watcher() -> Iterator[Progress]:
    """Yield the watcher for standard error: bars on a terminal, which disappear at the end, or else the log."""
    log = current()
    if log is not None and log.is_shown:
        yield Noted(log)
    elif not sys.stderr.isatty():
        yield Noted(Silent())
    else:
        from rich.console import Console

        with _bars(Console(stderr=True)) as bars:
            yield Noted(Shown(bars))


def _bars(console: Console) -> Bars:
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """The completed amount and the rate."""

        def render(self, task: Task) -> Text:
            speed, unit = task.finished_speed or task.speed, task.fields["unit"]
            return Text(_rate(int(task.completed), speed, unit))

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        Rate(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        transient=True,
    )


def _rate(done: int, speed: float | None, unit: str) -> str:
    if unit == "bytes":
        return display.size(done) + (f", {display.size(int(speed))}/s" if speed else "")
    return f"{display.number(done)} {unit}" + (f", {display.number(int(speed))}/s" if speed else "")
