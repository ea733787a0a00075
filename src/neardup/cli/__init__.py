"""The command line: parses, calls the library, shows. It holds no algorithm."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command ``neardup`` and exit with its status."""
    try:
        from neardup.cli.app import app
    except KeyboardInterrupt:  # the imports take long enough for a person to change their mind
        sys.exit(130)
    except (ImportError, MemoryError, OSError) as error:
        if not _is_of_memory(error):
            raise
        sys.stderr.write("error: There is not enough memory to load neardup\n       Allow it more (ulimit -v)\n")
        sys.exit(2)
    app(prog_name="neardup")


def _is_of_memory(error: BaseException) -> bool:
    """As runtime.py says, of which perhaps not even that much could be loaded."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "failed to map" in said or "cannot allocate" in said
