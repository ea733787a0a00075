"""The counts of a run are those of its input; the reference set has counts of its own."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import structs

import neardup as nd
from neardup.deduplication.run.show import summary
from support.command_line import run_json
from support.messages import has_parts

WORDS = "alpha beta gamma delta epsilon zeta"


def rows(path: Path, lines: list[str]) -> Path:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("latin-1"))
    return path


def test_the_reference_set_is_counted_apart(tmp_path: Path) -> None:
    full = json.dumps({"id": "y", "text": WORDS})
    old = rows(
        tmp_path / "old.jsonl", ['{"id":"x","text":null}', full, '{"id":"z","text":"..."}', '{"id":"v"', ""]
    )
    new = rows(tmp_path / "new.jsonl", [json.dumps({"id": "a", "text": WORDS}), '{"id":"b","text":null}'])
    found = nd.find(new, text="text", id="id", against=old)
    counts, before = found.run.counts, found.run.counts_against
    assert before is not None
    assert [counts.read, counts.rejected, counts.null, counts.empty] == [2, 0, 1, 1]
    assert [before.read, before.rejected, before.null, before.empty] == [3, 1, 1, 2]
    assert len(found.problems) == 1
    said = dict(summary(found.run))
    assert said["documents"] == "2 read (1 without text, 1 without a word)"
    assert said["reference"].startswith("3 read (1 rejected, 1 without text")
    assert has_parts(said["recall"], "every pair", "1 row or file")
    assert has_parts(found.at(0.9).run.recall.statement, "every pair", "1 row or file")
    found.save(tmp_path / "out")
    stored = run_json(tmp_path / "out")
    assert stored["counts_against"] == structs.asdict(before)
    assert nd.find(new, text="text", id="id").run.counts_against is None


def test_stages_are_stored_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    found = nd.find([WORDS, f"{WORDS} eta"], threshold=0.5)
    found.save(tmp_path / "out")
    stages = [*run_json(tmp_path / "out")["seconds"]]
    assert stages[0] == "fingerprint"
    assert stages.index("group") < stages.index("tables")
    assert stages != sorted(stages)
    assert [*nd.load(tmp_path / "out").run.seconds] == stages
