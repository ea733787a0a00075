"""Several services of one collection in PostgreSQL: deaths of one, and of the server, while many write."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from neardup.collection import Collection
from support import postgres_server
from support.serve_command import WRITERS, Server, Writing, started
from support.serve_workers import PATIENCE, until

OUTAGE = {"unavailable", "unwritable", "timeout"}

LARGE = "seven words are in this long line\n" * 250_000
"""A text that fits in no buffer of a connection."""
ASKED = b"GET /v1/documents/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF = b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n["


@contextmanager
def slow_clients(service: Server) -> Iterator[None]:
    """Clients that read nothing, and that send half of a request."""
    assert service.ask("PUT", "/v1/documents/large", {"text": LARGE})[0] == 200
    with ExitStack() as stack:
        for said in (ASKED, HALF) * 4:
            slow = stack.enter_context(socket.create_connection((service.host, service.port)))
            slow.sendall(said)
        yield


def test_a_service_and_the_server_are_killed_while_many_write(tmp_path: Path) -> None:
    if postgres_server.missing():
        pytest.skip(postgres_server.missing())
    draw = random.Random(3)
    database = postgres_server.Server()
    url = database.url("mails")
    words = [url, "--wait", 60, "--seconds", 60, "--port"]
    try:
        with ExitStack() as stack:
            first = stack.enter_context(started(tmp_path / "first.log", *words, 0, "--create"))
            second = stack.enter_context(started(tmp_path / "second.log", *words, 0))
            stack.enter_context(slow_clients(second))
            writers = [
                Writing((first, second)[number % 2], str(number), again=True, unsure=OUTAGE)
                for number in range(WRITERS)
            ]
            for writer in writers:
                writer.start()

            def progress(number: int) -> None:
                begins = [writer.acknowledged for writer in writers]
                until(
                    lambda: all(
                        one.acknowledged >= begin + number for one, begin in zip(writers, begins, strict=True)
                    )
                )
                time.sleep(draw.random() * 0.1)

            for turn in range(2):
                progress(3)
                first.process.kill()
                assert second.ask("PUT", f"/v1/documents/between{turn}", {"text": "between"})[0] == 200
                again = started(tmp_path / f"again{turn}.log", *words, first.port)
                first = stack.enter_context(again)
            progress(3)
            database.kill()
            for service in (first, second):
                assert service.ask("GET", "/health") == (200, {"status": "alive"})
                assert service.ask("GET", "/v1/search?q=between")[0] == 503
            database.start()
            progress(3)
            for writer in writers:
                writer.done.set()
                writer.join(PATIENCE)
                assert not writer.is_alive()
            for service in (first, second):
                assert service.ask("GET", "/v1/search?q=between")[1]["found"] == 2
                os.kill(service.process.pid, signal.SIGTERM)
                assert service.process.wait(60) == 0
        with Collection(url) as collection:
            assert collection.check() == []
            for writer in writers:
                assert not writer.refused
                for id, text in writer.known.items():
                    if id not in writer.doubtful:
                        assert (collection.get(id).text if id in collection else None) == text
    finally:
        database.remove()


def test_the_disk_of_the_server_is_full_and_has_room_again(tmp_path: Path) -> None:
    """The tables are in a tablespace on a file system of 24 MB, most of it taken."""
    if postgres_server.missing():
        pytest.skip(postgres_server.missing())
    database = postgres_server.Server()
    disk = database.folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", disk], capture_output=True)
    if mounted.returncode:
        database.remove()
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode()}")
    try:
        (disk / "taken").write_bytes(bytes(12 << 20))
        space = database.tablespace(disk / "tables")
        url = f"{database.url('mails')}&options=-cdefault_tablespace%3D{space}"
        known: dict[str, str] = {}
        with started(tmp_path / "service.log", url, "--port", 0, "--create") as service:
            for number in range(500):
                text = " ".join(f"w{number}x{word}" for word in range(2000))
                status, answer = service.ask("PUT", f"/v1/documents/{number}", {"text": text})
                if status != 200:
                    break
                known[str(number)] = text
            assert known
            assert (status, answer["error"]["code"]) == (503, "unwritable")
            assert str(database.folder) not in repr(answer)
            for id, text in known.items():
                assert service.ask("GET", f"/v1/documents/{id}")[1]["text"] == text
            assert service.ask("GET", "/health")[0] == 200
            (disk / "taken").unlink()
            for number in range(3):
                known[f"again{number}"] = text
                assert service.ask("PUT", f"/v1/documents/again{number}", {"text": text})[0] == 200
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(60) == 0
            assert not [event for event in service.events() if event["event"] == "mistake"]
        with Collection(url) as collection:
            assert {id: collection.get(id).text for id in collection} == known
            assert collection.check() == []
    finally:
        database.stop()
        subprocess.run(["umount", disk], check=True)
        database.remove()
