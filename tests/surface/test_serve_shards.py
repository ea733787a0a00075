"""``neardup serve --shard``: shards that are killed, that hang and that come back, while many write and search."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from neardup.collection.shards import Collections, shard_of
from support import postgres_server
from support.command_line import Run
from support.serve_command import TEXT, WRITERS, Server, Writing, serving, started
from support.serve_workers import PATIENCE, metric, until

pytestmark = pytest.mark.skipif(not hasattr(os, "kill"), reason="needs POSIX")
COUNT = 3


@pytest.fixture
def places(tmp_path: Path) -> list[str | Path]:
    """Two files, and a schema in PostgreSQL where there is a server, else a third file."""
    files = [tmp_path / f"{number}.neardup" for number in range(COUNT)]
    last = files[2] if postgres_server.missing() else postgres_server.url_for(tmp_path)
    made = [*files[:2], last]
    Collections.create(made).close()
    return made


@contextmanager
def front(folder: Path, *places: object, seconds: float = 2) -> Iterator[Server]:
    """The service in front of shards."""
    words = [word for place in places for word in ("--shard", place)]
    with started(folder / "front.log", *words, "--port", 0, "--shard-seconds", seconds) as made:
        yield made


def address(server: Server) -> str:
    return f"http://{server.host}:{server.port}"


def answers(server: Server, target: str) -> bool:
    return server.ask("GET", target)[0] == 200


def require_acknowledged(places: list[str | Path], writers: list[Writing]) -> None:
    """What was acknowledged last of each document is there, in the shard of its id."""
    with Collections(places) as shards:
        for writer in writers:
            assert not writer.refused
            for id, text in writer.known.items():
                if id not in writer.doubtful:
                    home = shards.shard(id)
                    assert (home.get(id).text if id in home else None) == text
        assert [shard.check() for shard in shards.shards] == [[]] * COUNT
        for number, shard in enumerate(shards.shards):
            assert {shard_of(id, COUNT) for id in shard} <= {number}


def test_a_shard_is_killed_while_many_write_and_comes_back(tmp_path: Path, places: list[str | Path]) -> None:
    """Three times; the documents of the others are written and found meanwhile."""
    path = tmp_path / "1.neardup"
    with ExitStack() as stack:
        first = stack.enter_context(serving(tmp_path / "0.neardup", create=False))
        second = stack.enter_context(serving(path, create=False))
        port = second.port
        made = stack.enter_context(front(tmp_path, address(first), address(second), places[2]))
        until(lambda: answers(made, "/v1/stats"))
        writers = [Writing(made, str(number), again=True, unsure={"shard"}) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        here = next(str(number) for number in range(99) if shard_of(str(number), COUNT) != 1)
        for turn in range(3):
            begin = sum(writer.acknowledged for writer in writers)
            until(lambda begin=begin: sum(writer.acknowledged for writer in writers) >= begin + 20)  # type: ignore[misc]
            second.process.kill()
            assert made.ask("GET", "/health") == (200, {"status": "alive"})
            assert made.ask("PUT", f"/v1/documents/{here}", {"text": TEXT.format(turn)})[0] == 200
            status, refusal = made.ask("GET", "/v1/search?q=harbour")
            assert (status, refusal["error"]["code"]) == (503, "shard")
            status, page = made.ask("GET", "/v1/search?q=harbour&partial=true")
            assert (status, page["missing"]) == (200, [2])
            assert page["found"] > 0
            begin = sum(writer.acknowledged for writer in writers)
            until(lambda begin=begin: sum(writer.acknowledged for writer in writers) >= begin + 20)  # type: ignore[misc]
            words = [path, "--port", port]
            second = stack.enter_context(started(tmp_path / f"again{turn}.log", *words))
            until(lambda: answers(made, "/v1/search?q=harbour"))
        for writer in writers:
            writer.done.set()
            writer.join(PATIENCE)
            assert not writer.is_alive()
        assert metric(made, "neardup_shard_failures_total") > 0
        for server in (made, first, second):
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0
    require_acknowledged(places, writers)


def test_a_shard_that_hangs_delays_few_requests(tmp_path: Path, places: list[str | Path]) -> None:
    with ExitStack() as stack:
        slow = stack.enter_context(serving(tmp_path / "0.neardup", create=False))
        made = stack.enter_context(front(tmp_path, address(slow), *places[1:], seconds=1))
        for number in range(20):
            text = TEXT.format(number)
            until(lambda id=number, text=text: made.ask("PUT", f"/v1/documents/{id}", {"text": text})[0] == 200)  # type: ignore[misc]
        whole = made.ask("GET", "/v1/search?q=harbour")[1]
        os.kill(slow.process.pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            for _ in range(50):
                status, page = made.ask("GET", "/v1/search?q=harbour&partial=true")
                assert (status, page["missing"]) == (200, [1])
            late = sum(event["event"] == "shard_failed" for event in made.events())
            # each probe takes the two limits, and the others do not wait
            assert late == 50
            slow_ones = [event for event in made.events() if event.get("ms", 0) >= 1000]
            assert len(slow_ones) <= 1 + (time.monotonic() - begin) / shortest_pause()
            assert page["found"] == sum(shard_of(str(number), COUNT) != 0 for number in range(20))
        finally:
            os.kill(slow.process.pid, signal.SIGCONT)
        until(lambda: made.ask("GET", "/v1/search?q=harbour")[1] == whole)


LARGE = "seven words are in this long line\n" * 250_000
"""A text that fits in no buffer of a connection."""


def test_slow_clients_and_a_shard_whose_disk_is_full(tmp_path: Path, places: list[str | Path]) -> None:
    """Clients that do not read, in front of the shards and at one, and one that sends half of a request."""
    resource = pytest.importorskip("resource", reason="needs POSIX")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs Linux")
    with ExitStack() as stack:
        full = stack.enter_context(serving(tmp_path / "0.neardup", create=False))
        made = stack.enter_context(front(tmp_path, address(full), *places[1:], seconds=30))
        until(lambda: answers(made, "/v1/stats"))
        homes: dict[int, list[str]] = {0: [], 1: [], 2: []}
        for number in range(60):
            homes[shard_of(str(number), COUNT)].append(str(number))
        large = homes[0].pop()
        assert made.ask("PUT", f"/v1/documents/{large}", {"text": LARGE})[0] == 200
        asked = f"GET /v1/documents/{large} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        half = b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n["
        for place, said in [(made, asked), (full, asked), (made, half), (full, half)] * 4:
            slow = stack.enter_context(socket.create_connection((place.host, place.port)))
            slow.sendall(said)
        resource.prlimit(full.process.pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        texts = {id: TEXT.format(id) for id in (*homes[1], *homes[2])}
        for id, text in texts.items():
            assert made.ask("PUT", f"/v1/documents/{id}", {"text": text})[0] == 200
        for id in homes[0]:
            long = " ".join(f"w{id}x{word}" for word in range(20_000))
            status, answer = made.ask("PUT", f"/v1/documents/{id}", {"text": long})
            if status != 200:
                break
            texts[id] = long
        assert (status, answer["error"]["code"]) == (503, "shard")
        others = len(texts) - homes[0].index(id)
        assert made.ask("GET", "/v1/search?q=harbour")[1]["found"] == others
        resource.prlimit(full.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        for id in homes[0]:
            texts[id] = TEXT.format(f"again {id}")
            assert made.ask("PUT", f"/v1/documents/{id}", {"text": texts[id]})[0] == 200
        assert made.ask("GET", "/v1/search?q=harbour")[1]["found"] == len(texts)
    with Collections(places) as shards:
        assert {id: shards.get(id).text for id in shards} == {**texts, large: LARGE}
        assert [shard.check() for shard in shards.shards] == [[]] * COUNT


def shortest_pause() -> float:
    """Seconds between two requests that find out whether a shard answers again."""
    from neardup.service.shard_client import PAUSE

    return PAUSE


def test_a_search_of_services_and_files(tmp_path: Path, run: Run) -> None:
    places = [tmp_path / "0.neardup", tmp_path / "1.neardup"]
    with Collections.create(places) as shards:
        for number in range(8):
            shards.put(f"d{number}", f"{TEXT} {number}")
    with serving(places[0]) as service:
        url = address(service)
        page = json.loads(run("collection", "search", url, places[1], "FINGERPRINT:d1_20", "--json").out)
        with Collections(places) as shards:
            expected = shards.search("FINGERPRINT:d1_20")
        assert [hit["id"] for hit in page["hits"]] == [hit.id for hit in expected.hits]
        assert (page["found"], page.get("missing", [])) == (7, [])
        assert run("collection", "search", url, places[1], "FINGERPRINT:d1_20", "--explain").status == 2
        for id in ("d2", "nothing"):
            why = run("collection", "search", url, places[1], "FINGERPRINT:d1_100", "--why-not", id)
            with Collections(places) as shards:
                assert why.out.strip() == str(shards.why_not("FINGERPRINT:d1_100", id))
    gone = run("collection", "search", url, places[1], "NOT nothing", "--shard-seconds", 1)
    assert (gone.status != 0, "Shard 1 of 2" in gone.err) == (True, True)
    part = run("collection", "search", url, places[1], "NOT nothing", "--partial", "--shard-seconds", 1)
    assert (part.status, "Shard 1 of 2" in part.err) == (0, True)
    assert run("collection", "search", places[1], "NOT nothing", "--partial").status == 2


def test_shards_that_there_cannot_be(tmp_path: Path, run: Run) -> None:
    for words, named in (
        (["--shard", tmp_path / "absent.neardup"], "absent"),
        (["--shard", "http://127.0.0.1:1", "--shard-seconds", 0], "--shard-seconds"),
        (["--shard", "ftp://127.0.0.1"], "ftp"),
    ):
        result = run("serve", *words, "--port", 0)
        assert result.status == 2
        assert named in result.err
