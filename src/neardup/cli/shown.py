"""Output of all commands: progress bars on a terminal, groups, and the summary of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.compiling import compiling_now, shown_by_bars
from neardup.cli.messages import warn
from neardup.cli.scarcity import Noted
from neardup.run import show
from neardup.runtime import Advance, Progress, Silent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import Task

    from neardup.run.records import Group

WIDTH = 80
"""Columns of output that does not go to a terminal."""
_LONG = 1000
"""The least units between two lines about work that goes on."""


def show_groups(groups: Sequence[Group], total: int) -> None:
    """Print groups."""
    for line in show.group_lines(groups, total):
        typer.echo(line)


def show_by(run: Mapping[str, Any]) -> None:
    """Print the counts of each value, for a run by a column."""
    if run.get("by"):
        from neardup.run.by_value import by_lines

        for line in by_lines(run):
            typer.echo(line)
        typer.echo()


def show_summary(run: Mapping[str, Any], *more: display.Line) -> None:
    """Print the summary of a run and ``more`` lines, and its warnings at the end."""
    width = get_terminal_size().columns if sys.stdout.isatty() else None
    for line in display.aligned([*show.summary(run), *more], width):
        typer.echo(line)
    for text in run["warnings"]:
        warn(display.printable(text))


def unbroken(lines: Sequence[display.Line], width: int) -> Iterator[str]:
    """Yield labelled lines like ``display.aligned``, but break no word and no command: they can be copied."""
    column = max((len(label) for label, _ in lines), default=0) + 2
    for label, said in lines:
        line, indent = f"{label:<{column}}{said}", " " * column
        if said.startswith("neardup "):
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
    """A watcher that forwards everything, and counts what was done.

    Without a terminal it prints a line for each tenth of long work: such work is stored in pieces.
    """

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self.done = self.total = 0

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Count a stage."""
        self.done, self.total = 0, total or 0
        step = 0 if sys.stderr.isatty() else max(self.total // 10, _LONG)
        with self._shown.stage(name, total, unit) as advance:

            def counted(amount: int) -> None:
                before, self.done = self.done, self.done + amount
                advance(amount)
                if step and before // step < self.done // step and self.done < self.total:
                    text = f"{name}: {display.number(self.done)} of {display.number(self.total)} {unit}"
                    typer.echo(text, err=True)

            yield counted


@contextmanager
def watcher() -> Iterator[Progress]:
    """Yield the watcher for standard error; its bars disappear at the end."""
    if not sys.stderr.isatty():
        yield Noted(Silent())
        return
    from rich.console import Console

    with shown_by_bars(), _bars(Console(stderr=True)) as bars:
        yield Noted(Shown(bars))


def _bars(console: Console) -> Bars:
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """The completed amount and the rate."""

        def render(self, task: Task) -> Text:
            speed, unit = task.finished_speed or task.speed, task.fields["unit"]
            compiles = "" if task.finished else compiling_now()
            return Text(", ".join(filter(None, (_rate(int(task.completed), speed, unit), compiles))))

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
