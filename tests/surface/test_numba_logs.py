"""A program that logs everything is not flooded by Numba, unless it asks for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

LEVELS = """
import logging
logging.basicConfig(level=logging.DEBUG)
{before}
import neardup.kernels.shingles
{after}
names = "numba.core.ssa", "numba.core.byteflow", "x"
print(*(logging.getLogger(name).isEnabledFor(logging.DEBUG) for name in names))
"""
ASKED = 'logging.getLogger("numba").setLevel(logging.DEBUG)'
PART = 'logging.getLogger("numba.core.ssa").setLevel(logging.DEBUG)'


@pytest.mark.parametrize(
    ("before", "after", "levels"),
    [
        ("", "", "False False True"),
        (ASKED, "", "True True True"),
        ("", ASKED, "True True True"),
        (PART, "", "True False True"),
    ],
)
def test_numba_is_quiet_at_debug_unless_it_was_asked(before: str, after: str, levels: str) -> None:
    script = LEVELS.format(before=before, after=after)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == levels.split()
    assert "numba" not in done.stderr.lower()
