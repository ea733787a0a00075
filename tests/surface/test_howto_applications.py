"""The recipes for applications, queues and pipelines run, with threads, crashes and repeated messages."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from neardup import Collection, InputError, OutputError
from support.journeys import blocks_of
from support.messages import has_parts
from support.paths import DOCS

TEXT = "the harbour office is closed on Friday because of the storm"


def code_of(page: str) -> dict[str, Any]:
    """The names that the Python of a page defines."""
    text = (DOCS / "howto" / page).read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"__name__": f"howto_{page}"}
    for block in blocks:
        exec(compile(block, page, "exec", dont_inherit=True), names)
    return names


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    testing = pytest.importorskip("starlette.testclient", reason="httpx is not installed")
    app = code_of("applications.md")["make_app"](str(tmp_path / "mail.neardup"))
    with testing.TestClient(app) as made:
        yield made
    with Collection(tmp_path / "mail.neardup", readonly=True) as after:
        assert after.check() == []


def test_an_application_of_its_own(client: Any) -> None:
    assert client.put("/documents/a/1", json={"text": TEXT, "metadata": {"from": "ann"}}).json() == {
        "replaced": False,
        "repeats": [],
    }
    assert client.put("/documents/b", json={"text": TEXT.upper()}).json()["repeats"] == ["a/1"]
    assert client.put("/documents/b", json={"text": TEXT.upper()}).json()["replaced"] is True
    found = client.get("/documents/a/1").json()
    assert found == {"text": TEXT, "metadata": {"from": "ann"}, "group": 1}
    assert client.post("/near", json={"text": TEXT, "where": "from:ann"}).json() == ["a/1"]
    unknown = client.get("/documents/x")
    assert unknown.status_code == 404
    assert has_parts(unknown.json()["given"], "no document", "x")
    assert "/" not in unknown.text  # no path of the server
    refused = client.post("/near", json={"text": TEXT, "overlap": "80"})
    assert (refused.status_code, refused.json()["do"]) == (422, "Did you mean 0.8?")
    assert client.post("/near", json={"text": "a " * 600_000}).status_code == 413


def test_an_application_with_threads(client: Any) -> None:
    statuses: list[int] = []

    def use(number: int) -> None:
        for turn in range(3):
            answer = client.put(f"/documents/{number}-{turn}", json={"text": f"{TEXT} {number} {turn}"})
            found = client.post("/near", json={"text": TEXT, "overlap": "50%"})
            statuses.extend((answer.status_code, found.status_code))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 24
    assert len(client.post("/near", json={"text": TEXT, "overlap": "50%"}).json()) == 12


class Messages:
    """A queue that delivers a message again until it is acknowledged or set aside."""

    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        self.waiting = {f"receipt {place}": record for place, record in enumerate(records)}
        self.dead: dict[str, str] = {}
        self.fails = False

    def receive(self, most: int) -> list[tuple[str, dict[str, Any]]]:
        return list(self.waiting.items())[:most]

    def acknowledge(self, receipts: Iterable[str]) -> None:
        if self.fails:
            raise ConnectionError("the worker dies here")
        for receipt in list(receipts):
            del self.waiting[receipt]

    def set_aside(self, receipt: str, reason: str) -> None:
        self.dead[receipt] = reason
        del self.waiting[receipt]


def records() -> list[dict[str, Any]]:
    long = f"{TEXT} and all receipts for March must be handed in before noon at the desk of the new building"
    return [{"id": f"m{place}", "text": f"{long} {place}", "metadata": {"n": place}} for place in range(7)]


def test_a_worker_loses_and_repeats_nothing(tmp_path: Path) -> None:
    work = code_of("queue.md")["work"]
    queue = Messages(records())
    with Collection(tmp_path / "mail.neardup") as documents:
        queue.fails = True
        with pytest.raises(ConnectionError):
            work(queue, documents, lambda: True, 3)
        assert (len(documents), len(queue.waiting)) == (3, 7), "stored, and not acknowledged"
        queue.fails = False
        work(queue, documents, lambda: bool(queue.waiting), 3)
        assert sorted(documents) == [f"m{place}" for place in range(7)]
        assert [one.metadata["n"] for one in documents.documents()] == list(range(7))
        group = documents.group_of("m0")
        assert group is not None
        assert group.size == 7
        assert documents.check() == []


def test_a_message_that_cannot_be_stored_is_set_aside_alone(tmp_path: Path) -> None:
    work = code_of("queue.md")["work"]
    bad = [{"id": "", "text": "no id"}, {"id": "x", "text": 5}, {"id": "y"}]
    queue = Messages([*records()[:2], *bad, *records()[2:]])
    with Collection(tmp_path / "mail.neardup") as documents:
        work(queue, documents, lambda: bool(queue.waiting), 4)
        assert sorted(documents) == [f"m{place}" for place in range(7)]
    reasons = "the id is empty", "its text is a int, not a str", "has no text"
    assert all(said in reason for said, reason in zip(reasons, queue.dead.values(), strict=True))


def test_a_collection_that_cannot_be_written_ends_the_worker(tmp_path: Path) -> None:
    work = code_of("queue.md")["work"]
    queue = Messages(records())
    Collection(tmp_path / "mail.neardup").close()
    with Collection(tmp_path / "mail.neardup", readonly=True) as documents, pytest.raises(OutputError):
        work(queue, documents, lambda: True)
    assert (len(queue.waiting), queue.dead) == (7, {})
    assert issubclass(InputError, Exception)


def file_of(page: str, name: str) -> dict[str, Any]:
    """The names that a file of the page defines."""
    [block] = [one for one in blocks_of(DOCS / "howto" / page) if one.mark == f"file: {name}"]
    names: dict[str, Any] = {"__name__": name.removesuffix(".py")}
    exec(compile(block.text, name, "exec", dont_inherit=True), names)
    return names


class Message(NamedTuple):
    """A message as the consumer of kafka-python gives it."""

    offset: int
    key: bytes | None
    value: bytes | None
    topic: str = "posts"
    partition: int = 0


class Topic:
    """A consumer of one partition: messages that were not committed come again after ``restart``."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.place = self.committed = 0
        self.fails = False

    def poll(self, timeout_ms: int, max_records: int) -> dict[str, list[Message]]:
        taken = list(self.messages[self.place : self.place + max_records])
        self.place += len(taken)
        return {"posts-0": taken} if taken else {}

    def commit(self) -> None:
        if self.fails:
            raise ConnectionError("the worker dies here")
        self.committed = self.place

    def restart(self) -> None:
        self.place, self.fails = self.committed, False


