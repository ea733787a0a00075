"""The log of a command that works long: lines for people, events for programs, figures for Prometheus.

Without a terminal the log of a run that takes more than a few seconds has a line when a stage starts and ends, and
one every half minute. ``--log-format json`` writes each as an event, a JSON object on one line of standard error.
"""

import json as notation
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.options.general import EVERY, LOG_FORMATS
from neardup.errors import SettingError
from neardup.runtime import Advance, peak_memory

if TYPE_CHECKING:
    from neardup.io.outputs import OutputMetrics

_QUIET = 5.0
"""Seconds of a run that are not logged without ``--log-format``: a short run has nothing to tell."""
_LEAST = 1.0
"""Seconds of a run before a thread waits for the time of a line."""
Event = Mapping[str, Any]
_log: ContextVar["Log | None"] = ContextVar("_log", default=None)


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """The options of the log: the form (None: for people, if there is no terminal), and the seconds between lines.

    ``metrics``: a file for Prometheus. ``strict``: whether rows that are rejected make the status 2 or 0; None: 1.
    Raises SettingError for a form that there is not, and for seconds that are not above 0.
    """

    form: str | None = None
    every: float = EVERY
    metrics: Path | None = None
    strict: bool | None = None

    def __post_init__(self) -> None:
        if self.form not in (None, *LOG_FORMATS):
            raise SettingError(f"--log-format is {self.form!r}", f"One of {', '.join(LOG_FORMATS)}")
        if not self.every > 0:
            raise SettingError(f"--log-every is {self.every:g}", "A number of seconds above 0")

    def status_of(self, status: int) -> int:
        """Return the exit status in place of 1, which says that some input was rejected."""
        return status if status != 1 or self.strict is None else 2 if self.strict else 0


@dataclass
class _Stage:
    """A stage that is under way."""

    name: str
    total: int | None
    unit: str
    began: float
    done: int = 0


