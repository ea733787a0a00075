"""Kernels compiled for a test are kept for the next run, in a folder for each state of the kernels."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

# of one user, for whoever runs the tests as another one could not write to it
_user = os.getuid() if hasattr(os, "getuid") else 0
os.environ.setdefault("NEARDUP_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"neardup-tests-{_user}"))

# The first example compiles, and others compute on the same machine: no test is wrong because it took long.
settings.register_profile("neardup", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("neardup")


def pytest_collection_finish() -> None:
    """What stays to the end is not looked through each time that garbage is collected."""
    gc.collect()
    gc.freeze()
