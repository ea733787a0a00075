"""``neardup review`` and ``neardup serve --page`` as processes: they print an address, and pages are there."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from neardup.collection import Collection
from support.command_line import Run
from support.made_reviews import make_result

TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark and quiet wood"


@contextmanager
def running(*line: object) -> Iterator[tuple[str, list[str]]]:
    """A command that serves: the host and port it printed, and the lines."""
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
        process.terminate()
        assert process.wait(20) == 0
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


def test_review_serves_a_result_and_stores_decisions_in_it(run: Run, tmp_path: Path) -> None:
    folder = make_result(tmp_path)
    with running("review", folder, "--by", "Eve") as (host, _):
        status, text, _ = ask(host, "GET", "/")
        assert status == 200
        assert "fox" in text
        form = {"asked": "pair", "a": 1, "b": 0, "seen": 0, "verdict": "keep both"}
        status, _, place = ask(host, "POST", "/decide", form)
        assert status == 303
        assert "Done: keep both" in ask(host, "GET", place)[1]
        assert "Eve" in ask(host, "GET", "/history")[1]
    final = run("dedup", "--from", folder, "-o", tmp_path / "final")
    assert final.status == 0, final.err
    assert "fox-12" in (tmp_path / "final" / "kept.jsonl").read_text()


def test_serve_with_page_adds_the_pages_to_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "mail.neardup"
    with Collection(path) as collection:
        collection.add([TEXT, f"{TEXT} again"], near=0.5, on_near="link")
    with running("serve", path, "--page") as (host, lines):
        assert lines[1].rstrip().endswith("/review/")
        assert ask(host, "GET", "/health")[0] == 200
        until = time.monotonic() + 60
        while ask(host, "GET", "/ready")[0] != 200:
            assert time.monotonic() < until
            time.sleep(0.05)
        for place in ("/review", "/review/"):
            status, text, _ = ask(host, "GET", place)
            assert status == 200
            assert 'href="/review/files/review.css"' in text
        assert "2" in text
        assert ask(host, "GET", "/reviews")[0] == 404
        assert ask(host, "GET", "/review/export")[1].count("jsonl</a>") == 2


def test_other_machines_need_tokens(run: Run, tmp_path: Path) -> None:
    refused = run("review", tmp_path, "--host", "0.0.0.0")
    assert refused.status == 2
    assert "--token-file" in refused.err


def test_a_folder_without_a_result_is_refused_in_words(run: Run, tmp_path: Path) -> None:
    refused = run("review", tmp_path, "--port", "0")
    assert refused.status == 2
    assert "error" in refused.err.lower()


def test_the_address_is_printed_before_the_tables_are_read(run: Run, tmp_path: Path) -> None:
    """A large result takes seconds, in which a browser can already wait for its page."""
    folder = make_result(tmp_path)
    (folder / "groups.parquet").write_bytes(b"")
    refused = run("review", folder, "--port", "0")
    assert (refused.status, refused.out[:22]) == (2, "Open http://127.0.0.1:")
    assert "groups.parquet" in refused.err
    (folder / "run.json").unlink()
    refused = run("review", folder, "--port", "0")
    assert (refused.status, refused.out) == (2, "")
