"""``--memory`` on the command line: sizes with units, and a working folder without room."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import neardup as nd

TOO_LITTLE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
from neardup.cli import main
main()
"""


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """4,000 short documents, a third of them with a near copy."""
    choose = random.Random(3)
    path = tmp_path / "documents.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number in range(4000):
            words = [f"w{choose.randrange(5000)}" for _ in range(12)]
            lines.write(json.dumps({"id": number, "text": " ".join(words)}) + "\n")
    return path


def test_a_full_disk_leaves_inputs_and_earlier_outputs_alone(documents: Path, tmp_path: Path) -> None:
    """Every file may take 30 kB: less than the keys of a band."""
    pytest.importorskip("resource")
    earlier = tmp_path / "out"
    nd.find(["one text of six words here", "two"]).save(earlier)
    before = {path: path.read_bytes() for path in (documents, *earlier.iterdir())}
    given = ["dedup", str(documents), "-o", str(earlier), "--overwrite", "--method", "lsh", "--memory", "500 MB"]
    done = subprocess.run([sys.executable, "-c", TOO_LITTLE, *given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"\nerror: Cannot write working files in {tmp_path}" in done.stderr  # below the prediction
    assert "raise --memory" in done.stderr
    assert {path: path.read_bytes() for path in (documents, *earlier.iterdir())} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["documents.jsonl", "out"]