def posts() -> list[Message]:
    values = [
        (b"a", f'{{"text": "{TEXT}"}}'),
        (None, '{"text": "lunch is served at noon in the canteen"}'),
        (b"b", f'{{"text": "{TEXT}"}}'),
        (b"bad", "no JSON"),
        (b"bad", '{"subject": "no text"}'),
        (b"five", '{"text": 5}'),
        (b"a", f'{{"text": "{TEXT.upper()}"}}'),
        (b"b", None),
    ]
    return [Message(k, key, value and value.encode()) for k, (key, value) in enumerate(values)]


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_messages_of_kafka_that_come_again_change_nothing(
    batch: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    consume = file_of("pipelines.md", "consume.py")["consume"]
    topic = Topic(posts())
    with Collection(tmp_path / "posts.neardup") as documents:
        topic.fails = True
        with pytest.raises(ConnectionError):
            consume(topic, documents, batch, rounds=1)
        assert topic.committed == 0
        stored = len(documents)
        assert stored > 0, "stored, and not committed"
        topic.restart()
        consume(topic, documents, batch, rounds=1)
        assert len(documents) == stored
        consume(topic, documents, batch, rounds=8)
        assert topic.committed == len(posts())
        assert sorted(documents) == ["a", "posts-0-1"]
        assert documents["a"].text == TEXT.upper()
        assert documents.check() == []
    printed = capsys.readouterr().out
    assert printed.count("bad is left out") == (2 if batch < 100 else 4)
    assert "five is left out" in printed
    assert ("b repeats a" in printed) == (batch < 100)


def test_a_step_says_whether_to_try_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = file_of("pipelines.md", "neardup_step.py")
    lines = ['{"text": "one two three four five six"}\n'] * 2
    (tmp_path / "shard.jsonl").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "torn.jsonl").write_text("".join([*lines, "{\n"]), encoding="utf-8")
    log: list[str] = []
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")

    def clean(name: str) -> dict[str, int]:
        counts: dict[str, int] = names["clean"](
            str(tmp_path / name), str(tmp_path / "out"), str(tmp_path / "neardup.prom"), log.append
        )
        return counts

    assert clean("shard.jsonl")["kept"] == 1
    assert clean("torn.jsonl")["rejected"] == 1
    assert log[-1].endswith(str(tmp_path / "out" / "problems.jsonl"))
    with pytest.raises(names["WrongInput"]) as wrong:
        clean("missing.jsonl")
    assert has_parts(str(wrong.value), "missing.jsonl")
    assert 'neardup_status{command="dedup"} 2' in (tmp_path / "neardup.prom").read_text(encoding="utf-8")
    program = tmp_path / "bin" / "neardup"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nkill -9 $$\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin")
    with pytest.raises(names["Killed"]):
        clean("shard.jsonl")
