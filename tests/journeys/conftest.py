"""Journeys are of systems with a shell as the pages show it, where packages can be installed."""

from __future__ import annotations

import sys
from pathlib import Path

collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py")] if sys.platform == "win32" else []
