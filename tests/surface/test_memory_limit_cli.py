"""``--memory`` on the command line: sizes with units, and a working folder without room."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import pytest

import neardup as nd
from neardup.deduplication.run.show import summary
from neardup.display import size
from neardup.settings.records import PROCESS
from support.messages import has_parts

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
    assert has_parts(done.stderr, "\nerror: Cannot write", f"files in {tmp_path}")  # below the prediction
    assert "raise --memory" in done.stderr
    assert {path: path.read_bytes() for path in (documents, *earlier.iterdir())} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["documents.jsonl", "out"]


@pytest.fixture(scope="module")
def prose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16,000 documents of 150 words with the frequencies of prose, one in five a near copy."""
    choose = random.Random(5)
    words = [
        "".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randrange(3, 10))) for _ in range(30_000)
    ]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    earlier: list[list[str]] = []
    path = tmp_path_factory.mktemp("limit") / "prose.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number in range(16_000):
            if earlier and choose.random() < 0.2:
                text = [*choose.choice(earlier)]
                for place in choose.sample(range(len(text)), 3):
                    text[place] = choose.choice(words)
            else:
                text = choose.choices(words, cum_weights=weights, k=150)
            earlier.append(text)
            lines.write(json.dumps({"id": number, "text": " ".join(text)}) + "\n")
    return path


PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "neardup", *sys.argv[1:]], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small process in between: the peak of a child begins with the memory of the process that starts it."""


def peak(texts: Path, out: Path, *options: str) -> int:
    """The largest resident size in MB of a ``dedup`` by characters."""
    given = ["dedup", str(texts), "-o", str(out), "--unit", "char", *options]
    done = subprocess.run([sys.executable, "-c", PEAK, *given], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout) * (1 if sys.platform == "darwin" else 1024) // 1_000_000


@pytest.mark.parametrize("options", [[], ["--method", "lsh"]])
def test_the_stated_memory_is_about_the_peak_that_the_system_reports(
    documents: Path, tmp_path: Path, options: list[str]
) -> None:
    """What is written after the statement may take a little more: it says *about*, and names no bound."""
    taken = peak(documents, tmp_path / "out", *options)
    run = nd.load(tmp_path / "out").run
    assert 0.99 * run.peak_memory_bytes / 1e6 - 1 <= taken <= 1.15 * run.peak_memory_bytes / 1e6
    assert dict(summary(run))["memory"] == f"about {size(run.peak_memory_bytes)} (this process)"


def test_a_run_keeps_within_a_quarter_of_its_limit(prose: Path, tmp_path: Path) -> None:
    """Without a limit the same run takes far more, so it is the limit that holds.

    How many pages of the libraries are resident depends on the file cache of the system, by up to 70 MB. So a
    process that reads ten texts is measured, too, and the difference is held against what the limit leaves.
    """
    pytest.importorskip("resource", reason="this system does not report the memory of a child")
    few = tmp_path / "few.jsonl"
    few.write_text("".join(prose.read_text("utf-8").splitlines(keepends=True)[:10]), "utf-8")
    limit = 400
    most = round(1.25 * limit) - PROCESS // 1_000_000
    over = {}
    for number, chosen in enumerate(("", "--method exact", "--ignore-common .02", "--audit 100")):
        options = ("--memory", f"{limit}MB", *chosen.split())
        process = peak(few, tmp_path / f"few{number}", *options)
        taken = peak(prose, tmp_path / f"out{number}", *options) - process
        if taken > most or process > 1.5 * PROCESS / 1_000_000:
            over[chosen] = (process, taken)
    assert not over
    assert peak(prose, tmp_path / "free", "--method", "exact") - process > most
