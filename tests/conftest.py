"""Compiled kernels are cached per state of the sources: Numba notices a changed file, not a changed callee."""

from __future__ import annotations

import gc
import hashlib
import os
import tempfile
from pathlib import Path

from drawn_examples import choose_examples, pytest_runtest_setup  # noqa: F401 - a hook

KERNELS = Path(__file__).parents[1] / "src" / "neardup" / "kernels"

_digest = hashlib.sha256()
for _source in sorted(KERNELS.glob("*.py")):
    _digest.update(_source.read_bytes())
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"neardup-kernels-{_digest.hexdigest()[:16]}")
)

# One key for all tests, so that what fails fails again; tests/laws/test_key_laws.py tries others.
os.environ.setdefault("NEARDUP_KEY", "6b" * 32)

if "PYTEST_XDIST_WORKER" in os.environ:
    from compiled_once import compile_each_kernel_in_one_process

    compile_each_kernel_in_one_process()

choose_examples()


def pytest_collection_finish() -> None:
    """What stays to the end is not looked through each time that garbage is collected."""
    gc.collect()
    gc.freeze()
