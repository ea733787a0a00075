"""Which examples Hypothesis draws: the same every time; new ones for ``scripts/explore`` until time is over."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

from support.full_run import EXAMPLES, FULL, SHORT

UNTIL = "NEARDUP_EXPLORE_UNTIL"
"""Variable: the time (seconds since the epoch) until which new examples are drawn."""
FAILED = "NEARDUP_EXPLORE_EXAMPLES"
"""Variable: the folder of the examples that failed, which are tried first the next time."""
MOST = EXAMPLES if SHORT else 400 if FULL else 50
"""Examples of a test; a test whose examples are slow sets a smaller number."""


def choose_examples() -> None:
    """Load the profile of Hypothesis; no test may set ``derandomize`` or ``database`` on its own."""
    # The first example compiles, and others compute on the same machine: no test is wrong because it took long.
    common = settings(settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    if UNTIL in os.environ:
        failed = DirectoryBasedExampleDatabase(os.environ[FAILED])
        settings.register_profile(
            "explore", common, derandomize=False, database=failed, print_blob=True, max_examples=200
        )
        settings.load_profile("explore")
        return
    # the same ones each time find nothing new; scripts/explore draws four times as many new ones in each round
    settings.register_profile("same", common, derandomize=True, database=None, max_examples=MOST)
    settings.load_profile("same")
    leave_out_constants()


def leave_out_constants() -> None:
    """Keep the constants of our modules out of the examples.

    Hypothesis mixes in the constants of all our modules that are imported so far. Which these are depends on the
    tests that ran before in the same process, and so would the examples. No setting turns that off, a backend of
    our own is not asked where examples are varied, and to read all modules first takes ten seconds in each
    process. So no module counts as ours. In a version that decides this elsewhere, the examples depend on the
    imports again, and are valid all the same; tests/unit/test_drawn_examples.py tells.
    """
    vars(providers)["is_local_module_file"] = lambda path: False


def pytest_runtest_setup() -> None:
    """Leave out the tests after the time is over."""
    if UNTIL in os.environ and time.time() > float(os.environ[UNTIL]):
        pytest.skip("the time is over")
