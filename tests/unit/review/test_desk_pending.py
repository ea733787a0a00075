"""An answer that is not known yet says so, waits for a while, and is the same for the same question once known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from neardup.errors import InputError
from neardup.review.desk.desk import Desk
from neardup.review.desk.texts import PageThread, TextReader
from neardup.review.source import Decide, Question
from support.live_pages import live
from support.made_reviews import key, make_result

LONG = 60.0


class Held:
    """Reading that waits for the test before it goes on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()
        sweep = TextReader.sweep

        def held(reader: TextReader, *asked: Any) -> Any:
            self.wait()
            return sweep(reader, *asked)

        monkeypatch.setattr(TextReader, "sweep", held)

    def wait(self) -> None:
        self.begun.set()
        assert self.go_on.wait(LONG)

    def release_when_begun(self) -> None:
        threading.Thread(target=lambda: self.begun.wait(LONG) and self.go_on.set(), daemon=True).start()


class Counted(PageThread):
    """Work that counts how often it is done."""

    name, done = "counted", 0

    def _work(self) -> None:
        self.done += 1


def done_after(work: Counted, *, asked: int) -> int:
    """Ask for work several times, each time after the end of the thread before it."""
    for _ in range(asked):
        work._begin()
        for thread in threading.enumerate():
            if thread.name == "counted":
                thread.join()
    return work.done


def test_work_is_done_once_or_each_time_and_not_after_the_end() -> None:
    again = Counted()
    again.again = True
    assert (done_after(Counted(), asked=3), done_after(again, asked=3)) == (1, 3)
    again.close()
    assert done_after(again, asked=1) == 3


def test_work_that_fails_has_an_end() -> None:
    work = PageThread()
    with pytest.raises(NotImplementedError):
        work._run()
    work.wait(3600.0)  # returns at once


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(monkeypatch)
    yield made
    made.go_on.set()


def test_a_word_filter_is_partial_until_all_texts_are_read(desk: Desk, held: Held) -> None:
    desk._reader.seconds = 0.0
    early = desk.groups(Question("moon"))
    assert (early.found, early.partial, early.pending) == (0, True, True)
    assert len(early.notes) == 1
    assert "0 of 6 texts" in early.notes[0]
    assert not desk.groups(Question("size>1")).partial  # this question needs no words
    held.go_on.set()
    desk._reader.seconds = LONG
    whole = desk.groups(Question("moon"))
    assert ([line.id for line in whole.lines], whole.partial, whole.pending) == (["night"], False, False)
    assert whole.notes == ()
    assert desk.groups(Question("moon")) == whole


def test_a_word_filter_waits_for_the_texts(desk: Desk, held: Held) -> None:
    held.release_when_begun()
    assert [line.id for line in desk.groups(Question("moon OR budgets")).lines] == ["plan-more", "night"]


def test_other_pages_are_answered_while_a_filter_waits(desk: Desk, held: Held) -> None:
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(desk.groups(Question("moon"))))
    asking.start()
    assert held.begun.wait(LONG)
    assert desk.groups(Question()).found == 3
    assert desk.group(key(desk, "fox")).members
    held.go_on.set()
    asking.join(LONG)
    assert [line.id for line in found[0].lines] == ["night"]


@pytest.fixture
def without_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Desk, Held]]:
    held = Held(monkeypatch)
    with closing(Desk.open(make_result(tmp_path, kinds=False))) as desk:
        desk._warming.join()
        computed = desk._lines.differences.compute

        def waiting(*pair: int) -> tuple[int, str]:
            if threading.current_thread().name == "kinds of difference":
                held.wait()
            return computed(*pair)

        monkeypatch.setattr(desk._lines.differences, "compute", waiting)
        yield desk, held
        held.go_on.set()


def test_kinds_are_partial_until_all_pairs_are_compared(without_kinds: tuple[Desk, Held]) -> None:
    desk, held = without_kinds
    desk._reader.seconds = 0.0
    early = desk.sample_of_kind("contained")
    assert (early.pairs, early.pending) == (0, True)
    assert early.notes == ("kinds are known for 0 of 3 pairs so far",)
    assert desk.groups(Question("kind:contained")).partial
    with pytest.raises(InputError, match="known for 0 of 3"):
        desk.decide(Decide("kind", "keep both", "Ann", 0, kind="contained"))
    with live(desk) as pages:
        page = pages.get("/kinds?kind=one+is+contained")
        assert "No undecided pair" in page.words
        assert "0 undecided pairs" not in page.words
        assert 'action="/decide"' not in page.text
        assert "No group found" in pages.get("/?filter=kind:contained").words
        held.go_on.set()
        desk._reader.seconds = LONG
        page = pages.get("/kinds?kind=one+is+contained")
        assert "2 undecided pairs" in page.words
        assert "data-refresh" not in page.text
        assert 'action="/decide"' in page.text
    assert not desk.groups(Question("kind:contained")).partial
    assert desk.decide(Decide("kind", "keep both", "Ann", 0, kind="contained")).action.changes == 2


@pytest.mark.parametrize("address", ["/", "/groups/0", "/queues/undecided"])
def test_cells_that_time_did_not_suffice_for_are_marked_and_filled_later(desk: Desk, address: str) -> None:
    desk.wait_until_sorted()  # facets of columns come with it
    with live(desk) as pages:
        desk._reader.seconds = -1.0
        early = pages.get(address)
        assert "not complete" in early.words
        assert early.text.count("data-refresh") == 1
        assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in early.text
        desk._reader.seconds = LONG
        whole = pages.get(address)
        assert "data-refresh" not in whole.text
        assert "the quick brown fox" in whole.words
        assert pages.get(address).content == whole.content
