"""The pages of a group and a pair show the fates that ``neardup apply`` would carry out, after every decision."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.deduplication.run.records import with_account
from neardup.deduplication.run.stored_review import as_reviewed
from neardup.io.decisions.records import Change, FateOf, Judgement, Represents
from neardup.io.decisions.store import DecisionStore
from neardup.review.desk.desk import Desk
from neardup.review.source import Decide, Question
from neardup.tables import OLD_LEADS
from support.made_reviews import key
from support.made_texts import Writer, edited
from support.messages import has_parts

OF_RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "components": {"groups": "components", "measure": "containment"},
    "little may be lost": {"lose": 0.2, "only_contained": 0.5},
    "whole families go": {"keep": "none"},
    "of two sites": {"across": "site"},
    "counted": {"count": True, "sources": "site"},
}


def rows(seed: int, families: int = 9) -> list[dict[str, str]]:
    writer, found = Writer(seed), []
    for family in range(families):
        words = writer.words(60)
        texts = [" ".join(words)] + [" ".join(edited(words, 0.6, writer)) for _ in range(family % 4)]
        found += [*texts, *texts[-1:] * (family % 3 == 1)]
    return [{"id": f"d{n}", "text": text, "site": "ab"[n % 2]} for n, text in enumerate(found)]


def changes(found: nd.Found, rng: random.Random) -> list[Change]:
    """Random decisions about some members of groups, and some that belong to none."""
    members = found.groups["id"].to_pylist()
    some = rng.sample(members, min(8, len(members)))
    made: list[Change] = [
        Judgement(a, b, rng.choice(["duplicate", "keep both", "not alike", "unsure"]))
        for a, b in zip(some[::2], some[1::2], strict=False)
    ]
    made += [FateOf(id, rng.choice(["keep", "remove"])) for id in rng.sample(members, 2)]
    member = rng.choice([row for row in found.groups.to_pylist() if not row["representative"]])
    return [*made, Represents(member["group"], member["id"]), Judgement(some[0], "unknown", "not alike")]


@pytest.mark.part(3)
@pytest.mark.parametrize("against", [False, True], ids=["", "against"])
@pytest.mark.parametrize("name", OF_RUNS)
def test_the_fates_are_those_of_the_whole_result_after_every_decision(
    tmp_path: Path, name: str, against: bool
) -> None:
    documents, rng = rows(len(name)), random.Random(7)
    old = documents[::4] if against else None  # the same ids: an id may name two documents
    found = nd.find(documents, id="id", against=old, threshold=0.4, **OF_RUNS[name])
    found.save(tmp_path / "out")
    with closing(Desk.open(tmp_path / "out")) as desk, DecisionStore(tmp_path / "out") as store:
        require_fates(desk, nd.load(tmp_path / "out").named)
        for _ in range(3):
            store.act(changes(found, rng), by="Ann", what="decided in a test")
            desk._refresh()
            require_fates(desk, as_reviewed(nd.load(tmp_path / "out").named))
        for _ in range(3):
            assert store.undo(by="Ann")
        desk._refresh()
        require_fates(desk, as_reviewed(nd.load(tmp_path / "out").named))


def require_fates(desk: Desk, expected: nd.Found) -> None:
    documents, after = desk._index.documents, {}
    for row in expected.groups.to_pylist():
        after.setdefault(row["id"], []).append(row)
    fates = desk._lines._fates
    for number in range(len(documents)):
        row, why = fates.of(number)
        candidates = after.get(documents.id(number), [])
        assert len(candidates) <= 1, "a name is that of one document"
        if row is None:
            assert not candidates
            assert "in no group" in why
        else:
            for one in (row, *candidates):  # of groups without a reference document the desk makes no such column
                one.pop(OLD_LEADS, None)
            assert [row] == candidates
            assert why == row["reason"]
    assert expected.groups.num_rows


def test_the_pages_of_a_group_and_a_pair_follow_a_decision(desk: Desk) -> None:
    fox, twelve = key(desk, "fox"), key(desk, "fox-12")
    assert not desk.pair(twelve, fox).a.kept
    desk.decide(Decide("pair", "keep both", "Ann", 0, pair=(twelve, fox)))
    pair = desk.pair(twelve, fox)
    assert (pair.a.kept, pair.a.lost, pair.verdict) == (True, "", "keep both")
    assert has_parts(pair.a.reason, "Ann", "keep both: fox")
    member = next(line for line in desk.group(fox).members if line.id == "fox-12")
    assert (member.kept, member.reason) == (True, pair.a.reason)
    assert not next(line for line in desk.group(fox).members if line.id == "fox-less").kept
    desk.decide(Decide("pair", "not alike", "Ann", 1, pair=(twelve, fox)))
    assert "no group" in desk.pair(twelve, fox).a.reason
    desk.undo("Ann")
    desk.undo("Ann")
    assert not desk.pair(twelve, fox).a.kept


def test_a_fate_that_the_run_did_not_write_is_worded_as_what_follows(tmp_path: Path) -> None:
    found = nd.find(rows(1), id="id", threshold=0.4, keep="first")
    row = next(row for row in found.groups.to_pylist() if not row["kept"])
    for action, before, after in (("dedup", "removed", "to keep"), ("group", "to remove", "to keep")):
        folder = tmp_path / action
        with_account(found, action=action).save(folder)
        with closing(Desk.open(folder)) as desk:
            member, head = key(desk, row["id"]), key(desk, row["group"])
            assert desk.pair(member, head).a.outcome == before
            desk.decide(Decide("pair", "keep both", "ann", 0, pair=(member, head)))
            assert desk.pair(member, head).a.outcome == after


def test_an_exact_copy_loses_no_text_in_words(tmp_path: Path) -> None:
    text = " ".join(Writer(3).words(60))
    nd.find([text, text, f"{text} today"], threshold=0.4, keep="longest").save(tmp_path / "out")
    with closing(Desk.open(tmp_path / "out")) as desk:
        lost = [line.lost for line in desk.group(desk.groups(Question()).lines[0].key).members if not line.kept]
    assert lost
    assert "unknown" not in " ".join(lost)
