"""A result whose audit found a missed pair is read by all that reads results, and people can look at the pair.

The documents of that pair are in no other pair: that is what an audit is for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.review.desk.desk import Desk
from neardup.review.source import Decide
from support.command_line import Run, write_rows
from support.made_reviews import key

BASE = "the ship sails to the south when winter storms come over the grey sea and the old harbour falls silent"
PLAN = "an entirely different text that speaks of budgets and of plans for the coming year of work in the north"
TEXTS = {
    "harbour": f"{BASE} for months",
    "harbour-late": f"{BASE} until spring comes back",
    "plan": PLAN,
    "plan-copy": PLAN,
    "alone": "nothing else resembles this sentence about a red moon above quiet fields",
}
MISSED = ("harbour", "harbour-late")
WEAK: dict[str, Any] = {"threshold": 0.5, "sketch": "simhash", "distance": 0, "audit": 100}
"""Only equal fingerprints are proposed, so that the pair of the harbour is missed; the audit compares all."""

MORE: dict[str, dict[str, Any]] = {
    "nothing more": {},
    "kinds": {"kinds": True},
    "counts": {"count": True, "sources": "site"},
    "base text": {"ignore_common": 0.9},
    "another measure": {"measure": "vocabulary"},
    "across": {"across": "site"},
    "memory limit": {"memory": "2 GB"},
}


def written(folder: Path, texts: dict[str, str] = TEXTS) -> Path:
    rows = [{"id": id, "text": text, "site": f"{len(id)} letters"} for id, text in texts.items()]
    return write_rows(folder / "documents.jsonl", rows)


@pytest.mark.parametrize("more", MORE)
def test_the_documents_of_a_missed_pair_are_in_the_table_of_ranks(tmp_path: Path, more: str) -> None:
    found = nd.find(written(tmp_path), id="id", **{**WEAK, **MORE[more]})
    found.save(tmp_path / "out")
    loaded = nd.load(tmp_path / "out")
    assert loaded.missed is not None
    ends = set(zip(loaded.missed["id_a"].to_pylist(), loaded.missed["id_b"].to_pylist(), strict=True))
    assert ends == {MISSED}
    ids = loaded.ranks["id"].to_pylist()
    assert set(ids) == {"plan", "plan-copy", *MISSED}
    assert pq.read_table(tmp_path / "out" / "located.parquet").num_rows == len(ids)
    assert loaded.groups["id"].to_pylist() == ["plan", "plan-copy"]
    stricter = loaded.at(0.9)
    assert stricter.groups["id"].to_pylist() == ["plan", "plan-copy"]
    assert stricter.ranks["id"].to_pylist() == ["plan", "plan-copy"]


def test_a_missed_pair_may_have_an_end_in_the_reference_set(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = written(tmp_path / "old", {"harbour": TEXTS["harbour"], "plan": PLAN})
    new = written(tmp_path, {"harbour": TEXTS["harbour-late"], "plan-copy": PLAN})
    found = nd.find(new, id="id", against=old, **WEAK)
    found.save(tmp_path / "out")
    loaded = nd.load(tmp_path / "out")
    assert loaded.missed is not None
    assert loaded.missed.select(["id_a", "id_b", "a_in_reference"]).to_pylist() == [
        {"id_a": "harbour", "id_b": "harbour", "a_in_reference": True}
    ]
    desk = Desk.open(tmp_path / "out")
    (line,) = desk.queue("missed").lines
    assert line.a != line.b
    assert desk.pair(line.a, line.b).comparison.alignment.text_a == TEXTS["harbour"]
    desk.close()


def test_every_command_that_reads_a_result_reads_one_with_a_missed_pair(run: Run, tmp_path: Path) -> None:
    source, out = written(tmp_path), tmp_path / "out"
    weak = ("--sketch", "simhash:64,0", "--threshold", 0.5, "--audit", 100)
    assert run("dedup", source, "-o", out, "--id", "id", *weak).status == 0
    assert "in no group" in run("show", out, "harbour").out
    assert run("report", out, "-o", tmp_path / "page.html", "--pairs", 10).status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "harbour-late" in page
    assert "sails to the south" in page
    assert run("export", out, "-o", tmp_path / "groups.csv").status == 0
    assert run("regroup", out, "--threshold", 0.9, "-o", tmp_path / "stricter").status == 0

    desk = Desk.open(out)
    (line,) = desk.queue("missed").lines
    assert (line.a_id, line.b_id) == MISSED
    seen = desk.pair(line.a, line.b)
    assert (seen.comparison.alignment.text_a, seen.comparison.alignment.text_b) == tuple(
        TEXTS[id] for id in MISSED
    )
    desk.decide(Decide("pair", "duplicate", "Ann", 0, pair=(key(desk, MISSED[0]), key(desk, MISSED[1]))))
    desk.close()

    final = run("apply", out, "-o", tmp_path / "final")
    assert final.status == 0, final.err
    groups = nd.load(tmp_path / "final").groups
    together = {row["id"]: row["group"] for row in groups.to_pylist() if row["id"] in MISSED}
    assert len(set(together.values())) == 1
    assert set(together) == set(MISSED)
    kept = [json.loads(line)["id"] for line in (tmp_path / "final" / "kept.jsonl").read_bytes().splitlines()]
    assert len(set(kept) & set(MISSED)) == 1
