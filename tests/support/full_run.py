"""Whether every case runs (scripts/test --full), and not a part of what is drawn or laid out in a grid."""

import os

NAME = "NEARDUP_FULL"
FULL = NAME in os.environ
