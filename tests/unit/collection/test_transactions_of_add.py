"""A long ``add`` is stored in several transactions, with the result of one; others write in between."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from neardup.collection import Added, Collection, Near
from neardup.collection.arrivals import OnNear
from neardup.collection.intake import Adding, Prepared, TransactionSize, intake_of
from neardup.collection.sets import Role
from neardup.errors import InputError
from neardup.io.readers.base import Problem
from neardup.runtime import Progress, Silent

N, NEAR = 60, Near(0.8)


class InPortions(Adding):
    """Each transaction has three documents."""

    portions = TransactionSize(documents=3, most=1)


class InLargerPortions(Adding):
    """Each transaction has seven documents."""

    portions = TransactionSize(documents=7, most=1)


def add(
    collection: Collection,
    given: Any,
    *,
    by: type[Adding] = InPortions,
    near: Near | None = None,
    on_near: OnNear = "keep",
    role: Role = "document",
    progress: Progress | None = None,
    on_problem: Callable[[Problem], None] | None = None,
) -> Added:
    """What ``Collection.add`` does, in small transactions."""
    adding = by(collection.store, "error", near, on_near, on_problem, role=role)
    return adding.run(intake_of(given, None, None, ()), progress or Silent())


def documents(n: int = N) -> list[dict[str, Any]]:
    """Documents in families of about three, which differ in a word."""
    draw = random.Random(7)
    stems = [[f"w{draw.randrange(100)}" for _ in range(20)] for _ in range(n // 3)]
    rows = []
    for k in range(n):
        words = list(draw.choice(stems))
        words[draw.randrange(len(words))] = f"x{draw.randrange(3)}"
        rows.append({"id": f"d{k}", "text": " ".join(words), "metadata": {"year": k}})
    return rows


def changes(collection: Collection) -> int:
    return collection.store.totals().change


def content(collection: Collection) -> tuple[Any, ...]:
    """All that is stored, but for times, and numbers of transactions."""
    logged = [replace(one, at="") for one in collection.changes(limit=10_000)]
    assert collection.check() == []
    stored = {id: (collection.get(id).text, collection.get(id).metadata) for id in collection}
    return stored, collection.groups(limit=1000), logged


@pytest.mark.parametrize("on_near", ["keep", "link", "reject"])
def test_the_result_is_that_of_one_transaction(
    tmp_path: Path,
    on_near: OnNear,
) -> None:
    found = []
    for by in (Adding, InPortions, InLargerPortions):
        with Collection(tmp_path / f"{by.__name__}.neardup") as made:
            before = changes(made)
            added = add(made, documents(), by=by, near=Near(0.5, recall=1), on_near=on_near)
            assert (changes(made) - before == 1) == (by is Adding)
            found.append((added, content(made)))
    assert found[0][0].repeats > 5
    assert found[1] == found[0] == found[2]


def test_transactions_grow_while_they_are_quick_and_shrink_when_they_are_slow(tmp_path: Path) -> None:
    """Others wait for it: it has four portions, or as many as it stored in the allowed time, or one."""
    sizes: list[int] = []
    taken = chain([0.01] * 5, [0.5, 0.3, 0.3], repeat(0.01))

    class Timed(Adding):
        portions = TransactionSize(documents=2, most=4, seconds=0.25)

        def _transaction(self, ahead: list[Prepared], *rest: Any) -> float:
            sizes.append(sum(len(prepared.entries) for prepared in ahead))
            super()._transaction(ahead, *rest)
            return next(taken)

    with Collection(tmp_path / "made.neardup") as made:
        assert add(made, documents(), by=Timed).added == N
    assert sizes == [2, 4, 8, 8, 8, 8, 4, 2, 2, 4, 8, 2]


def test_a_call_that_failed_is_continued_by_the_same_call(tmp_path: Path) -> None:
    rows = documents()
    with Collection(tmp_path / "mail.neardup") as made:
        made.put("d10", "another text")
        with pytest.raises(InputError) as caught:
            add(made, rows, near=NEAR, on_near="link")
        assert "9 documents stored" in caught.value.lines()
        assert len(made) == 10
        made.remove("d10")
        added = add(made, rows, near=NEAR, on_near="link")
        assert (added.added, added.unchanged) == (N - 9, 9)
        again = add(made, rows, near=NEAR, on_near="link")
        assert (again.added, again.unchanged, again.repeats) == (0, N, 0)
        rest = content(made)
    with Collection(tmp_path / "other.neardup") as other:
        other.add(rows, near=NEAR, on_near="link")
        assert content(other)[0] == rest[0]
        assert [one.members for one in other.groups(limit=1000).groups] == [one.members for one in rest[1].groups]


@pytest.mark.parametrize("change", [{"text": "other words"}, {"metadata": {"year": 5}}])
def test_a_document_that_was_stored_with_other_content_is_an_error(tmp_path: Path, change: dict[str, Any]) -> None:
    with Collection(tmp_path / "mail.neardup") as made:
        made.add(documents())
        with pytest.raises(InputError):
            made.add([{**row, **change} if row["id"] == "d3" else row for row in documents()])


def test_an_id_that_comes_twice_is_an_error_however_far_apart(tmp_path: Path) -> None:
    rows = documents()
    with Collection(tmp_path / "mail.neardup") as made, pytest.raises(InputError, match="'d1' comes twice"):
        add(made, [*rows, rows[1]])


def test_within_together_all_are_stored_or_none(tmp_path: Path) -> None:
    rows = documents()
    with Collection(tmp_path / "mail.neardup") as made:
        with pytest.raises(InputError), made.together():
            add(made, [*rows, rows[1]])
        assert len(made) == 0
        with made.together():
            add(made, rows)
        assert len(made) == N
        assert made.check() == []


def test_documents_without_ids_and_base_texts_are_one_transaction(tmp_path: Path) -> None:
    with Collection(tmp_path / "mail.neardup") as made:
        nameless = pa.table({"text": [row["text"] for row in documents()]})
        cases: list[tuple[Any, Role]] = [(nameless, "document"), (documents(), "base")]
        for given, role in cases:
            before = changes(made)
            add(made, given, role=role)
            assert changes(made) - before == 1
        assert len(made) == 2 * N


def test_a_thread_that_waits_writes_between_two_transactions(tmp_path: Path) -> None:
    """It waits already when the next transaction would begin, and is done long before the last one."""
    seen: list[int] = []
    started = threading.Event()
    with Collection(tmp_path / "mail.neardup") as made:

        def work() -> None:
            started.set()
            made.put("late", "a text")
            seen.append(len(made))

        put = threading.Thread(target=work)

        class Watch:
            @contextmanager
            def stage(self, name: str, total: int | None, unit: str) -> Iterator[Any]:
                yield self.advance

            def advance(self, amount: int) -> None:
                if not started.is_set():
                    put.start()
                    assert started.wait(60)

        add(made, documents(), progress=Watch())
        put.join(60)
        assert len(made) == N + 1
        assert made.check() == []
    assert seen[0] < N


def test_an_interrupt_just_after_a_commit_is_told_the_truth(
    tmp_path: Path,
) -> None:
    class Interrupted(InPortions):
        def _note_stored(self) -> None:
            if self._pending[0].stop > 9 and not self._interrupted:
                self._interrupted = True
                raise KeyboardInterrupt
            super()._note_stored()

        _interrupted = False

    with Collection(tmp_path / "mail.neardup") as made:
        with pytest.raises(KeyboardInterrupt) as caught:
            add(made, documents(), by=Interrupted)
        assert len(made) == 9
        assert any("9 documents stored" in note for note in caught.value.__notes__)


def test_rejected_rows_of_all_transactions_are_listed_once(tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    rows = [{**row, "id": ""} if k % 7 == 0 else row for k, row in enumerate(documents())]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    listed: list[Problem] = []
    with Collection(tmp_path / "mail.neardup") as made:
        added = add(made, lines, on_problem=listed.append)
        assert (added.added, added.rejected) == (N - 9, 9)
    assert [problem.row for problem in listed] == list(range(0, N, 7))
