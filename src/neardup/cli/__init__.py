"""The command line: parses, calls the library, shows. It holds no algorithm."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command ``neardup`` and exit with its status."""
    try:
        from neardup.cli.app import app
    except KeyboardInterrupt:  # the imports take long enough for a person to change their mind
        sys.exit(130)
    app(prog_name="neardup")
