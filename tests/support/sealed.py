"""A result folder that somebody has changed, together with its manifest: only what is in it can give it away."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from neardup.io.readers.manifest import MANIFEST, manifest_of
from neardup.tables import FORMAT_VERSION


def seal(folder: Path) -> None:
    """Write the manifest anew, for the files as they are now."""
    (folder / MANIFEST).unlink(missing_ok=True)
    digested = {path.name for path in folder.iterdir() if not path.name.startswith("kept")}
    (folder / MANIFEST).write_bytes(manifest_of(folder, digested, (version("neardup"), FORMAT_VERSION)))
