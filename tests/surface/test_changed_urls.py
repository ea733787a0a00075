"""Results of files at URLs record the state of each file; commands that read them again compare it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.find import open_journal
from neardup.io.readers import open_files
from neardup.io.readers.columns import Chosen
from neardup.settings import Settings
from support import storage_servers
from support.command_line import ROWS, Run
from support.messages import has_parts
from support.storage_servers import FileServer, serving

pytest.importorskip("aiohttp", reason="neardup[http] is not installed")

NAME = "a.jsonl"
NOTHING = ()
TOLD = [("etag", "heeds"), ("modified",), NOTHING]


def jsonl(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def changed(data: bytes) -> bytes:
    """Other text of the same size."""
    return data.replace(b"e", b"a")


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[FileServer]:
    with serving(FileServer({NAME: jsonl(ROWS)}, told=getattr(request, "param", TOLD[0]))) as server:
        yield server


@pytest.mark.parametrize("server", TOLD, indirect=True)
def test_a_result_records_the_state_of_a_file(server: FileServer, run: Run, tmp_path: Path) -> None:
    done = run("dedup", f"{server.url}/{NAME}?sig=5f0c", "-o", tmp_path / "out")
    assert done.status == 0, done.err
    [place] = pq.read_table(tmp_path / "out" / "places.parquet").to_pylist()
    assert place["etag"] == (server.etag(NAME) if "etag" in server.told else None)
    assert place["modified"] == ("2026-03-02T10:00:00Z" if "modified" in server.told else None)
    assert (place["size"], place["path"]) == (len(jsonl(ROWS)), f"{server.url}/{NAME}")
    assert (place["digest"] is None) is bool(server.told)


@pytest.mark.parametrize("command", ["apply", "verify"])
@pytest.mark.parametrize("server", TOLD, indirect=True)
def test_a_file_that_changed_after_the_run_is_refused(
    server: FileServer, command: str, run: Run, tmp_path: Path
) -> None:
    url, out = f"{server.url}/{NAME}", tmp_path / "out"
    assert run("dedup", url, "-o", out).status == 0
    words = [out, "--inputs", url, "-o", tmp_path / "applied"] if command == "apply" else [out, url]
    same = run(command, *words)
    assert same.status == 0, same.err
    assert "not read" not in same.out
    server.files[NAME], server.modified = changed(server.files[NAME]), "Mon, 02 Mar 2026 11:00:00 GMT"
    refused = run(command, *words, *(["--overwrite"] if command == "apply" else []))
    assert refused.status == 2
    assert has_parts(refused.err, url, "changed since")


@pytest.mark.parametrize("server", TOLD, indirect=True)
def test_a_journal_is_of_one_version(server: FileServer, tmp_path: Path) -> None:
    def journal() -> None:
        documents = open_files([f"{server.url}/{NAME}"])
        chosen = Chosen("text", None, (), False)
        open_journal(tmp_path / "out", "dedup", Settings(), chosen, {"input": documents}, None, None).close()

    journal()
    journal()
    server.files[NAME], server.modified = changed(server.files[NAME]), "Mon, 02 Mar 2026 11:00:00 GMT"
    with pytest.raises(nd.InputError, match=NAME):
        journal()


def test_a_part_is_merged_with_the_version_that_was_fingerprinted(
    server: FileServer, run: Run, tmp_path: Path
) -> None:
    key, part = tmp_path / "key", tmp_path / "part"
    assert run("fingerprint", "--new-key", key).status == 0
    assert run("fingerprint", f"{server.url}/{NAME}", "-o", part, "--key", key).status == 0
    assert run("merge", part, "-o", tmp_path / "out", "--key", key).status == 0
    server.files[NAME] = changed(server.files[NAME])
    refused = run("merge", part, "-o", tmp_path / "other", "--key", key)
    assert refused.status == 2
    assert has_parts(refused.err, f"{server.url}/{NAME}", "has changed since")


def test_a_run_as_a_process_ends_when_its_file_is_replaced(server: FileServer, tmp_path: Path) -> None:
    """Rows of 8 MB in a file that is replaced at the third request for a part of it."""
    rows = [{"id": str(number), "text": f"word{number} " * 1000} for number in range(800)]
    server.files[NAME] = jsonl(rows)
    later, parts = changed(server.files[NAME]), server.ranged

    def ranged(first: int, last: int, size: int) -> str:
        if server.requests == 2:
            server.files[NAME] = later
        return parts(first, last, size)

    server.ranged = ranged
    words = [sys.executable, "-c", "from neardup.cli import main; main()", "dedup", f"{server.url}/{NAME}"]
    done = subprocess.run([*words, "-o", tmp_path / "out"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert has_parts(done.stderr, f"{server.url}/{NAME}", "changed while", "ETag", "ETag")
    assert not (tmp_path / "out").exists()


def test_a_missing_result_in_a_store_is_named_by_its_url(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", storage_servers.s3())
    for name, value in storage_servers.S3_KEYS.items():
        monkeypatch.setenv(name, value)
    for command in (["verify"], ["report", "-o", "page.html"]):
        missing = run(command[0], "s3://nobucket/out", *command[1:])
        assert missing.status == 2
        assert has_parts(missing.err, "There is no s3://nobucket/out")
        assert not re.search(r"fetched|/tmp", missing.err)
