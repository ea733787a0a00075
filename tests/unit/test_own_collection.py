"""The collections in ``tests/data`` are those of their script, and have what the laws over real sets look for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support import make_own_collection, shared_data
from support.paths import ROOT

OWN = pytest.mark.parametrize("name", shared_data.OWN)


@OWN
def test_the_script_writes_the_same_bytes_again(name: str) -> None:
    assert make_own_collection.content(name) == (shared_data.folder(name) / "documents.jsonl").read_bytes()


def test_the_bytes_do_not_depend_on_the_order_of_sets() -> None:
    script = "import sys; from support import make_own_collection as m; sys.stdout.buffer.write(m.content('own'))"
    made = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        check=True,
    ).stdout
    assert made == (shared_data.folder("own") / "documents.jsonl").read_bytes()


def test_together_they_have_less_than_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in Path(ROOT / "tests" / "data").rglob("*")) < 1_000_000


def test_own_has_every_kind_of_document() -> None:
    kinds = Counter(id.split("/")[0] for id in shared_data.documents("own"))
    assert kinds.keys() == {"revision", "form", "mail", "scan", "copy", "short", "long"}
    assert min(kinds.values()) >= 6


def test_pairs_of_own_are_spread_over_families_and_resemblances() -> None:
    """The statistics of LSH count one pair a family as one trial."""
    for low in range(50, 95, 5):
        assert len(shared_data.pairs_by_family("own", low / 100, low / 100 + 0.05)) >= 13, low
    assert len(shared_data.pairs_by_family("own", 0.8, 1.1)) >= 100
    assert max(Counter(shared_data.families("own")).values()) < 20, "unrelated texts are not alike"
    assert sum(first != k for k, first in enumerate(shared_data.firsts("own"))) >= 12


def test_the_absence_of_a_real_set_skips_a_test_and_that_of_ours_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_SHARED_DATA", "/nowhere")
    assert shared_data.here(shared_data.WORD_SETS) == ("own",)
    assert shared_data.here(shared_data.CHAR_SETS) == ("own_scripts",)
    with pytest.raises(pytest.skip.Exception):
        shared_data.folder("law_de")
