"""``neardup passages --memory``: the peak of the process, and the same bytes as without a limit."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "neardup", *sys.argv[1:]], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small process in between: the peak of a child begins with the memory of the process that starts it."""


def peak(*given: str) -> int:
    """The largest resident size in MB of ``passages``."""
    typed = [sys.executable, "-c", PEAK, "passages", *given, "--threads", "2"]
    done = subprocess.run(typed, stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout) * (1 if sys.platform == "darwin" else 1024) // 1_000_000


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 MB: 32,000 documents of eight paragraphs, half of them from a pool of 20,000."""
    draw = random.Random(5)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(3, 12))) for _ in range(60_000)]
    pool = [" ".join(draw.choices(words, k=120)) for _ in range(20_000)]
    path = tmp_path_factory.mktemp("passages") / "texts.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number in range(32_000):
            own = draw.choices(words, k=480)
            parts = [" ".join(own[k : k + 120]) + "\n" + draw.choice(pool) for k in range(0, 480, 120)]
            lines.write(json.dumps({"id": f"d{number}", "text": "\n".join(parts)}) + "\n")
    return path


def test_a_limit_holds_and_changes_no_byte(texts: Path, tmp_path: Path) -> None:
    """Within a half of the limit; without one the same run takes more.

    Pages of libraries in memory count as well, 140 to 240 MB of them on the same machine.
    """
    pytest.importorskip("resource", reason="this system does not report the memory of a child")
    limit = 400
    free = peak(str(texts), "-o", str(tmp_path / "free"))
    taken = peak(str(texts), "-o", str(tmp_path / "limited"), "--memory", f"{limit}MB")
    assert taken < min(1.5 * limit, 0.9 * free)
    for name in ("passages.parquet", "places.parquet", "boilerplate.jsonl"):
        assert (tmp_path / "free" / name).read_bytes() == (tmp_path / "limited" / name).read_bytes()
