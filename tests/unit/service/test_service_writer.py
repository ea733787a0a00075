"""Writes: together when they come together, each for itself, on the disk before the answer."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from neardup.errors import OutputError
from neardup.runtime import Deadline
from neardup.service import endpoints
from neardup.service.executor import MOST_TOGETHER, Writer
from neardup.service.web.limits import RefusedError, timeout_error
from neardup.service.web.server import Turn, Workers
from support.made_service import Service, serving

TEXT = "one two three four five six seven eight"
SOON = 60.0


def put(id: str, text: str = TEXT) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/documents", {"documents": [{"id": id, "text": text}]}


@contextmanager
def held(service: Service, expected: int, later: float = 0) -> Iterator[None]:
    """Nothing is written until this number of requests waits, so that they are written together."""
    release, taken = threading.Event(), threading.Event()

    def wait() -> None:
        taken.set()
        release.wait(SOON)

    service.executor._writer._queue.put(_write(wait))
    taken.wait(SOON)
    threading.Thread(target=until_all_wait, args=(service, expected, later, release), daemon=True).start()
    yield


def until_all_wait(service: Service, expected: int, later: float, release: threading.Event) -> None:
    end = time.monotonic() + SOON
    while service.executor._writer.waiting < expected and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(later)
    release.set()


def _write(work: Callable[[], Any]) -> Any:
    from neardup.service.web.server import Job

    return Job(work, Deadline(SOON))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "mail.neardup") as made:
        yield made


def batches(service: Service) -> tuple[float, float]:
    """How many transactions there were, and how many requests in them."""
    lines = dict(line.rsplit(" ", 1) for line in service.executor.metrics.text().decode().splitlines())
    name = "neardup_write_batch_requests"
    return float(lines[f"{name}_count"]), float(lines[f"{name}_sum"])


async def in_this_order(service: Service, requests: Sequence[tuple[str, str, Any]]) -> list[Any]:
    """Each is sent when the one before it waits for the writer: entries are made by several threads."""
    asked: list[Any] = []
    for request in requests:
        asked.append(asyncio.create_task(service.ask(*request)))
        while len(asked) < len(requests) and service.executor._writer.waiting < len(asked):
            await asyncio.sleep(0.001)
    return await asyncio.gather(*asked)


def test_what_comes_together_is_committed_together(service: Service) -> None:
    requests = [put(f"id {number}") for number in range(30)]
    requests[7] = put("id 6")
    requests[9] = (
        "POST",
        "/v1/documents",
        {"documents": [{"id": "id 9", "text": TEXT}, {"id": "id 8", "text": ""}]},
    )
    requests[20] = ("DELETE", "/v1/documents/never", None)
    with held(service, 30):
        answers = service.runner.run(in_this_order(service, requests))
    wrong = {7: 409, 9: 409, 20: 404}
    assert [answer.status for answer in answers] == [wrong.get(number, 201) for number in range(30)]
    assert batches(service) == (2, 31)
    assert sorted(service.executor.collection) == sorted(f"id {n}" for n in range(30) if n not in wrong)
    assert service.executor.collection.check() == []


def test_one_sees_what_those_before_it_did(service: Service) -> None:
    requests = [put("a"), ("DELETE", "/v1/documents/a", None), put("a", "other words"), put("a")]
    with held(service, 4):
        answers = service.runner.run(in_this_order(service, requests))
    assert [answer.status for answer in answers] == [201, 200, 201, 409]
    assert batches(service)[0] == 2
    assert service("GET", "/v1/documents/a").json["text"] == "other words"


def test_a_batch_that_cannot_be_committed_is_tried_one_by_one(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite undoes a whole transaction when the disk is full: what fits is then written without the rest."""
    collection = service.executor.collection
    whole = collection.put_prepared

    def full(entries: Any, on_duplicate: Any, **more: Any) -> Any:
        if entries.ids[0] == "large":
            collection.store._writer.execute("ROLLBACK")  # type: ignore[attr-defined]
            raise OutputError("There is no space left")
        return whole(entries, on_duplicate, **more)

    monkeypatch.setattr(collection, "put_prepared", full)
    with held(service, 3):
        answers = service.all([put("a"), put("large"), put("b")])
    assert [answer.status for answer in answers] == [201, 503, 201]
    assert sorted(collection) == ["a", "b"]
    assert collection.check() == []


def test_nothing_is_told_before_it_is_committed(tmp_path: Path) -> None:
    order: list[str] = []

    @contextmanager
    def together() -> Iterator[None]:
        yield
        order.append("committed")

    writer = Writer(together, lambda _: None)

    async def add() -> None:
        await writer.run(lambda: order.append("done"), Deadline(SOON))
        order.append("told")

    asyncio.run(add())
    assert order == ["done", "committed", "told"]
    assert writer.close(SOON)


def test_what_could_not_be_begun_in_time_is_not_written(tmp_path: Path) -> None:
    with serving(tmp_path / "mail.neardup", seconds=0.2) as service:
        with held(service, 1, later=0.5):
            late = service(*put("late"))
        assert (late.status, late.error["code"]) == (503, "timeout")
        assert list(service.executor.collection) == []


