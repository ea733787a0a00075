"""A run that follows decisions: what they say holds, whatever the measure, and nothing else changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup as nd
from neardup.errors import InputError
from neardup.io.decisions.records import Change, FateOf, Judgement, Represents
from neardup.io.decisions.store import DecisionStore
from neardup.settings.measures import MEASURES
from support import reference_decisions
from support.grouped import groups_of
from support.made_texts import Writer, edited
from support.messages import each_has_parts, has_parts

OF_THE_MOMENT = ("seconds", "peak_memory_bytes", "decisions")


def documents(seed: int = 1, families: int = 12) -> pa.Table:
    """Families of near copies, some with exact copies, and lone documents, in random order."""
    writer, texts = Writer(seed), []
    for family in range(families):
        words = writer.words(120)
        texts.append(" ".join(words))
        texts += [" ".join(edited(words, 0.6, writer)) for _ in range(family % 4)]
        texts += [texts[-1]] * (family % 3 == 1)
    random.Random(seed).shuffle(texts)
    return pa.table({"id": [f"d{number}" for number in range(len(texts))], "text": texts})


def decided(found: nd.Found, folder: Path, *changes: Change) -> Path:
    """Save a result and decide about it."""
    found.save(folder)
    with DecisionStore(folder) as store:
        store.act(changes, by="Ann", what="decided in a test")
    return folder


def fates(found: nd.Found) -> dict[Any, bool]:
    return dict(zip(found.groups["id"].to_pylist(), found.groups["kept"].to_pylist(), strict=True))


def judged(found: nd.Found, verdict: Any) -> list[Change]:
    return [
        Judgement(row["id"], row["group"], verdict)
        for row in found.groups.to_pylist()
        if not row["representative"]
    ]


def assert_same(one: nd.Found, other: nd.Found) -> None:
    for name in ("pairs", "groups", "copies", "ranks", "not_judged"):
        assert getattr(one, name).equals(getattr(other, name)), name
    accounts = [{k: v for k, v in found.run.as_dict().items() if k not in OF_THE_MOMENT} for found in (one, other)]
    assert accounts[0] == accounts[1]


def test_without_a_decision_that_holds_the_run_is_the_run_without(tmp_path: Path) -> None:
    found = nd.find(documents(), threshold=0.5)
    out = decided(found, tmp_path / "out", FateOf("d0", "remove"), *judged(found, "not alike"))
    with DecisionStore(out) as store:
        store.undo(by="Ann")
    assert_same(nd.find(documents(), threshold=0.5, decisions=out), found)
    with DecisionStore(out) as store:
        store.act(judged(found, "unsure"), by="Ann", what="unsure")
    again = nd.find(documents(), threshold=0.5, decisions=out)
    assert_same(again, found)
    assert again.run.decisions.unsure == len(judged(found, "unsure"))


@pytest.mark.parametrize("how", ["principal", "components", "complete"])
def test_duplicate_on_every_pair_of_a_group_leaves_the_groups(tmp_path: Path, how: str) -> None:
    found = nd.find(documents(), threshold=0.5, groups=how)
    out = decided(found, tmp_path / "out", *judged(found, "duplicate"))
    again = nd.find(documents(), threshold=0.5, groups=how, decisions=out)
    assert groups_of(again) == groups_of(found)
    assert fates(again) == fates(found)
    stricter = nd.find(documents(), threshold=0.95, groups=how, decisions=out)
    assert groups_of(stricter) == groups_of(found)
    assert not stricter.run.warnings


def test_not_alike_on_every_pair_of_a_group_keeps_every_document(tmp_path: Path) -> None:
    found = nd.find(documents(), threshold=0.5)
    groups = [sorted(map(str, members)) for members in groups_of(found).values()]
    apart = [Judgement(a, b, "not alike") for of in groups for a in of for b in of if a < b]
    again = nd.find(documents(), threshold=0.5, decisions=decided(found, tmp_path / "out", *apart))
    assert again.groups.num_rows == 0
    assert again.run.counts.removed == 0
    assert again.pairs.equals(found.pairs)


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", list(MEASURES))
def test_decisions_hold_with_every_measure(tmp_path: Path, measure: str) -> None:
    """The groups and the fates are those of the rules in plain Python, on the groups of the run without."""
    data = documents(families=9)
    found = nd.find(data, threshold=0.5, measure=measure)
    ids, rng = data["id"].to_pylist(), random.Random(measure)
    members = found.groups["id"].to_pylist()
    pairs: dict[tuple[str, str], Any] = {}
    for _ in range(10):
        a, b = sorted(rng.sample(members if rng.random() < 0.7 else ids, 2))
        pairs[a, b] = rng.choice(["duplicate", "keep both", "not alike"])
    goes, stays = rng.sample(ids, 2), rng.sample(ids, 3)
    one = found.groups.to_pylist()[1]
    changes = [Judgement(a, b, verdict) for (a, b), verdict in pairs.items()]
    fate = {**dict.fromkeys(stays, "keep"), **dict.fromkeys(goes, "remove")}
    changes = [*changes, *(FateOf(id, said) for id, said in fate.items()), Represents(one["group"], one["id"])]
    out = decided(found, tmp_path / "out", *changes)
    again = nd.find(data, threshold=0.5, measure=measure, decisions=out)
    nd.load(decided_copy(again, tmp_path / "again"))
    assert_follows(found, again, ids, pairs, fate, (one["group"], one["id"]))


def decided_copy(found: nd.Found, folder: Path) -> Path:
    found.save(folder)
    return folder


def assert_follows(
    found: nd.Found,
    again: nd.Found,
    ids: list[str],
    pairs: dict[tuple[str, str], Any],
    fate: dict[str, str],
    chosen: tuple[str, str],
) -> None:
    row = {id: number for number, id in enumerate(ids)}
    before = {member["id"]: member["group"] for member in found.groups.to_pylist()}
    heads = [row[before.get(id, id)] for id in ids]
    # decisions do not change ranks, and bring lone documents into the table
    ranks = dict(zip(again.ranks["id"].to_pylist(), again.ranks["rank"].to_pylist(), strict=True))
    rank = [ranks.get(id, 10**6 + row[id]) for id in ids]
    first_of = dict(zip(found.copies["id"].to_pylist(), found.copies["copy_of"].to_pylist(), strict=True))
    known = {
        frozenset(pair)
        for pair in zip(found.pairs["id_a"].to_pylist(), found.pairs["id_b"].to_pylist(), strict=True)
    }
    firsts = [first_of.get(id, id) for id in ids]
    alike = {
        frozenset((a, b))
        for a in range(len(ids))
        for b in range(a)
        if firsts[a] == firsts[b] or frozenset((firsts[a], firsts[b])) in known
    }
    in_order = [(row[a], row[b], verdict) for (a, b), verdict in sorted(pairs.items())]
    in_order.sort(key=lambda one: one[2])  # one action: by verdict, then by ids
    together = [(a, b) for a, b, verdict in in_order if verdict != "not alike"]
    apart = [(a, b) for a, b, verdict in in_order if verdict == "not alike"]
    goes = {row[id] for id, said in fate.items() if said == "remove"}
    decisions = {"together": together, "apart": apart, "chosen": [(row[chosen[0]], row[chosen[1]])]}
    after = reference_decisions.placed(heads, rank, decisions, goes, alike)
    expected = {
        ids[head]: {ids[number] for number in range(len(ids)) if after[number] == head}
        for head in set(after)
        if after.count(head) > 1 or head in goes
    }
    members: dict[str, set[str]] = {}
    for member in again.groups.to_pylist():
        members.setdefault(member["group"], set()).add(member["id"])
    assert members == expected
    links = reference_decisions.accepted(together, apart)
    duplicates = [(a, b) for a, b, verdict in in_order if verdict == "duplicate" and (a, b) in links]
    both = {k for a, b, verdict in in_order if verdict == "keep both" and (a, b) in links for k in (a, b)}
    stays = {row[id] for id, said in fate.items() if said == "keep"}
    kept = {number for number in range(len(ids)) if after[number] == number}
    kept = reference_decisions.staying(after, rank, kept, {"both": both, "stays": stays, "goes": goes}, duplicates)
    said = fates(again)
    assert {id for id in ids if said.get(id, True)} == {ids[number] for number in kept}
    assert again.run.counts.kept == len(kept)


def test_keep_both_on_exact_copies_keeps_both(tmp_path: Path) -> None:
    data = pa.table({"id": [7, 8, 9], "text": ["one and the same text"] * 3})
    out = decided(nd.find(data), tmp_path / "out", Judgement(8, 7, "keep both"), FateOf("9", "keep"))
    found = nd.find(data, decisions=out)
    assert fates(found) == {7: True, 8: True, 9: False}
    reasons = found.groups["reason"].to_pylist()
    assert has_parts(reasons[1], "exact copy of 7", "Ann", "keep both: 7")
    assert found.run.decisions.listed[0].reason.endswith("the id 9")


def test_exact_copies_that_are_not_alike_are_in_different_groups(tmp_path: Path) -> None:
    data = pa.table({"id": ["a", "b", "c"], "text": ["one and the same text"] * 3})
    out = decided(nd.find(data), tmp_path / "out", Judgement("a", "b", "not alike"))
    assert fates(nd.find(data, decisions=out)) == {"a": True, "c": False}


def test_decisions_that_do_not_apply_are_listed_with_reasons(tmp_path: Path) -> None:
    data = documents()
    found = nd.find(data, threshold=0.5)
    groups = found.first_groups(None)
    first = next(group for group in groups if len(group.members) > 2)
    a, b, c = (member.id for member in first.members[:3])
    other = next(group.id for group in groups if group.id != first.id)
    out = decided(
        found,
        tmp_path / "out",
        Judgement(a, b, "duplicate"),
        Judgement(b, c, "duplicate"),
        Judgement(a, c, "not alike"),
        FateOf("unknown\x1b[2J", "keep"),
        FateOf(other, "remove"),
    )
    place = data["id"].to_pylist().index(other)
    changed = [text + " more" * (number == place) for number, text in enumerate(data["text"].to_pylist())]
    again = nd.find(data.set_column(1, "text", [changed]), threshold=0.5, decisions=out)
    listed = {entry.decision: entry.reason for entry in again.run.decisions.listed}
    parts = {
        "remove": (other, "changed"),
        "keep": ("no document", "unknown\\x1b[2J"),
        "duplicate": ("contradicts", f"not alike of {min(a, c)} and {max(a, c)} by Ann"),
    }
    assert set(listed) == set(parts)
    assert each_has_parts([listed[what] for what in parts], *parts.values())
    assert again.run.decisions.not_applicable == 3
    assert has_parts(again.run.warnings[-1], "3 decisions do not apply;", "first is keep of")


def test_a_result_that_follows_decisions_is_not_regrouped(tmp_path: Path) -> None:
    found = nd.find(documents(families=6), threshold=0.5)
    out = decided(found, tmp_path / "out", *judged(found, "duplicate"))
    again = nd.find(documents(families=6), threshold=0.5, decisions=out)
    with pytest.raises(InputError, match="decisions of a review"):
        again.at(0.9)
    assert found.at(0.9).run.counts.read == again.run.counts.read


def test_a_result_without_decisions_is_refused(tmp_path: Path) -> None:
    found = nd.find(documents(families=2))
    found.save(tmp_path / "out")
    with pytest.raises(InputError, match="holds no decisions"):
        nd.find(documents(families=2), decisions=tmp_path / "out")


def test_whole_families_go_except_where_people_decided(tmp_path: Path) -> None:
    found = nd.find(documents(families=6), threshold=0.5, keep="none")
    group = found.first_groups()[0]
    out = decided(found, tmp_path / "out", FateOf(group.members[1].id, "keep"))
    again = nd.find(documents(families=6), threshold=0.5, keep="none", decisions=out)
    assert [id for id, kept in fates(again).items() if kept] == [group.members[1].id]


def test_a_reference_document_is_not_removed_by_a_decision(tmp_path: Path) -> None:
    new, old = documents(families=6), documents(families=6).slice(0, 10).rename_columns(["id", "text"])
    old = old.set_column(0, "id", [[f"old {number}" for number in range(10)]])
    found = nd.find(new, threshold=0.5, against=old)
    head = next(group.id for group in found.first_groups(None) if str(group.id).startswith("old"))
    member = next(member.id for member in found.group(head).members if member.id != head)  # type: ignore[union-attr]
    out = decided(
        found, tmp_path / "out", FateOf(head, "remove"), FateOf(member, "keep"), Represents(head, member)
    )
    again = nd.find(new, threshold=0.5, against=old, decisions=out)
    reasons = [entry.reason for entry in again.run.decisions.listed]
    assert each_has_parts(reasons, (head, "belong"), ("reference set represents",))
    assert fates(again) == fates(found) | {member: True}
