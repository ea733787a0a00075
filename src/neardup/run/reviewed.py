"""The decisions in a result folder: read for another run, and applied to the result itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.errors import InputError
from neardup.group.decide import Decisions, decide_at, settle
from neardup.group.lost import standing, with_lost
from neardup.io.decisions.records import DecisionState
from neardup.io.decisions.store import DecisionStore
from neardup.join.criterion import criterion_of
from neardup.measures import MEASURES
from neardup.run.account import decided as counts_of_decisions
from neardup.run.decided import Applied, Reviewed, alike_by, applied, leaders_at, settled
from neardup.run.decided_reasons import with_decided
from neardup.run.lost import COLUMNS, lost_counts, with_lost_columns
from neardup.run.not_judged import bytes_removed
from neardup.run.records import ResultRecord
from neardup.run.regroup import Regrouped, StoredRows, document_pairs, stored_rows
from neardup.run.represented import COUNTED, SOURCES, represented
from neardup.run.stored import read_result
from neardup.run.tables import group_table
from neardup.settings import Settings
from neardup.settings.rules import KEEP_NONE
from neardup.tables import DECISIONS_FILE, Bools, Int64s, column


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
