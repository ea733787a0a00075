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
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from neardup import display
from neardup.cli.options.general import LogOptions
from neardup.runtime import Advance, peak_memory

if TYPE_CHECKING:
    from neardup.io.outputs import OutputMetrics

_QUIET = 5.0
"""Seconds of a run that are not logged without ``--log-format``: a short run has nothing to tell."""
_LEAST = 1.0
"""Seconds of a run before a thread waits for the time of a line."""
Event = Mapping[str, Any]
_log: ContextVar["Log | None"] = ContextVar("_log", default=None)


@dataclass(eq=False)
class _Stage:
    """A stage that is under way."""

    name: str
    total: int | None
    unit: str
    began: float
    done: int = 0


@dataclass(eq=False)
class Log:
    """The log of one command: what is said, when, and the figures at the end.

    ``counts`` are those of the run, ``seconds`` those of its stages, both by name.
    """

    command: str
    options: LogOptions = field(default_factory=LogOptions)
    write: Callable[[str], None] = lambda line: typer.echo(line, err=True)
    clock: Callable[[], float] = monotonic
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began, self._lock, self._ended = self.clock(), threading.RLock(), threading.Event()
        self._open: list[_Stage] = []
        self._held: list[Event] | None = None if self.options.log_format else []
        self._thread: threading.Thread | None = None
        self._file: OutputMetrics | None = None
        self.is_shown = self.options.log_format is not None or not sys.stderr.isatty()

    @property
    def is_events(self) -> bool:
        """Whether programs read the log."""
        return self.options.log_format == "json"

    def start(self) -> None:
        """Log the start of the command. Raises OutputError if the figures cannot be written at its end."""
        if self.options.metrics is not None:
            from neardup.io.outputs import OutputMetrics

            self._file = OutputMetrics(self.options.metrics)
            self._file.__enter__()
        if self.is_events:  # the version takes time to look up
            from neardup import __version__

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
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
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
            if not self._ended.wait(self.options.log_every):
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
        stages = [(f'{of},stage="{name}"', round(taken, 3)) for name, taken in self.seconds.items()]
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
def current_log(log: Log) -> Iterator[Log]:
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
