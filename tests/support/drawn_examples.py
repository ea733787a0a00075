"""Which examples Hypothesis draws: the same every time; new ones for ``scripts/explore`` until time is over."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

from support.full_run import EXAMPLES, FULL, SHORT

UNTIL = "NEARDUP_EXPLORE_UNTIL"
"""Variable: the time (seconds since the epoch) until which new examples are drawn."""
MOST = EXAMPLES if SHORT else 100
"""Examples of a test, at most, unless every case runs."""
SETTINGS = "_hypothesis_internal_use_settings"
"""The attribute of a test in which Hypothesis keeps its settings."""
FAILED = "NEARDUP_EXPLORE_EXAMPLES"
"""Variable: the folder of the examples that failed, which are tried first the next time."""


def choose_examples() -> None:
    """Load the profile of Hypothesis; no test may set ``derandomize`` or ``database`` on its own."""
    # The first example compiles, and others compute on the same machine: no test is wrong because it took long.
    common = settings(settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    if UNTIL in os.environ:
        failed = DirectoryBasedExampleDatabase(os.environ[FAILED])
        settings.register_profile("explore", common, derandomize=False, database=failed, print_blob=True)
        settings.load_profile("explore")
        return
    # the same ones each time find nothing new; scripts/explore draws twice as many new ones in each round
    settings.register_profile(
        "same", common, derandomize=True, database=None, max_examples=EXAMPLES if SHORT else 50
    )
    settings.load_profile("same")
    # Hypothesis mixes in the constants of all our modules that are imported so far. Which these are depends on the
    # tests that ran before in the same process, and so would the examples.
    nothing = providers._local_constants
    providers._get_local_constants = lambda: nothing


def limit_examples(items: Iterable[pytest.Item]) -> None:
    """Draw at most MOST examples for a test; all that it asks for with ``--full`` and in ``scripts/explore``."""
    if FULL or UNTIL in os.environ:
        return
    for item in items:
        test = getattr(item, "obj", None)
        asked = getattr(test, SETTINGS, None)
        if asked is not None and asked.max_examples > MOST:
            setattr(getattr(test, "__func__", test), SETTINGS, settings(asked, max_examples=MOST))


def pytest_runtest_setup() -> None:
    """Leave out what is to run after the time is over."""
    if UNTIL in os.environ and time.time() > float(os.environ[UNTIL]):
        pytest.skip("the time is over")
