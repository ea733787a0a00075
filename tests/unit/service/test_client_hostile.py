"""The client against a server that is slow, huge, or another program: an error of the package, in time."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

httpx = pytest.importorskip("httpx", reason="neardup[client] is not installed")

from neardup import (  # noqa: E402
    Client,
    InputError,
    LimitError,
    NeardupError,
    NetworkError,
    OutputError,
    SettingError,
)

SECONDS = 0.5
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SECRET = "swordfish"

Answer = Callable[[socket.socket, threading.Event], None]


@contextmanager
def hostile(answer: Answer) -> Iterator[str]:
    """A server that answers each connection in its own way; its address."""
    listening, ended = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
            threads[-1].start()

    def one(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            answer(connection, ended)

    threads = [threading.Thread(target=serve, daemon=True)]
    threads[0].start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        ended.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for thread in threads:
            thread.join(10)


def drip(head: bytes, byte: bytes) -> Answer:
    """Sends a byte again and again, each well within the time of one read."""

    def answer(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(head)
        while not ended.wait(SECONDS / 10):
            connection.sendall(byte)

    return answer


def flood(head: bytes, data: bytes) -> Answer:
    """Sends without end."""

    def answer(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(head)
        while not ended.is_set():
            connection.sendall(data)

    return answer


def deaf(connection: socket.socket, ended: threading.Event) -> None:
    """Reads a request drop by drop."""
    while not ended.wait(SECONDS / 10) and connection.recv(1_000):
        pass


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda connection, ended: ended.wait(), LimitError),
        (drip(b"HTTP/1.1 200 OK\r\nX: ", b"a"), LimitError),
        (drip(OK + b"Content-Length: 1000000\r\n\r\n", b" "), LimitError),
        (drip(CHUNKED, b"1\r\n \r\n"), LimitError),
        (flood(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100), LimitError),
        (flood(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 4096), NetworkError),
        (flood(CHUNKED, b"10000\r\n" + b" " * 65_536 + b"\r\n"), NetworkError),
        (flood(OK + b"Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n", b"\x1f\x8b"), NetworkError),
    ],
    ids=["silent", "head", "body", "chunks", "hints", "endless head", "endless body", "compressed"],
)
def test_an_answer_without_end_is_an_error_in_time(answer: Answer, kind: type[NeardupError]) -> None:
    seconds = SECONDS if kind is LimitError else 60
    with hostile(answer) as url, Client(url, timeout=seconds, largest=1 << 20) as client:
        with pytest.raises(kind) as caught:
            client.get("a")
        assert url in str(caught.value)


def test_a_server_that_hardly_reads_is_an_error_in_time() -> None:
    with hostile(deaf) as url, Client(url, timeout=SECONDS) as client, pytest.raises(LimitError):
        client.put("a", "x" * 30_000_000)


def answering(data: Any, status: int = 200, **headers: str) -> Client:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    transport = httpx.MockTransport(lambda _: httpx.Response(status, content=body, headers=headers))
    return Client("http://127.0.0.1:1", transport=transport)


CALLS: list[Callable[[Client], Any]] = [
    lambda client: client.add([{"id": "a", "text": "x"}]),
    lambda client: client.put("a", "x"),
    lambda client: client.remove("a"),
    lambda client: client.get("a"),
    lambda client: client.base_texts(),
    lambda client: client.list(),
    lambda client: list(client.documents()),
    lambda client: list(client),
    lambda client: len(client),
    lambda client: client.update_metadata("a", {}),
    lambda client: list(client.exported()),
    lambda client: client.compare("a", "b"),
    lambda client: client.search("a"),
    lambda client: client.near("a"),
    lambda client: client.why_not("a", "b"),
    lambda client: client.groups(),
    lambda client: client.group(1),
    lambda client: client.group_of("a"),
    lambda client: client.members(1),
    lambda client: client.group_pending(),
    lambda client: client.regroup(),
    lambda client: client.decide("a", "b", "duplicate"),
    lambda client: client.undecide("a", "b"),
    lambda client: client.decisions(),
    lambda client: client.changes(),
    lambda client: client.tag("t", ["a"]),
    lambda client: client.tags(),
    lambda client: client.tags("a"),
    lambda client: client.undo("ann"),
    lambda client: client.actions(),
]
LISTS = ("documents", "ids", "hits", "groups", "members", "decisions", "changes", "near")
NUMBERS = ("next", "removed", "regrouped", "added", "found", "withdrawn", "size")
WORDS = ("id", "text", "decision", "metadata", "group", "recall", "reason", "measures")
WRONG: dict[str, Any] = {name: [3] for name in LISTS} | dict.fromkeys(NUMBERS, "many")
WRONG |= {name: [{}] for name in WORDS}
OTHERS = [
    *({}, [], "text", 7, True, [[]], WRONG, {**dict.fromkeys(WRONG), "group": 7}),
    *(b"[" * 100_000, b"9" * 10_000, b"\xff\xfe", b'{"next": 1e999}', b""),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_answers_of_other_programs_are_errors_of_the_package(number: int) -> None:
    for data in OTHERS:
        with answering(data) as client, pytest.raises(NetworkError):
            CALLS[number](client)


REFUSALS = [
    {"error": {"code": ["a"], "given": {"a": 1}, "fields": [7, None], "position": "x"}},
    {"error": {"code": "query", "given": "wrong", "position": -5, "fields": 7}},
    {"error": {"code": "query", "given": "wrong\x1b[2J", "position": 10**30}},
    {"error": {}},
]


def test_strange_refusals_are_errors_of_the_package() -> None:
    for refusal in REFUSALS:
        for status in (400, 404, 503):
            with answering(refusal, status, **{"Retry-After": "9" * 5_000}) as client:
                with pytest.raises(NeardupError) as caught:
                    client.search("harbour")
                assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("documents", [[], [0]])
@pytest.mark.parametrize("next", [0, -3, 1])
def test_pages_that_lead_back_end(documents: list[int], next: int, tmp_path: Path) -> None:
    one = {"id": "a", "metadata": {}, "size": 1, "tokens": 1, "shingles": 1, "role": "document", "group": None}
    page = {"documents": [{**one, "text": "x"} for _ in documents], "next": next}
    for read in (
        lambda client: [*client.__iter__()],
        lambda client: list(client.documents()),
        lambda client: client.export(tmp_path / "a.jsonl"),
    ):
        with answering(page) as client, pytest.raises(NetworkError):
            read(client)
    pending = {"compared": 1, "repeats": 0, "linked": 0, "recall": 1, "near": [], "next": next}
    with answering(pending) as client, pytest.raises(NetworkError):
        client.group_pending()


def test_the_password_of_an_address_is_in_no_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://ann:{SECRET}@127.0.0.1:{port}"
    with Client(url) as client:
        assert SECRET not in repr(client) + client.url
        with pytest.raises(NetworkError) as caught:
            client.get("a")
    said = [str(caught.value)]
    for wrong in (
        lambda: Client(f"ftp://ann:{SECRET}@host"),
        lambda: Client(f"http://ann:{SECRET}@host:port"),
        lambda: Client(f"http://host?key={SECRET}"),
        lambda: Client(url, token="t" * 20),
        lambda: Client("http://127.0.0.1:1", token=f"{SECRET}\n"),
        lambda: Client("http://127.0.0.1:1", token=f"{SECRET}ü"),
        lambda: Client(None),  # type: ignore[arg-type]
        lambda: Client("http://127.0.0.1:1", timeout="1"),  # type: ignore[arg-type]
        lambda: Client("http://127.0.0.1:1", largest=0),
    ):
        with pytest.raises((InputError, SettingError)) as refused:
            wrong()
        said.append(str(refused.value))
    assert not [words for words in said if SECRET in words]


def test_the_password_is_sent_all_the_same() -> None:
    seen: list[Any] = []

    def answer(request: Any) -> Any:
        seen.append(request.headers["authorization"])
        return httpx.Response(302, headers={"Location": f"http://ann:{SECRET}@else/where"})

    with Client(f"http://ann:{SECRET}@127.0.0.1:1", transport=httpx.MockTransport(answer)) as client:
        with pytest.raises(OutputError) as caught:
            client.get("a")
        assert SECRET not in str(caught.value)
    assert seen[0].startswith("Basic ")


def test_metadata_that_is_not_json_is_refused() -> None:
    with answering({}) as client:
        for value in (float("nan"), object()):
            with pytest.raises(InputError):
                client.update_metadata("a", {"x": value})
