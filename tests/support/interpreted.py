"""A plugin of pytest for kernels that are interpreted: a test that takes too long in plain Python is skipped.

``scripts/test --interpreted`` uses it. The lines that a test ran before that count as covered.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

SECONDS = float(os.environ.get("NEARDUP_INTERPRETED_SECONDS", "5"))
"""Processor time of a test; a variable names another limit."""
_WHY = f"takes longer than {SECONDS:g} s without compiled kernels"


_late: list[bool] = []


def _too_long(_: int, frame: FrameType | None) -> None:
    while frame is not None:
        # coverage may hold its lock, and would wait for it forever; the clock ticks again
        if "coverage" in Path(frame.f_code.co_filename).parts[-2:-1]:
            return
        if frame.f_code.co_name == "pytest_runtest_call":
            break
        frame = frame.f_back
    _late.append(True)
    pytest.skip(_WHY)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Interrupt the test after its time, where the system has such a clock.

    The interruption may come while Hypothesis draws, which makes another error of it, or in a callback that
    swallows it; so it is repeated, and any error behind it is a skip.
    """
    if not hasattr(signal, "setitimer"):
        return (yield)
    _late.clear()
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1.0)
    try:
        return (yield)
    except Exception:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if _late:
            pytest.skip(_WHY)
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
