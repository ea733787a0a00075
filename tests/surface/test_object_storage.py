"""Inputs and outputs in object stores, of moto and of an emulator of Google Cloud Storage as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import neardup as nd
from neardup.io.storage.systems import filesystem
from support import storage_servers
from support.command_line import Run

WORDS = "the quick brown fox jumps over the lazy dog and runs far away from the old grey house"
ROWS = [{"id": f"d{n}", "text": f"{WORDS} number {n % 7} of them"} for n in range(40)]


@pytest.fixture(params=["s3", "gs"])
def box(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty folder in a bucket of a server."""
    if request.param == "gs":
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", storage_servers.gcs())
        return f"gs://box/{tmp_path.name}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", storage_servers.s3())
    for name, value in storage_servers.S3_KEYS.items():
        monkeypatch.setenv(name, value)
    return f"s3://box/{tmp_path.name}"


def put(url: str, data: bytes) -> None:
    system, path = filesystem(url)
    with system.open(path, "wb") as file:
        file.write(data)


def jsonl(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_files_folders_and_patterns_are_read(box: str) -> None:
    put(f"{box}/in/a.jsonl", jsonl(ROWS[:20]))
    put(f"{box}/in/b.jsonl", jsonl(ROWS[20:]))
    expected = nd.find([row["text"] for row in ROWS]).run.counts.removed
    for name in (f"{box}/in", f"{box}/in/*.jsonl"):
        assert nd.find(name).run.counts.removed == expected > 0
    assert nd.find(f"{box}/in/a.jsonl").run.counts.read == 20


def test_what_is_missing_is_said_in_words(box: str, run: Run) -> None:
    for name in (f"{box}/none.jsonl", f"{box}/none/*.jsonl"):
        result = run("dedup", name, "--dry-run")
        assert result.status == 2
        assert name in result.err
        assert "secret-of-the-test" not in result.err
