"""pandas is hidden from commands that do not use it, which is all but those of the engine of Spark."""

from __future__ import annotations

import sys


class _WithoutPandas:
    """Hides pandas from Arrow, which imports it to convert its first value, if it is installed.

    Its import takes as long as reading hundreds of megabytes.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


def hide_pandas() -> None:
    """Let imports of pandas fail in this process."""
    sys.meta_path.insert(0, _WithoutPandas())


def show_pandas() -> None:
    """Undo :func:`hide_pandas`: PySpark requires pandas to make a table from an Arrow table."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _WithoutPandas)]
