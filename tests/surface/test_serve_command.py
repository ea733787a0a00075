"""``neardup serve`` over a socket: refusals to start, signals, kills, slow and greedy clients."""

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPResponse
from pathlib import Path

import pytest

from neardup.errors import install
from support.command_line import Run
from support.messages import has_parts
from support.serve_command import (
    WRITERS,
    Server,
    Writing,
    ask,
    require_what_was_acknowledged,
    serving,
)

TOKEN = "t" * 24
LARGE = 20_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        tmp_path_factory.mktemp("serve") / "mail.neardup", "--largest-body", 30, "--seconds", 120
    ) as made:
        yield made


def test_without_a_token_nobody_else_is_let_in(run: Run, tmp_path: Path) -> None:
    result = run("serve", tmp_path / "mail.neardup", "--create", "--host", "0.0.0.0")
    assert result.status == 2
    assert has_parts(result.err.splitlines()[0], "error: --host is '0.0.0.0'", "without a --token-file")
    assert not (tmp_path / "mail.neardup").exists()


def test_what_it_will_not_start_with(run: Run, tmp_path: Path, server: Server) -> None:
    path = tmp_path / "mail.neardup"
    assert "no collection" in run("serve", path, "--port", "0").err
    assert "--seconds is 0" in run("serve", path, "--create", "--seconds", "0").err
    assert "Cannot listen at 127.0.0.1 port" in run("serve", path, "--create", "--port", str(server.port)).err
    assert "--port is 70000" in run("serve", path, "--create", "--port", "70000").err
    assert not path.exists()
    wrong = tmp_path / "wrong"
    wrong.write_text("no tokens\n")
    assert "not a neardup collection" in run("serve", wrong, "--port", "0").err
    assert "Line 1 of" in run("serve", path, "--create", "--token-file", wrong).err


def test_the_extra_is_named_when_it_is_missing(tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from neardup.cli import main\n"
        f"sys.argv = ['neardup', 'serve', {str(tmp_path / 'x')!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert install("service") in done.stderr
    assert "Traceback" not in done.stderr


def test_tokens_over_the_network(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"read {TOKEN}\n")
    tokens.chmod(0o640)
    with serving(tmp_path / "mail.neardup", "--token-file", tokens, "--host", "0.0.0.0") as served:
        served.host = "127.0.0.1"
        assert served.ask("GET", "/health")[0] == 200
        assert served.ask("GET", "/v1/stats")[0] == 401
        assert served.ask("GET", "/v1/stats", headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(30) == 0
    said = (tmp_path / "mail.log").read_text()
    assert "by other users" in said
    assert TOKEN not in said


def test_stopped_while_many_write_it_has_lost_nothing(tmp_path: Path) -> None:
    """Killed first: the next one starts with the file as it was left."""
    path = tmp_path / "mail.neardup"
    everyone: list[Writing] = []
    draw = random.Random(3)
    for turn, (sign, status) in enumerate([(signal.SIGKILL, -9), (signal.SIGTERM, 0)]):
        with serving(path) as served:
            writers = [Writing(served, f"{turn}.{number}") for number in range(WRITERS)]
            for writer in writers:
                writer.start()
            while sum(len(writer.known) for writer in writers) < 20:
                time.sleep(0.01)
            time.sleep(draw.random() * 0.2)
            served.process.send_signal(sign)
            assert served.process.wait(60) == status
            for writer in writers:
                writer.join(60)
                assert not writer.is_alive()
            everyone += writers
            if sign == signal.SIGTERM:
                assert served.events()[-1]["finished"] is True
                assert not path.with_name(path.name + "-wal").exists()
    require_what_was_acknowledged(path, everyone)


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "mail.neardup") as served,
        socket.create_connection((served.host, served.port)) as slow,
    ):
        slow.sendall(b"PUT /v1/documents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n")
        slow.sendall(b"Content-Length: 100\r\n\r\n{")
        while "neardup_requests_arriving 1" not in metrics(served):
            time.sleep(0.01)
        served.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            served.process.wait(1)
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(10) == 128 + signal.SIGTERM


def metrics(server: Server) -> str:
    connection = server.connect()
    connection.request("GET", "/metrics")
    said = connection.getresponse().read().decode()
    connection.close()
    return said


def test_small_answers_are_sent_at_once(server: Server) -> None:
    """Without TCP_NODELAY the second piece of an answer waits for the acknowledgement of the first, 40 ms."""
    connection = server.connect()
    times = []
    for _ in range(30):
        began = time.perf_counter()
        assert ask(connection, "GET", "/health")[0] == 200
        times.append(time.perf_counter() - began)
    connection.close()
    assert min(times) < 0.03


@pytest.mark.parametrize(
    "said",
    [
        b"GARBAGE\r\n\r\n",
        b"GET /nowhere HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/near HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/near HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(server: Server, said: bytes) -> None:
    with socket.create_connection((server.host, server.port), timeout=10) as client:
        client.sendall(said)
        answer = HTTPResponse(client)
        answer.begin()
        assert 400 <= answer.status < 500
        assert answer.read()


def test_a_document_of_twenty_megabytes(server: Server) -> None:
    passage = " ".join(f"w{number:03d}" for number in range(100))
    large = " ".join([passage, *(f"{number:04x}" * 1000 for number in range(LARGE // 4001))])
    assert 19_900_000 < len(large) <= LARGE
    with socket.create_connection((server.host, server.port)) as client:
        head = "PUT /v1/documents/large HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: 30000001\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")
    status, said = server.ask("PUT", "/v1/documents/large", {"text": large})
    assert (status, said.get("added")) == (200, 1)
    found = server.ask("POST", "/v1/near", {"text": passage, "overlap": 0.9})[1]
    assert [hit["id"] for hit in found["hits"]] == ["large"]
    assert server.ask("POST", "/v1/compare", {"a": "large", "b": "large"})[0] == 413
    assert server.ask("DELETE", "/v1/documents/large")[0] == 200


def test_a_chunked_body_without_end_is_cut(server: Server) -> None:
    """Its limit is .5 MB; of the rest the service took in a gigabyte."""
    piece = b"186a0\r\n" + b" " * 100_000 + b"\r\n"
    head = b"POST /v1/compare HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    sent = 0
    with socket.create_connection((server.host, server.port), timeout=60) as client:
        client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            while sent < 1_000_000_000:
                client.sendall(piece)
                sent += len(piece)
    assert sent < 40_000_000, "what the system holds of a connection is more than what is read of it"


def test_a_body_of_two_lengths_is_refused_and_what_follows_is_no_request(server: Server) -> None:
    head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    behind = b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        connection.sendall(head + lengths + behind)
        answered = b""
        while piece := connection.recv(1 << 16):
            answered += piece
    assert answered.startswith(b"HTTP/1.1 400 ")
    assert b"ambiguous_length" in answered
    assert answered.count(b"HTTP/1.1") == 1


def test_the_log_is_json_without_texts(server: Server) -> None:
    server.ask("POST", "/v1/search", {"query": "confidential"})
    server.ask("GET", "/v1/documents/confidential?x=confidential")
    events = server.events()
    assert events[0]["event"] == "started"
    assert {"time", "level", "event", "request", "method", "route", "status", "ms"} <= set(events[-1])
    assert "confidential" not in server.log.read_text()
