"""``neardup serve`` when the system takes no more bytes for its files, and later takes them again."""

import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from neardup.collection import Collection
from support.serve_command import Server, serving

resource = pytest.importorskip("resource", reason="needs POSIX")
pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs Linux")

WRITERS = 4


def allow(server: Server, size: int) -> None:
    """No file of the server may become larger than this; what would be written beyond fails as on a full disk."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def write(server: Server, name: str, known: dict[str, str], refused: list[Any]) -> None:
    """Put documents until one is refused."""
    draw = random.Random(name)
    for number in range(500):
        text = " ".join(f"w{draw.randrange(10**6)}" for _ in range(300))
        status, said = server.ask("PUT", f"/v1/documents/{name}.{number}", {"text": text})
        if status != 200:
            refused.append((status, said["error"]))
            return
        known[f"{name}.{number}"] = text


def metric(server: Server, name: str) -> float:
    connection = server.connect()
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    [value] = [line.rsplit(" ", 1)[1] for line in lines if line.startswith(f"{name} ")]
    return float(value)


def test_until_no_byte_more_can_be_written_and_on(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    known: dict[str, str] = {}
    refused: list[Any] = []
    with serving(path) as server:
        allow(server, 4 << 20)
        writers = [
            threading.Thread(target=write, args=(server, f"w{k}", known, refused), daemon=True)
            for k in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(120)
        assert len(refused) == WRITERS
        for status, error in refused:
            assert (status, error["code"]) == (503, "unwritable")
            assert "Nothing" in error["message"]
            assert str(tmp_path) not in repr(error)
        assert len(known) > 20
        for id, text in known.items():
            assert server.ask("GET", f"/v1/documents/{id}")[1]["text"] == text
        assert server.ask("GET", "/v1/search?q=FINGERPRINT:w0.0_50")[0] == 200
        assert server.ask("GET", "/health") == (200, {"status": "alive"})
        assert (metric(server, "neardup_writable"), metric(server, "neardup_documents")) == (0, len(known))
        allow(server, resource.RLIM_INFINITY)
        for number in range(5):
            text = known[f"again.{number}"] = f"there is room again {number}"
            assert server.ask("PUT", f"/v1/documents/again.{number}", {"text": text})[0] == 200
        assert (metric(server, "neardup_writable"), metric(server, "neardup_documents")) == (1, len(known))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        assert not [event for event in server.events() if event["event"] == "mistake"]
    with Collection(path) as collection:
        assert {id: collection.get(id).text for id in collection} == known
        assert collection.check() == []
