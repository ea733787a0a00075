"""Several services of one collection in PostgreSQL: deaths of one, and of the server, while many write."""

import os
import random
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from neardup.collection import Collection
from support import postgres_server
from support.serve_command import WRITERS, Writing, started
from support.serve_workers import PATIENCE, until

OUTAGE = {"unavailable", "unwritable", "timeout"}


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
