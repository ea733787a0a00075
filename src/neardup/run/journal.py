"""The identity of a run that may go on after it was killed: its version, settings and inputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from neardup.display import printable
from neardup.errors import InputError
from neardup.io.names import without_secrets
from neardup.io.readers.base import Documents
from neardup.io.readers.columns import Chosen, Reference
from neardup.io.readers.sources import Source, refuse_stdin, whole_digest
from neardup.io.writers.scratch import RunJournal, journal_of
from neardup.settings import Settings
from neardup.tables import FORMAT_VERSION
from neardup.text.keys import new_secret
from neardup.text.unicode import UNICODE_VERSION


def open_journal(
    out: Path,
    action: str,
    settings: Settings,
    columns: Chosen,
    inputs: Mapping[str, Documents | None],
    against: Reference | None,
    decisions: Path | None,
) -> RunJournal:
    """The journal of a run that writes ``out``: a new one, or that of the same run, killed earlier.

    Raises InputError if that run had other ``inputs``, settings, columns or another version, and names the
    difference.
    """
    if against is not None:
        inputs = {**inputs, "against": against.documents}
    asked = {name: value for name, value in settings.as_dict().items() if name != "threads"}
    about: dict[str, Any] = {
        "neardup_version": version("neardup"),
        "format": FORMAT_VERSION,
        "unicode": UNICODE_VERSION,
        "command": action,
        "setting": asked,
        "column": {"text": columns.text, "id": columns.id, **_of_reference(against)},
        "input": {name: _files(documents) for name, documents in inputs.items() if documents is not None},
        "decisions": {} if decisions is None else _described(sorted(decisions.iterdir())),
    }
    return RunJournal(journal_of(out), about, new_secret())


def _of_reference(against: Reference | None) -> dict[str, str | None]:
    return {} if against is None else {"against_text": against.columns.text, "against_id": against.columns.id}


def _files(documents: Documents) -> dict[str, Any]:
    sources: tuple[Source, ...] = getattr(documents, "sources", ())
    refuse_stdin(sources, "--resume goes on with documents")
    found = {without_secrets(source.path): {"size": source.size} for source in sources if source.file is None}
    files = dict.fromkeys(source.file for source in sources if source.file is not None)
    return {**found, **_described(map(Path, files))}


def _described(paths: Iterable[Path]) -> dict[str, Any]:
    """Size and digest of each whole file, whatever its time: a copied or touched file is the same one."""
    found: dict[str, Any] = {}
    for path in paths:
        try:
            state, content = os.stat(path), whole_digest(path).hex()
        except OSError as error:
            raise InputError(
                f"{printable(str(path))} cannot be identified: {error.strerror or error}",
                "With --resume, regular files",
                "Leave out --resume",
            ) from error
        found[os.path.abspath(path)] = {"size": state.st_size, "content": content}
    return found
