"""The log: a line for each start and end, progress in between, events for programs, figures at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from neardup.cli.log import Log, count, current, current_log
from neardup.cli.options.general import LogOptions
from neardup.errors import SettingError
from support.messages import has_parts


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def made(form: str | None, **options: Any) -> tuple[Log, list[str], Clock]:
    lines, clock = list[str](), Clock()
    return Log("dedup", LogOptions(log_format=form, **options), write=lines.append, clock=clock), lines, clock


def work(log: Log, clock: Clock) -> None:
    log.start()
    with log.stage("fingerprint", 4_000_000, "bytes") as advance:
        clock.now += 2.0
        advance(4_000_000)
    with log.stage("group", None, "documents"):
        clock.now += 0.5


def test_people_read_a_line_for_each_start_and_end() -> None:
    log, lines, clock = made("text")
    work(log, clock)
    log.end(0)
    assert lines[:4] == [
        "fingerprint starts: 4.0 MB",
        "fingerprint ends after 2.0 s: 4.0 MB",
        "group starts",
        "group ends after 0.50 s",
    ]
    assert has_parts(lines[4], "dedup", "status 0", "2.5 s")


def test_programs_read_an_event_on_each_line() -> None:
    log, lines, clock = made("json")
    work(log, clock)
    assert log.say("warning", "two\nlines")
    log.counts |= {"read": 7}
    log.end(1)
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["start", *["stage"] * 4, "warning", "end"]
    assert all(event["command"] == "dedup" and event["time"].endswith("+00:00") for event in events)
    assert [event["state"] for event in events[1:5]] == ["start", "end"] * 2
    assert (events[2]["done"], events[2]["seconds"]) == (4_000_000, 2.0)
    assert events[5]["text"] == "two\nlines"
    assert (events[6]["status"], events[6]["counts"]) == (1, {"read": 7})


def test_a_short_run_has_nothing_to_tell_and_a_long_one_all_from_its_start() -> None:
    log, lines, clock = made(None)
    log.is_shown = True
    work(log, clock)
    assert lines == []
    log._release()
    assert lines[0] == "fingerprint starts: 4.0 MB"
    assert len(lines) == 4


def test_a_terminal_has_bars_in_place_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert not Log("dedup", LogOptions()).is_shown
    assert Log("dedup", LogOptions(log_format="text")).is_shown


@pytest.mark.parametrize(
    ("total", "unit", "said"),
    [
        (4_000_000, "bytes", "a: 1.0 MB of 4.0 MB, 500.0 kB/s, 6.0 s left, memory up to "),
        (None, "pairs", "a: 1,000,000 pairs, 500,000 pairs/s, memory up to "),
        (1_000_000, "pairs", "a: 1,000,000 pairs of 1,000,000 pairs, 500,000 pairs/s, memory up to "),
    ],
)
def test_progress_says_the_amount_the_rate_and_the_rest(total: int | None, unit: str, said: str) -> None:
    log, lines, clock = made("text")
    with log.stage("a", total, unit) as advance:
        clock.now += 2.0
        advance(1_000_000)
        log._emit(log._progress(log._open[0]))
    assert lines[1].startswith(said)


def test_a_line_comes_from_time_to_time() -> None:
    log, lines, clock = made("text", log_every=0.01)
    with log.stage("a", 10, "rows") as advance:
        clock.now += 2.0
        advance(1)  # after a second a thread waits for the time of a line
        assert log._thread is not None
        for _ in range(2000):
            if any(line.startswith("a: 1 rows of 10 rows") for line in [*lines]):
                break
            log._ended.wait(0.01)
        else:
            pytest.fail(f"no progress in {lines}")
    log.end(0)
    log._thread.join(60)
    assert not log._thread.is_alive()


def test_figures_for_prometheus_replace_those_of_an_earlier_run(tmp_path: Path) -> None:
    file = tmp_path / "neardup.prom"
    for status in (0, 2):
        log, _, clock = made("text", metrics=file)
        work(log, clock)
        with current_log(log):
            assert current() is log
            count({"read": 7, "share": 0.5, "null": True, "kept": 5})
        log.end(status)
    text = file.read_text()
    assert 'neardup_status{command="dedup"} 2\n' in text
    assert 'neardup_documents{command="dedup",count="read"} 7\n' in text
    assert 'count="kept"} 5\n' in text
    assert "share" not in text
    assert 'neardup_stage_seconds{command="dedup",stage="fingerprint"} 2.0\n' in text
    assert all(line.startswith(("# ", "neardup_")) for line in text.splitlines())


def test_figures_sum_the_seconds_of_a_stage_that_runs_twice(tmp_path: Path) -> None:
    file = tmp_path / "neardup.prom"
    log, _, clock = made(None, metrics=file)
    log.start()
    for seconds in (2.0, 3.0):
        with log.stage("read", None, "rows"):
            clock.now += seconds
    log.end(0)
    assert file.read_text().count('stage="read"} 5.0\n') == 1


@pytest.mark.parametrize(
    ("strict", "statuses"), [(None, [0, 1, 2, 3]), (True, [0, 2, 2, 3]), (False, [0, 0, 2, 3])]
)
def test_rejected_rows_have_the_status_that_is_asked_for(strict: bool | None, statuses: list[int]) -> None:
    assert list(map(LogOptions(strict=strict).status_of, range(4))) == statuses


def test_options_that_there_are_not() -> None:
    assert LogOptions().log_every == 30
    for wrong in ({"log_format": "xml"}, {"log_every": 0}, {"log_every": float("nan")}):
        with pytest.raises(SettingError):
            LogOptions(**wrong)
