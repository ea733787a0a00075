"""Kernels compiled for a test are kept for the next run, in a folder for each state of the kernels."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path

from support.drawn_examples import choose_examples, pytest_runtest_setup  # noqa: F401 - a hook

# of one user, for whoever runs the tests as another one could not write to it
_user = os.getuid() if hasattr(os, "getuid") else 0
os.environ.setdefault("NEARDUP_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"neardup-tests-{_user}"))

# One key for all tests, so that what fails fails again; tests/laws/test_key_laws.py tries others.
os.environ.setdefault("NEARDUP_KEY", "6b" * 32)

choose_examples()


def pytest_collection_finish() -> None:
    """What stays to the end is not looked through each time that garbage is collected."""
    gc.collect()
    gc.freeze()
