"""The command line: parses options, calls the library, and prints results. It contains no algorithm."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command ``neardup`` and exit with its status."""
    try:
        from neardup.cli.app import app
    except KeyboardInterrupt:  # the imports take long enough for an interrupt
        sys.exit(130)
    except (ImportError, MemoryError, OSError) as error:
        if not _is_of_memory(error):
            raise
        # the labels of errors.py, which perhaps cannot be imported
        sys.stderr.write("error: Not enough memory to load neardup\n       Try: Allow it more (ulimit -v)\n")
        sys.exit(2)
    app(prog_name="neardup")


def _is_of_memory(error: BaseException) -> bool:
    """The same test as in runtime.py, which may itself be impossible to load."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or "failed to map" in said or "cannot allocate" in said
