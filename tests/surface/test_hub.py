"""Data sets at ``hf://``, as ``huggingface_hub`` reads them from a stand-in of the hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("huggingface_hub", reason="the extra hf is not installed")

from support.command_line import ROWS, run_json
from support.hub_server import hub
from support.messages import has_parts

COMMAND = [sys.executable, "-c", "from neardup.cli import main; main()"]
LETTERS = "hf://datasets/ann/letters"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(ROWS[:2]), sink)
    lines = "".join(json.dumps(row) + "\n" for row in ROWS[2:])
    files = {
        "data/train.parquet": bytes(sink.getvalue()),
        "data/more/test.jsonl": lines.encode(),
        "README.md": b"# Letters",
    }
    with hub("ann/letters", files) as (url, sent):
        monkeypatch.setenv("HF_ENDPOINT", url)
        yield sent


def dedup(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    given = [*COMMAND, "dedup", *words, "-o", str(tmp_path / "out")]
    return subprocess.run(given, capture_output=True, text=True, env=os.environ, timeout=300)


@pytest.mark.parametrize(
    ("name", "count"), [("", 4), ("/data", 4), ("/data/*.parquet", 2), ("/data/more/test.jsonl", 2)]
)
def test_data_sets_are_read(name: str, count: int, sent: dict[str, int], tmp_path: Path) -> None:
    done = dedup(tmp_path, LETTERS + name)
    assert done.returncode == 0, done.stderr
    account = run_json(tmp_path / "out")
    assert account["counts"]["read"] == count
    assert sent["README.md"] == 0


@pytest.mark.parametrize("name", [f"{LETTERS}/none.parquet", "hf://datasets/ann/none/a.parquet"])
def test_what_is_missing_is_named(name: str, sent: dict[str, int], tmp_path: Path) -> None:
    done = dedup(tmp_path, name)
    assert done.returncode == 2
    assert has_parts(done.stderr, "There is no hf://datasets/ann/", name.rpartition("/")[2])
