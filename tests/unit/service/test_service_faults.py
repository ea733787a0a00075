"""What a client sees when the disk is full, and when the file may not be written, is damaged or has gone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from support.damaged_files import PAGE, texts
from support.made_service import Answer, Service, by_query, serving

TEXTS = texts()
LARGE = " ".join(f"large{number}" for number in range(6000))
READING: list[tuple[Any, ...]] = [
    ("GET", "/v1/documents/d3"),
    ("GET", "/v1/search?q=word7"),
    ("GET", "/v1/search?q=FINGERPRINT:d3_10"),
    ("GET", "/v1/explain?q=FINGERPRINT:d3_10"),
    ("GET", "/v1/why-not?q=FINGERPRINT:d3_10&id=d4"),
    ("POST", "/v1/near", {"text": TEXTS["d3"]}),
    ("POST", "/v1/compare", {"a": "d1", "b": "d4"}),
    ("GET", "/v1/stats"),
    ("GET", "/v1/groups"),
    ("GET", "/v1/group-of?id=d3"),
    ("GET", "/v1/groups/1"),
    ("GET", "/v1/changes"),
]
WRITING: list[tuple[Any, ...]] = [
    ("PUT", "/v1/documents/d5", {"text": LARGE}),
    ("PUT", "/v1/documents/new", {"text": LARGE}),
    ("POST", "/v1/documents", {"documents": [{"id": "more", "text": LARGE}], "near": 0.5, "on_near": "link"}),
    ("DELETE", "/v1/documents/d8"),
    ("POST", "/v1/decisions", {"a": "d1", "b": "d2", "verdict": "duplicate"}),
    ("POST", "/v1/tags", {"tag": "hot", "ids": ["d1"], "group": 1}),
]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "mail.neardup") as made:
        new = [{"id": id, "text": text, "metadata": {"from": "ann"}} for id, text in TEXTS.items()]
        added = made("POST", "/v1/documents", {"documents": new, "near": 0.9, "on_near": "link"})
        assert (added.status, added.json["near"][0]["action"]) == (201, "linked")
        yield made


def everything(service: Service) -> list[bytes]:
    """What is answered to all that can be asked, with every text."""
    asked = [*READING, *(("GET", by_query(id)) for id in TEXTS)]
    answers = [service(*request) for request in asked]
    assert {answer.status for answer in answers} == {200}
    return [answer.content for answer in answers]


def numbers(service: Service) -> dict[str, float]:
    """The metrics; to ask for them must always be possible, as for health."""
    assert service("GET", "/health").json == {"status": "alive"}
    answer = service("GET", "/metrics")
    assert answer.status == 200
    lines = (line.rsplit(" ", 1) for line in answer.content.decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def require_refused(answer: Answer, status: int, code: str, service: Service) -> dict[str, Any]:
    """An error in words that people can act on, without the place of the file."""
    assert (answer.status, answer.error["code"]) == (status, code)
    assert ("retry-after" in answer.headers) == (status == 503)
    assert str(service.executor.collection.path) not in answer.content.decode()
    assert answer.error["do"]
    return answer.error


def require_all_is_well(service: Service) -> None:
    """It reads and writes, and the file is whole."""
    for request in WRITING:
        assert service(*request).status in (200, 201)
    assert service("GET", "/v1/documents/d5").json["text"] == LARGE
    assert service("GET", "/v1/documents/d8").status == 404
    assert numbers(service)["neardup_writable"] == 1
    assert service.executor.collection.check() == []


def connection(service: Service) -> sqlite3.Connection:
    """The one that writes."""
    writer: sqlite3.Connection = service.executor.collection.store._writer  # type: ignore[attr-defined]
    return writer


def fill(service: Service, room: int = 0) -> None:
    """No page more than there are: what SQLite then says and does is that of a full disk (SQLITE_FULL)."""
    [pages] = connection(service).execute("PRAGMA page_count").fetchone()
    connection(service).execute(f"PRAGMA max_page_count = {pages + room}")


def test_a_full_disk(service: Service) -> None:
    before = everything(service)
    fill(service)
    for request in WRITING[:3]:
        error = require_refused(service(*request), 503, "unwritable", service)
        assert "no space left" in error["given"]
        assert "documents are unharmed" in error["do"]
        assert everything(service) == before
        assert numbers(service)["neardup_writable"] == 0
    assert numbers(service)["neardup_documents"] == len(TEXTS)
    refused = 'neardup_requests_total{method="PUT",route="/v1/documents/{id}",status="503"}'
    assert numbers(service)[refused] == 2
    assert service("GET", "/ready").status == 200
    assert service.executor.collection.check() == []
    connection(service).execute("PRAGMA max_page_count = 1000000")
    require_all_is_well(service)


def test_on_a_full_disk_what_fits_is_written(service: Service) -> None:
    """Together with what does not fit; each answer says what happened to its own."""
    fill(service, 8)
    ids = [f"d{number}" for number in range(10, 40)]
    asked: list[tuple[Any, ...]] = [("PUT", by_query(id), {"text": "few words"}) for id in ids]
    answers = service.all([*asked, *WRITING[:3]])
    statuses = [answer.status for answer in answers]
    assert 200 in statuses
    assert statuses[30:] == [503] * 3
    for answer in answers:
        if answer.status != 200:
            assert "no space left" in require_refused(answer, 503, "unwritable", service)["message"]
    for id, status in zip(ids, statuses, strict=False):
        assert service("GET", by_query(id)).json["text"] == ("few words" if status == 200 else TEXTS[id])
    assert service.executor.collection.check() == []


def test_a_file_that_becomes_read_only(service: Service) -> None:
    before = everything(service)
    connection(service).execute("PRAGMA query_only = ON")  # every change is refused as on such a file system
    for request in WRITING:
        error = require_refused(service(*request), 503, "unwritable", service)
        assert "cannot be written" in error["given"]
    assert {answer.status for answer in service.all(WRITING)} == {503}
    assert everything(service) == before
    assert numbers(service)["neardup_writable"] == 0
    connection(service).execute("PRAGMA query_only = OFF")
    require_all_is_well(service)


def test_a_file_that_was_opened_for_reading_only(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    with Collection(path, scale=4) as collection:
        collection.put_prepared(collection.prepare(list(TEXTS), list(TEXTS.values()), [{}] * len(TEXTS)))
    from neardup.service.app import make_app
    from neardup.service.executor import Executor
    from neardup.service.web.limits import Limits
    from neardup.service.web.middleware import Tokens

    with serving(tmp_path / "other.neardup") as service:
        own, service.executor = service.executor, Executor(Collection(path, readonly=True), Limits())
        service.app = make_app(service.executor, Tokens())
        assert service("GET", "/v1/documents/d3").json["text"] == TEXTS["d3"]
        for request in WRITING:
            assert require_refused(service(*request), 403, "read_only", service)
        assert service("GET", "/v1/stats").json["documents"] == len(TEXTS)
        assert service.executor.close()
        service.executor = own


def test_a_file_that_is_damaged_while_it_is_served(service: Service) -> None:
    before = everything(service)
    connection(service).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = service.executor.collection.path
    whole = path.read_bytes()
    for begin in range(4, len(whole) // PAGE, 3):
        with path.open("r+b") as file:  # the same file, for it is open
            file.seek(begin * PAGE)
            file.write(b"\xa5" * (len(whole) - begin * PAGE))
        for request, right in zip(READING, before, strict=False):
            answer = service(*request)
            if answer.status == 200:
                assert answer.content == right
            else:
                require_refused(answer, 500, "damaged", service)
        assert numbers(service)["neardup_documents"] in (len(TEXTS), pytest.approx(float("nan"), nan_ok=True))
        with path.open("r+b") as file:
            file.write(whole)
    assert everything(service) == before
    require_all_is_well(service)


def test_a_change_that_meets_damage_is_not_acknowledged(service: Service) -> None:
    connection(service).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = service.executor.collection.path
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(4 * PAGE)
        file.write(b"\xa5" * (len(whole) - 4 * PAGE))
    connection(service).execute("PRAGMA shrink_memory")  # else it goes on with the pages that it holds
    for request in WRITING:
        require_refused(service(*request), 500, "damaged", service)
    assert numbers(service)["neardup_writable"] == 0
    with path.open("r+b") as file:
        file.write(whole)
    connection(service).execute("PRAGMA shrink_memory")
    everything(service)
    require_all_is_well(service)


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be moved elsewhere")
def test_a_file_that_is_moved_away(service: Service) -> None:
    """Changes to a file that nobody finds again would be lost."""
    path = service.executor.collection.path
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    for request in WRITING:
        error = require_refused(service(*request), 503, "unavailable", service)
        assert "its place" in error["message"]
    for request in READING:  # threads that have opened it read on, the others say that they cannot
        answer = service(*request)
        assert answer.status == 200 or require_refused(answer, 503, "unavailable", service)
    assert service("GET", "/ready").error["code"] == "unavailable"
    assert numbers(service)["neardup_writable"] == 0
    path.write_bytes(b"another file")
    require_refused(service(*WRITING[0]), 503, "unavailable", service)
    elsewhere.rename(path)
    assert service("GET", "/ready").status == 200
    everything(service)
    require_all_is_well(service)


def test_a_disk_that_cannot_be_read(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the disk is neither the client's nor reported as one of writing."""
    from neardup.collection.store.sqlite import SqliteStore as Store

    def broken(*_: object) -> Any:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
        raise error

    from neardup.collection.store.failures import translated_errors

    def refused(store: Store, *_: object) -> Any:
        with translated_errors(store._path, 0):
            broken()

    monkeypatch.setattr(Store, "_all", refused)
    for request in READING[:8]:  # the tables of groups have taken the whole method with them
        require_refused(service(*request), 503, "unavailable", service)
    assert str(numbers(service)["neardup_documents"]) == "nan"
    monkeypatch.undo()
    everything(service)


def test_clients_at_the_same_time_on_a_full_disk(service: Service) -> None:
    """Many threads that read, and refused writers: nobody waits for ever, nothing is mixed up."""
    before = everything(service)
    fill(service)
    answers = service.all([*WRITING[:3], *READING] * 8)
    for request, answer in zip([*WRITING[:3], *READING] * 8, answers, strict=True):
        assert answer.status == (503 if request in WRITING else 200)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(service.executor.collection.check).result() == []
    assert everything(service) == before
