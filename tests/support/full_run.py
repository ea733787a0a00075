"""How much runs: a part of the tests (``scripts/test``), all (``--all``), every case of them (``--full``)."""

import os

NAME = "NEARDUP_FULL"
FULL = NAME in os.environ
"""Whether every case runs, and not a part of the examples and grids."""
SHORT = "NEARDUP_SHORT" in os.environ and not FULL
"""Whether grids are coarser, fewer examples are drawn, and no real set is read."""
EXAMPLES = 15
"""Examples of a test in the short run."""
COARSER = 4
"""A short run takes one case in COARSER of those that an ordinary run takes of a grid."""
