"""Commands that serve, as processes, and requests to them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit


@contextmanager
def running(*line: object, ending: signal.Signals = signal.SIGTERM) -> Iterator[tuple[str, list[str]]]:
    """A command that serves: the host and port it printed, and the lines; after the block, the last ones too."""
    command = [sys.executable, "-m", "neardup", *map(str, line), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        lines = [process.stdout.readline()]
        if "listening" in lines[0]:
            lines.append(process.stdout.readline())
        address = next((word for word in lines[0].split() if word.startswith("http")), "")
        assert address, process.communicate(timeout=20)
        yield urlsplit(address).netloc, lines
        process.send_signal(ending)
        assert process.wait(20) == (0 if ending is signal.SIGTERM else -ending)
        lines += process.stdout.readlines()
    finally:
        process.kill()
        process.communicate()


def ask(host: str, method: str, target: str, form: dict[str, object] | None = None) -> tuple[int, str, str]:
    """Status, text and new place of one request."""
    connection = HTTPConnection(host, timeout=60)
    headers = {"Origin": f"http://{host}", "Content-Type": "application/x-www-form-urlencoded"} if form else {}
    connection.request(method, target, urlencode(form) if form else None, headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers.get("Location", "")
