"""The recipes for applications and queues: their code runs, with threads, crashes and repeated messages."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from neardup import Collection, InputError, OutputError
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
    pytest.importorskip("fastapi", reason="the extra service is not installed")
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
