"""The decisions in a result folder, read for another run."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.io.decisions.store import DecisionStore
from neardup.run.decided import Reviewed
from neardup.run.stored import read_result
from neardup.tables import DECISIONS_FILE


def reviewed(folder: str | Path) -> Reviewed:
    """Read the decisions in a result folder.

    Raises InputError for a folder that is not a result or holds no decisions, FormatError for damaged decisions.
    """
    ranks = read_result(Path(folder)).tables["ranks"]
    with DecisionStore(Path(folder), read_only=True) as store:
        state = store.state()
    if not state.number:
        raise InputError(
            f"{folder} holds no decisions",
            f"A result folder with {DECISIONS_FILE}",
            f"Decide with neardup review {folder} first",
        )
    new = ranks.filter(pc.invert(ranks["reference"]))
    sizes = dict(zip(new["id"].to_pylist(), new["bytes"].to_pylist(), strict=True))
    return Reviewed(str(folder), state, sizes)
