"""Files on the web are read with the extra for them alone; other protocols name theirs."""

from __future__ import annotations

import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support.environments import environment_of, python_with
from support.journey_files import SAMPLE


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


def neardup(folder: Path, *line: str, extras: frozenset[str]) -> subprocess.CompletedProcess[str]:
    python = python_with(extras)
    command = [str(python.parent / "neardup"), *line]
    environment = environment_of(python, folder)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_file_of_a_server_is_read(tmp_path: Path) -> None:
    handler = partial(Quiet, directory=str(SAMPLE.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/{SAMPLE.name}"
        done = neardup(tmp_path, "dedup", url, "--dry-run", extras=frozenset({"http"}))
        server.shutdown()
        thread.join()
    assert done.returncode == 0, done.stderr
    assert "documents     104 read" in done.stdout + done.stderr


def test_a_protocol_without_its_package_names_the_extra(tmp_path: Path) -> None:
    done = neardup(tmp_path, "dedup", "s3://bucket/x.jsonl", "--dry-run", extras=frozenset())
    assert done.returncode == 2
    assert 'pip install ".[s3]"' in done.stderr
