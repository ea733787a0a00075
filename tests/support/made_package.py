"""A package of somebody else, with entry points, on the import path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path

import pytest

from neardup.settings.extensions import entry_points_of
from neardup.text.tokenizers import tokenizer_of


@contextmanager
def installed_package(
    place: Path, name: str, module: str, points: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Install version 1.2 of a package of one module; what was found before is forgotten before and after."""
    about = place / f"{name}-1.2.dist-info"
    about.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.2\n"
    (about / "METADATA").write_text(metadata)
    (about / "entry_points.txt").write_text(points)
    (place / f"{name}.py").write_text(module)
    monkeypatch.syspath_prepend(str(place))
    invalidate_caches()
    _forget()
    yield
    _forget()
    sys.modules.pop(name, None)


def _forget() -> None:
    for cached in (entry_points_of, tokenizer_of):
        cached.cache_clear()
