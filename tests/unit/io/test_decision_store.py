"""Decisions are stored whole, with their history; undo restores them; two people cannot overwrite each other."""

import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.errors import ChangedMeanwhileError, FormatError, InputError, OutputError
from neardup.io.decisions.log import seal
from neardup.io.decisions.records import (
    NO_DECISIONS,
    Change,
    DecisionState,
    FateOf,
    Judgement,
    PairNote,
    Represents,
    Tag,
)
from neardup.io.decisions.store import DecisionStore
from support import forked
from support.hostile_ids import HOSTILE
from support.messages import assert_refused


def content(state: DecisionState) -> tuple[object, ...]:
    """All that holds, without the number of the last action."""
    return dict(state.judgements), dict(state.fates), dict(state.choices), dict(state.tags), dict(state.notes)


def test_a_folder_without_decisions_has_no_file(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        assert store.state() == NO_DECISIONS
        assert store.history() == ()
        assert store.undo(by="Ann") is None
    assert list(tmp_path.iterdir()) == []


def test_decisions_are_read_back_with_their_authors(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        first = store.act(
            [Judgement("b", "a", "duplicate", "the same letter"), Tag("a", "privileged"), Tag("a", "hot")],
            by="Ann",
            what="duplicate",
        )
        store.act([FateOf(7, "keep"), Represents("a", "b")], by="Ben", what="keep")
    with DecisionStore(tmp_path, read_only=True) as store:
        state = store.state()
    assert first.number == 1
    assert first.changes == 3
    judged = state.judgements["a", "b"]
    assert (judged.verdict, judged.note, judged.by, judged.at, judged.action) == (
        "duplicate",
        "the same letter",
        "Ann",
        first.at,
        1,
    )
    assert state.verdict("b", "a") == judged
    assert state.tags == {"a": ("hot", "privileged")}
    assert (state.fates[7].fate, state.fates[7].by) == ("keep", "Ben")
    assert "7" not in state.fates
    assert state.represents == {"a": "b"}


def test_withdrawn_decisions_no_longer_hold(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        store.act(
            [Judgement("a", "b", "duplicate"), FateOf("a", "keep"), Represents("a", "b"), Tag("a", "x")],
            by="Ann",
            what="all",
        )
        store.state()
        store.act(
            [Judgement("b", "a", None), FateOf("a", None), Represents("a", None), Tag("a", "x", False)],
            by="Ann",
            what="none",
        )
        assert content(store.state()) == content(NO_DECISIONS)


@pytest.mark.part(3)
@pytest.mark.parametrize("id", [*HOSTILE, 0, -1, 1 << 63, (1 << 64) - 1])
def test_hostile_ids_come_back_as_they_are(tmp_path: Path, id: str | int) -> None:
    with DecisionStore(tmp_path) as store:
        store.act([FateOf(id, "remove"), Judgement(id, "other", "unsure"), Tag(id, "x")], by="Ann", what="w")
    with DecisionStore(tmp_path) as store:
        state = store.state()
    assert list(state.fates) == [id]
    assert type(next(iter(state.fates))) is type(id)
    assert state.verdict("other", id) is not None
    assert list(state.tags) == [id]


IDS = st.sampled_from(["a", "b", "c", 1, 2])
CHANGES = st.lists(
    st.one_of(
        st.builds(Judgement, st.just("a"), st.sampled_from(["b", "c", 1]), st.sampled_from(["duplicate", None])),
        st.builds(PairNote, st.just("a"), st.sampled_from(["b", "c", 1]), st.sampled_from(["ask", ""])),
        st.builds(FateOf, IDS, st.sampled_from(["keep", "remove", None])),
        st.builds(Represents, IDS, st.one_of(IDS, st.none())),
        st.builds(Tag, IDS, st.sampled_from(["x", "y"]), st.booleans()),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=12)
@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_undo_restores_the_state_before_each_action_and_redo_the_state_after(
    tmp_path_factory: pytest.TempPathFactory, actions: list[list[Change]]
) -> None:
    with DecisionStore(tmp_path_factory.mktemp("out")) as store:
        states = [content(store.state())]
        for changes in actions:
            store.act(changes, by="Ann", what="w")
            states.append(content(store.state()))
        for before in reversed(states[:-1]):
            undone = store.undo(by="Ann")
            assert undone is not None
            assert content(store.state()) == before
        assert store.undo(by="Ann") is None
        for number, after in enumerate(states[1:]):
            undo = next(action for action in store.history() if action.undoes == number + 1)
            assert store.undo(by="Ben", action=undo.number) is not None
            assert content(store.state()) == after
        assert all(action.undone_by is None for action in store.history() if action.undoes is None)
    with DecisionStore(store._path.parent) as again:  # read whole, not step by step
        assert content(again.state()) == states[-1]


def test_a_later_decision_about_the_same_is_reported_and_nothing_is_stored(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as ann, DecisionStore(tmp_path) as ben:
        seen = ann.state().number
        ben.act([Judgement("a", "b", "not alike")], by="Ben", what="not alike: 1 pair", seen=seen)
        with pytest.raises(ChangedMeanwhileError, match=r"Ben decided .*, at 20.{8} .{8} UTC: not alike: 1 pair"):
            ann.act([FateOf("z", "keep"), Judgement("b", "a", "duplicate")], by="Ann", what="w", seen=seen)
        assert ann.state().number == 1
        assert not ann.state().fates
        ann.act([Judgement("a", "c", "duplicate")], by="Ann", what="another pair", seen=seen)
        ann.act([Judgement("b", "a", "duplicate")], by="Ann", what="w", seen=2)


def test_a_decision_that_was_undone_meanwhile_is_no_conflict(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        store.act([FateOf("a", "keep")], by="Ann", what="w")
        store.act([FateOf("a", "remove")], by="Ben", what="w")
        store.undo(by="Ben")
        store.act([FateOf("a", None)], by="Ann", what="w", seen=1)


def test_an_action_that_was_overtaken_cannot_be_undone(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        store.act([FateOf("a", "keep"), FateOf("b", "keep")], by="Ann", what="w")
        store.act([FateOf("b", "remove")], by="Ben", what="remove b")
        with pytest.raises(ChangedMeanwhileError):
            store.undo(by="Ann")
        assert store.undo(by="Ben", action=2) is not None
        with pytest.raises(InputError, match=r"Action 2 .*undone.* by action 3"):
            store.undo(by="Ben", action=2)
        assert store.undo(by="Ann") is not None
        assert content(store.state()) == content(NO_DECISIONS)
        with pytest.raises(InputError, match="no action 99"):
            store.undo(by="Ann", action=99)


def test_of_two_writers_one_wins_and_the_others_are_refused(tmp_path: Path) -> None:
    refused: list[str] = []

    def write(name: str) -> None:
        with DecisionStore(tmp_path) as store:
            try:
                store.act([Judgement("a", "b", "duplicate")], by=name, what="w", seen=0)
            except ChangedMeanwhileError:
                refused.append(name)

    names = [f"writer {number}" for number in range(6)]
    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with DecisionStore(tmp_path) as store:
        assert [action.by for action in store.history()] == sorted(set(names) - set(refused))
        assert len(refused) == 5


WRITER = """
import sys
from pathlib import Path
from neardup.io.decisions.records import Tag
from neardup.io.decisions.store import DecisionStore
with DecisionStore(Path(sys.argv[1])) as store:
    for number in range(20):
        store.act([Tag("a", f"{sys.argv[2]} {number}")], by=sys.argv[2], what="tag")
"""


def test_several_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    writers = [forked.start(WRITER, tmp_path, name) for name in ("Ann", "Ben")]
    assert [writer.done().returncode for writer in writers] == [0, 0]
    with DecisionStore(tmp_path, read_only=True) as store:
        assert len(store.state().tags["a"]) == 40
        assert [action.number for action in store.history(limit=100)] == list(range(40, 0, -1))


def test_history_is_paged_from_the_latest_action(tmp_path: Path) -> None:
    with DecisionStore(tmp_path) as store:
        for number in range(5):
            store.act([Tag("a", f"t{number}")], by="Ann", what=f"tag {number}")
        assert [action.number for action in store.history(limit=2)] == [5, 4]
        assert [action.what for action in store.history(before=3)] == ["tag 1", "tag 0"]


def test_twenty_thousand_decisions_are_one_quick_action(tmp_path: Path) -> None:
    changes = [Judgement(f"d{number}", "head", "keep both") for number in range(20_000)]
    with DecisionStore(tmp_path) as store:
        begin = time.process_time()
        store.act(changes, by="Ann", what="keep both: 20,000 pairs")
        assert time.process_time() - begin < 5  # .3 s on one core
        assert len(store.state().judgements) == 20_000
        store.act([FateOf("d1", "keep")], by="Ann", what="keep")
        assert store.state() is store.state()
        store.undo(by="Ann", action=1)
        assert len(store.state().judgements) == 0
        assert len(store.state().fates) == 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (Judgement("a", "a", "duplicate"), "judged with itself"),
        (Judgement("a", "b", "perhaps"), "One of duplicate, keep both, not alike, unsure"),  # type: ignore[arg-type]
        (FateOf("a", "drop"), "One of keep, remove"),  # type: ignore[arg-type]
        (Tag("a", " "), "tag is empty"),
        (Tag("a", "x;y"), "semicolon"),
        (Tag("a", "x\x1b[2J"), "control character"),
        (Tag("\ud800", "x"), "half of a character"),
        (FateOf(1.5, "keep"), "of type float"),  # type: ignore[arg-type]
        (Judgement("a", "b", "unsure", "x" * 10_001), "10,001 characters"),
    ],
)
def test_impossible_changes_are_refused_and_nothing_is_stored(tmp_path: Path, change: Change, why: str) -> None:
    with DecisionStore(tmp_path) as store:
        assert_refused(
            (InputError, why, lambda: store.act([FateOf("b", "keep"), change], by="Ann", what="w")),
            (InputError, "name is empty", lambda: store.act([FateOf("b", "keep")], by="", what="w")),
            (InputError, "nothing to decide", lambda: store.act([], by="Ann", what="w")),
        )
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_store_writes_nothing(tmp_path: Path) -> None:
    with DecisionStore(tmp_path, read_only=True) as store, pytest.raises(OutputError, match="read only"):
        store.act([FateOf("b", "keep")], by="Ann", what="w")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with DecisionStore(tmp_path) as store, pytest.raises(OutputError, match="cannot be stored in"):
            store.act([FateOf("b", "keep")], by="Ann", what="w")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.name == "nt", reason="permissions of the folder hold")
def test_decisions_are_as_private_as_the_result(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with DecisionStore(tmp_path) as store:
        store.act([FateOf("b", "keep")], by="Ann", what="w")
    assert (tmp_path / "decisions.sqlite").stat().st_mode & 0o077 == 0


def stored(folder: Path) -> Path:
    with DecisionStore(folder) as store:
        store.act([Judgement("a", "b", "duplicate"), FateOf("a", "keep")], by="Ann", what="w")
    return folder / "decisions.sqlite"


def assert_names_the_file(folder: Path) -> None:
    with pytest.raises(FormatError, match=r"decisions\.sqlite"), DecisionStore(folder) as store:
        store.state()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE decisions SET value = 'gone'",
        "UPDATE decisions SET note = x'00'",
        "UPDATE decisions SET kind = 'other'",
        "UPDATE actions SET by = 'Eve'",
        "CREATE TRIGGER t AFTER INSERT ON actions BEGIN DELETE FROM decisions; END",
        "CREATE TABLE more (x)",
        "PRAGMA application_id = 1",
        "PRAGMA user_version = 9",
    ],
)
def test_a_changed_file_is_refused_in_words(tmp_path: Path, statement: str) -> None:
    connection = sqlite3.connect(stored(tmp_path))
    connection.executescript(statement)
    connection.close()
    assert_names_the_file(tmp_path)


@pytest.mark.parametrize(
    ("column", "value"), [("value", "gone"), ("value", b"0"), ("note", b"0"), ("kind", "other"), ("action", 9)]
)
def test_impossible_values_with_a_matching_seal_are_refused(tmp_path: Path, column: str, value: object) -> None:
    connection = sqlite3.connect(stored(tmp_path))
    names = [row[1] for row in connection.execute("PRAGMA table_info(decisions)")]
    row = dict(zip(names, connection.execute("SELECT * FROM decisions").fetchone(), strict=True)) | {column: value}
    del row["seal"]
    wrong = (value, seal(list(row.values())), row["number"])
    connection.execute(f"UPDATE decisions SET {column} = ?, seal = ? WHERE number = ?", wrong)
    connection.commit()
    connection.close()
    assert_names_the_file(tmp_path)


def test_foreign_and_damaged_files_are_refused_in_words(tmp_path: Path) -> None:
    path = stored(tmp_path)
    whole = path.read_bytes()
    for wrong in (b"x" * 5000, whole[:100] + b"\xff" * (len(whole) - 100), whole[: len(whole) // 2]):
        path.write_bytes(wrong)
        assert_names_the_file(tmp_path)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert_refused(
        (FormatError, "not a regular file", lambda: DecisionStore(tmp_path)),
        (InputError, "no folder", lambda: DecisionStore(tmp_path / "nowhere")),
    )
