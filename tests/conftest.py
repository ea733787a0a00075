"""A short run leaves out files and cases of large grids; all tests draw the same examples under one key."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from support.drawn_examples import choose_examples, pytest_runtest_setup  # noqa: F401 - a hook
from support.environments import make_folder, remove_folder
from support.full_run import COARSER, FULL, SHORT
from support.real_sets import only_real
from support.short_run import explanation, imported_in_short_run, short_of

# One key for all tests, so that what fails fails again; tests/laws/test_key_laws.py tries others.
os.environ.setdefault("NEARDUP_KEY", "6b" * 32)

choose_examples()


def pytest_collection_finish() -> None:
    """Objects that stay to the end are not visited by each garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of large grids."""
    if not hasattr(config, "workerinput"):
        make_folder()
    config.addinivalue_line("markers", "part(n): one case in n of a grid runs, and all with scripts/test --full")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Import no test file that a short run leaves out: its packages may not be installed."""
    return (SHORT and collection_path.suffix == ".py" and not imported_in_short_run(collection_path)) or None


def pytest_report_header() -> str | None:
    """Name the files that the short run leaves out."""
    return explanation() if SHORT else None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what all processes of a run share."""
    if not hasattr(config, "workerinput"):
        remove_folder()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of large grids, slow tests in a short run, and with ``--real`` the tests of other things."""
    named = any("::" in asked for asked in config.args)
    of_size = items if named or not SHORT else short_of(items)
    chosen = {id(item) for item in only_real(of_size if FULL or (named and not SHORT) else _in_part(of_size))}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]


def _in_part(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of an ordinary run. Along the diagonals of a grid each value of each parameter stays."""
    values: dict[tuple[str, str], list[str]] = {}
    marks = [(item, item.get_closest_marker("part")) for item in items]
    coarser = COARSER if SHORT else 1
    return [item for item, mark in marks if mark is None or _place(item, values) % (mark.args[0] * coarser) == 0]


def _place(item: pytest.Item, values: dict[tuple[str, str], list[str]]) -> int:
    """Return the sum of the places of a case along the axes of its grid; ``values`` has those seen so far."""
    place = 0
    for name, value in item.callspec.params.items():  # type: ignore[attr-defined]
        axis = values.setdefault((item.nodeid.partition("[")[0], name), [])
        if repr(value) not in axis:
            axis.append(repr(value))
        place += axis.index(repr(value))
    return place
