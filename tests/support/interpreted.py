"""A plugin of pytest for kernels that are interpreted: a test that takes too long in plain Python is skipped.

``scripts/test --interpreted`` uses it. The lines that a test ran before that count as covered.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest

SECONDS = float(os.environ.get("NEARDUP_INTERPRETED_SECONDS", "5"))
"""Processor time of a test; a variable names another limit."""


def _too_long(*_: object) -> None:
    pytest.skip(f"takes longer than {SECONDS:g} s without compiled kernels")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Interrupt the test after its time, where the system has such a clock."""
    if not hasattr(signal, "setitimer"):
        return (yield)
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
