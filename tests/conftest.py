"""Compiled kernels are cached per state of the sources: Numba notices a changed file, not a changed callee."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

KERNELS = Path(__file__).parents[1] / "src" / "neardup" / "kernels"

_digest = hashlib.sha256()
for _source in sorted(KERNELS.glob("*.py")):
    _digest.update(_source.read_bytes())
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"neardup-kernels-{_digest.hexdigest()[:16]}")
)
