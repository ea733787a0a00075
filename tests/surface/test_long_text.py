"""The memory that one long text takes, by characters: a small multiple of its bytes."""

from __future__ import annotations

import subprocess
import sys

import pytest

LETTERS = 8_000_000
MEASURED = """
import sys
import numpy as np
import pyarrow as pa
import neardup
from neardup.runtime import peak_memory

letters, method = int(sys.argv[1]), sys.argv[2]
def run(size):
    drawn = np.random.default_rng(5).integers(97, 123, size, np.uint8)
    text = pa.array([drawn.tobytes()], pa.binary()).cast(pa.large_string())
    found = neardup.find(pa.table({"text": text}), unit="char", method=method, threads=1)
    assert found.run.counts.read == 1
run(1000)
before = peak_memory()
run(letters)
print((peak_memory() - before) / letters)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="peaks are measured on Linux and macOS")
@pytest.mark.parametrize(("method", "most"), [("lsh", 16), ("exact", 36)])
def test_a_long_text_takes_a_small_multiple_of_its_bytes(method: str, most: int) -> None:
    """Signatures and keys are made in blocks: measured 8 bytes a character, and 24 with shingle sets.

    Arrays of the whole length for all hashes took 40 and 48.
    """
    given = [sys.executable, "-c", MEASURED, str(LETTERS), method]
    done = subprocess.run(given, capture_output=True, text=True, timeout=300, check=True)
    assert float(done.stdout) < most