@dataclass(eq=False)
class Log:
    """The log of one command: what is said, when, and the figures at the end."""

    command: str
    options: LogOptions = LogOptions()
    write: Callable[[str], None] = lambda line: typer.echo(line, err=True)
    clock: Callable[[], float] = monotonic
    counts: dict[str, int] = field(default_factory=dict)
    stages: list[tuple[str, str, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began, self._lock, self._ended = self.clock(), threading.RLock(), threading.Event()
        self._open: list[_Stage] = []
        self._held: list[Event] | None = None if self.options.form else []
        self._thread: threading.Thread | None = None
        self._file: OutputMetrics | None = None
        self.is_shown = self.options.form is not None or not sys.stderr.isatty()

    @property
    def is_events(self) -> bool:
        """Whether programs read the log."""
        return self.options.form == "json"

    def start(self) -> None:
        """Log the start of the command. Raises OutputError if the figures cannot be written at its end."""
        from neardup import __version__

        if self.options.metrics is not None:
            from neardup.io.outputs import OutputMetrics

            self._file = OutputMetrics(self.options.metrics)
            self._file.__enter__()
        self._emit({"event": "start", "version": __version__})

    @contextmanager
    def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Log a stage: its start, its end, and its progress in between."""
        stage = _Stage(name, total, unit, self.clock())
        self._open.append(stage)
        self._emit({"event": "stage", "state": "start", "stage": name, "total": total, "unit": unit})

        def advance(amount: int) -> None:
            stage.done += amount
            if self._thread is None and self.is_shown and self.clock() - self._began > _LEAST:
                self._watch()

        try:
            yield advance
        finally:
            self._open.remove(stage)
            seconds = self.clock() - stage.began
            self.stages.append((name, unit, stage.done, seconds))
            end = {"done": stage.done, "unit": unit, "seconds": round(seconds, 3)}
            self._emit({"event": "stage", "state": "end", "stage": name, **end})

    def end(self, status: int) -> None:
        """Log the end, and write the figures."""
        self._ended.set()
        seconds, memory = self.clock() - self._began, peak_memory()
        figures = {"seconds": round(seconds, 3), "peak_memory_bytes": memory, "counts": self.counts}
        self._emit({"event": "end", "status": status, **figures})
        if self._file is not None:
            self._file.write_bytes("".join(self._figures(status, seconds, memory)).encode())
            self._file.__exit__(None, None, None)

    def _watch(self) -> None:
        self._thread = threading.Thread(target=self._tell, daemon=True)
        with suppress(RuntimeError):  # no thread is left: the log has starts and ends alone
            self._thread.start()

    def _tell(self) -> None:
        """Release the lines that were held, and log the stages under way from time to time."""
        if self._held is not None:
            self._ended.wait(max(0.0, _QUIET - (self.clock() - self._began)))
        while not self._ended.is_set():
            self._release()
            if not self._ended.wait(self.options.every):
                for stage in [*self._open]:
                    self._emit(self._progress(stage))

    def _progress(self, stage: _Stage) -> Event:
        rate = stage.done / max(self.clock() - stage.began, 1e-9)
        left = (stage.total - stage.done) / rate if stage.total and stage.total > stage.done and rate else None
        return {
            "event": "progress",
            "stage": stage.name,
            "done": stage.done,
            "total": stage.total,
            "unit": stage.unit,
            "per_second": round(rate, 1),
            "seconds_left": None if left is None else round(left, 1),
            "peak_memory_bytes": peak_memory(),
        }

    def _release(self) -> None:
        with self._lock:
            held, self._held = self._held, None
            for event in held or ():
                self._emit(event)

    def _emit(self, event: Event) -> None:
        with self._lock:
            if not self.is_shown:
                return
            if self._held is not None:
                self._held.append(event)
                return
            if self.is_events:
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                self.write(notation.dumps({"time": now, "command": self.command, **event}, ensure_ascii=False))
            elif line := _words({"command": self.command, **event}):
                self.write(line)

    def say(self, kind: str, text: str) -> bool:
        """Log a warning, an error or a note as an event; whether programs read the log."""
        if self.is_events:
            self._emit({"event": kind, "text": text})
        return self.is_events

    def _figures(self, status: int, seconds: float, memory: int) -> Iterator[str]:
        of = f'command="{self.command}"'
        yield from _metric("status", "Exit status of the last run.", [(of, status)])
        yield from _metric("duration_seconds", "Seconds that the last run took.", [(of, round(seconds, 3))])
        now = round(datetime.now(UTC).timestamp(), 3)
        yield from _metric("end_timestamp_seconds", "When the last run ended.", [(of, now)])
        yield from _metric("peak_memory_bytes", "Largest resident size of the last run.", [(of, memory)])
        counts = [(f'{of},count="{name}"', value) for name, value in self.counts.items()]
        yield from _metric("documents", "Counts of the last run.", counts)
        spent: dict[str, float] = {}
        for name, _, _, taken in self.stages:
            spent[name] = spent.get(name, 0.0) + taken
        stages = [(f'{of},stage="{name}"', round(taken, 3)) for name, taken in spent.items()]
        yield from _metric("stage_seconds", "Seconds of each stage of the last run.", stages)


def _metric(name: str, text: str, values: Sequence[tuple[str, float]]) -> Iterator[str]:
    """The lines of a gauge in the text format of Prometheus; none without a value."""
    if values:
        yield f"# HELP neardup_{name} {text}\n# TYPE neardup_{name} gauge\n"
    for labels, value in values:
        yield f"neardup_{name}{{{labels}}} {value}\n"


def _words(event: Event) -> str:
    """An event as a line for people; "" for one that they need not see."""
    name = display.printable(str(event.get("stage", "")))
    if event["event"] == "stage" and event["state"] == "start":
        total = "" if event["total"] is None else f": {_amount(event['total'], event['unit'])}"
        return f"{name} starts{total}"
    if event["event"] == "stage":
        of = f": {_amount(event['done'], event['unit'])}" if event["done"] else ""
        return f"{name} ends after {display.duration(event['seconds'])}{of}"
    if event["event"] == "progress":
        done = _amount(event["done"], event["unit"])
        of = f" of {_amount(event['total'], event['unit'])}" if event["total"] else ""
        rate = f", {_amount(round(event['per_second']), event['unit'])}/s"
        left = event["seconds_left"]
        rest = "" if left is None else f", {display.duration(left)} left"
        return f"{name}: {done}{of}{rate}{rest}, memory up to {display.size(event['peak_memory_bytes'])}"
    if event["event"] == "end":
        memory, seconds = display.size(event["peak_memory_bytes"]), display.duration(event["seconds"])
        return f"{event['command']} ends with status {event['status']} after {seconds}, memory up to {memory}"
    return ""


def _amount(amount: int, unit: str) -> str:
    return display.size(amount) if unit == "bytes" else f"{display.number(amount)} {unit}"


@contextmanager
def logged(log: Log) -> Iterator[Log]:
    """Make a log the one of the command within the block."""
    before = _log.set(log)
    try:
        yield log
    finally:
        _log.reset(before)


def current() -> Log | None:
    """Return the log of the command, if it has one."""
    return _log.get()


def count(counts: Mapping[str, Any]) -> None:
    """Remember the counts of a run, its whole numbers, for the event at the end and for the figures."""
    if (log := _log.get()) is not None:
        log.counts |= {name: value for name, value in counts.items() if type(value) is int}