def test_a_commit_that_fails_is_told_to_all(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def broken() -> Iterator[None]:
        raise OutputError("It is read-only")
        yield

    monkeypatch.setattr(service.executor._writer, "_together", broken)
    assert {answer.status for answer in service.all([put("a"), put("b")])} == {503}
    monkeypatch.undo()
    assert service(*put("a")).status == 201


def test_batches_have_an_end(service: Service) -> None:
    requests = [put(f"id {number}") for number in range(MOST_TOGETHER + 5)]
    with held(service, MOST_TOGETHER + 5):
        assert {answer.status for answer in service.all(requests)} == {201}
    assert batches(service)[0] == 3


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"

    async def stop(service: Service) -> list[int]:
        asked = [asyncio.create_task(service.ask(*put(f"id {number}"))) for number in range(20)]
        while service.executor._writer.waiting < 20:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(service.executor.close)
        return [answer.status for answer in await asyncio.gather(*asked)]

    with serving(path) as service:
        with held(service, 21):  # the last is the sign to end
            assert service.runner.run(stop(service)) == [201] * 20
        refused = service(*put("more"))
        assert (refused.status, refused.error["code"]) == (503, "stopping")
    with Collection(path) as collection:
        assert len(collection) == 20
        assert collection.check() == []


def test_workers_end_and_begin_nothing_more() -> None:
    workers = Workers(2)

    async def run() -> int:
        return await workers.run(lambda: 7, Deadline(SOON))

    async def late() -> int:
        return await workers.run(lambda: 7, Deadline(-1, timeout_error))

    assert asyncio.run(run()) == 7
    with pytest.raises(RefusedError):
        asyncio.run(late())
    assert workers.close(SOON)


def counted() -> tuple[Callable[[], None], list[int]]:
    """A job, and a list to which each run of it adds how many run at once."""
    at_work, most = set[int](), list[int]()

    def work() -> None:
        at_work.add(threading.get_ident())
        time.sleep(0.001)  # lets other threads run
        most.append(len(at_work))
        at_work.discard(threading.get_ident())

    return work, most


def test_short_jobs_run_one_after_the_other() -> None:
    workers = Workers(3, patience=SOON)
    work, most = counted()

    async def run() -> None:
        await asyncio.gather(*(workers.run(work, Deadline(SOON)) for _ in range(30)))

    asyncio.run(run())
    assert most == [1] * 30
    assert workers.close(SOON)


def test_a_long_job_holds_up_no_other() -> None:
    """Each is as long as the others together: all have to run at once."""
    workers, all_run = Workers(3, patience=0.001), threading.Barrier(3)

    async def run() -> None:
        long = [workers.run(lambda: all_run.wait(SOON), Deadline(SOON)) for _ in range(3)]
        await asyncio.gather(*long, *(workers.run(lambda: None, Deadline(SOON)) for _ in range(20)))

    asyncio.run(run())
    assert workers.close(SOON)


def test_reads_and_changes_run_one_after_the_other(tmp_path: Path) -> None:
    workers = Workers(1, patience=SOON)
    work, most = counted()

    with Collection(tmp_path / "mail.neardup") as collection:
        writer = Writer(collection.together, lambda _: None, turn=workers.turn)

        async def run() -> None:
            both = (workers.run, writer.run)
            await asyncio.gather(*(both[k % 2](work, Deadline(SOON)) for k in range(30)))

        asyncio.run(run())
        assert writer.close(SOON)
    assert most == [1] * 30
    assert workers.close(SOON)


def test_a_long_change_holds_up_no_read() -> None:
    """The second turn begins within the first."""
    turn, both = Turn(0.001), threading.Barrier(2)

    def work() -> None:
        with turn.taken():
            both.wait(SOON)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert not any(thread.is_alive() for thread in threads)
    assert not both.broken


def test_changes_are_gathered_while_reads_wait(tmp_path: Path) -> None:
    more = [_write(lambda: None) for _ in range(4)]
    together: list[int] = []

    def reads_wait() -> bool:
        while more:  # as if they arrived now
            writer._queue.put(more.pop())
        return writer.waiting > 0

    with Collection(tmp_path / "mail.neardup") as collection:
        writer = Writer(collection.together, together.append, reads_wait)
        asyncio.run(writer.run(lambda: None, Deadline(SOON)))
        assert writer.close(SOON)
    assert together == [5]


def test_look_ups_are_stopped_inside_of_sqlite(tmp_path: Path) -> None:
    """A statement that would run for minutes: what the clock stops is the statement, not what comes after it."""
    endless = "WITH RECURSIVE n (k) AS (VALUES (0) UNION ALL SELECT k + 1 FROM n) SELECT COUNT(*) FROM n"
    from neardup.errors import LimitError

    with Collection(tmp_path / "mail.neardup") as collection:
        began = time.monotonic()
        with pytest.raises(LimitError), collection.view(0.1):
            collection.store._all(endless)  # type: ignore[attr-defined]
        assert time.monotonic() - began < 20
        assert len(collection) == 0


def test_large_answers_are_written_by_the_threads_that_read(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the one thread that listens writes JSON, nobody is listened to."""
    service.add(a=TEXT, b=TEXT)
    writers: list[threading.Thread] = []
    whole = endpoints.answer

    def answer(data: Any) -> Any:
        writers.append(threading.current_thread())
        return whole(data)

    monkeypatch.setattr(endpoints, "answer", answer)
    reading = [
        ("POST", "/v1/search", {"query": "one"}),
        ("POST", "/v1/near", {"text": TEXT}),
        ("POST", "/v1/explain", {"query": "one"}),
        ("POST", "/v1/why-not", {"query": "one", "id": "a"}),
        ("POST", "/v1/compare", {"a": "a", "b": "b"}),
        *(("GET", f"/v1/{what}", None) for what in ("groups", "group-of?id=a", "decisions", "changes")),
    ]
    for request in reading:
        assert service(*request).status == 200
    assert len(writers) == len(reading)
    assert threading.current_thread() not in writers
