"""A reference set: new rows that repeat old ones go and name them; old rows are never removed nor written."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import neardup as nd
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.io.readers import choose_columns, choose_reference, open_documents
from support import shared_data
from support.grouped import expected_groups, groups_of, rank_of
from support.made_texts import Writer
from support.messages import each_has_parts, has_parts
from support.small_limits import small_hubs

CERTAIN = 0.999999


def table(rows: dict[str, str]) -> pa.Table:
    return pa.table({"id": list(rows), "text": list(rows.values())})


def made() -> tuple[dict[str, str], dict[str, str]]:
    """Return old and new rows of six hundred-word texts and of what became of them."""
    writer = Writer(seed=21)
    texts = {name: writer.words(100) for name in "abcdef"}

    def text(name: str, *more: str) -> str:
        return " ".join([*texts[name], *more])

    old = {
        "old-a": text("a"),
        "old-a2": text("a", "again"),
        "old-b": text("b"),
        "old-c": text("c"),
        "old-empty": "",
    }
    new = {
        "a-longer": text("a", "now", "much", "longer"),
        "b-copy": text("b").upper(),
        "b-copy2": text("b"),
        "d": text("d"),
        "d-longer": text("d", "more"),
        "e": text("e"),
        "e-copy": text("e"),
        "empty": " ",
        "f": text("f"),
    }
    return old, new


@pytest.mark.parametrize("keep", ["longest", "first", "last"])
def test_new_rows_that_repeat_old_ones_go_and_name_them(keep: str) -> None:
    old, new = made()
    found = nd.find(table(new), against=table(old), method="lsh", recall=CERTAIN, keep=keep)
    kept_d, kept_e = {"longest": ("d-longer", "e"), "first": ("d", "e"), "last": ("d-longer", "e-copy")}[keep]
    assert groups_of(found) == {
        "old-a": {"old-a", "a-longer"},
        "old-b": {"old-b", "b-copy", "b-copy2"},
        kept_d: {"d", "d-longer"},
        kept_e: {"e", "e-copy"},
    }
    gone = {row["id"]: row["kept_id"] for row in found.removed.to_pylist()}
    other_d, other_e = ({"d", "d-longer"} - {kept_d}).pop(), ({"e", "e-copy"} - {kept_e}).pop()
    assert gone == {
        "a-longer": "old-a",
        "b-copy": "old-b",
        "b-copy2": "old-b",
        other_d: kept_d,
        other_e: kept_e,
    }
    copies = {row["id"]: row["copy_of"] for row in found.copies.to_pylist()}
    assert copies == {"b-copy": "old-b", "b-copy2": "old-b", "e-copy": "e"}
    ends = {(row["id_a"], row["id_b"], row["a_in_reference"]) for row in found.pairs.to_pylist()}
    # no pair of two old rows: nobody asked for it
    assert ends == {("old-a", "a-longer", True), ("old-a2", "a-longer", True), ("d", "d-longer", False)}
    counts = found.run.counts
    assert (counts.read, counts.removed, counts.kept) == (9, 5, 4)
    # a document without text repeats none of the reference set, unless that is asked for
    assert found.not_judged.select(["id", "kind", "kept"]).to_pylist() == [
        {"id": "empty", "kind": "without text", "kept": True}
    ]
    found = nd.find(table(new), against=table(old), method="lsh", recall=CERTAIN, keep=keep, empty="one")
    assert groups_of(found)["old-empty"] == {"old-empty", "empty"}
    assert {"id": "empty", "copy_of": "old-empty"} in found.copies.select(["id", "copy_of"]).to_pylist()


def test_a_pair_of_two_old_rows_is_not_reported_either_when_a_chain_joins_them() -> None:
    words = Writer(seed=22).words(100)
    old = {f"old-{k}": " ".join([*words, f"old{k}"]) for k in range(2)}
    new = {"new": " ".join([*words, "new"])}
    found = nd.find(table(new), against=table(old), groups="components", recall=CERTAIN)
    assert groups_of(found) == {"old-0": {"old-0", "new"}}
    ends = {(row["id_a"], row["id_b"]) for row in found.pairs.to_pylist()}
    assert ends == {("old-0", "new"), ("old-1", "new")}


def test_the_kept_file_holds_new_rows_only(tmp_path: Path) -> None:
    old, new = made()
    for name, rows in (("old", old), ("new", new)):
        pq.write_table(table(rows), tmp_path / f"{name}.parquet", row_group_size=2)
    documents, against = (open_documents(tmp_path / f"{name}.parquet") for name in ("new", "old"))
    columns = choose_columns(documents, None, None)
    chosen = nd.Settings.of(method="lsh", recall=CERTAIN)
    for action, ids in (("dedup", ["d-longer", "e", "empty", "f"]), ("annotate", list(new))):
        outcome = run(Inputs(documents, columns, chosen, choose_reference(against, columns), action))
        save(outcome, tmp_path / action, action=action)
        kept = pq.read_table(next((tmp_path / action).glob("kept.*")))
        assert kept["id"].to_pylist() == ids
    annotated = {row["id"]: row["group"] for row in kept.to_pylist()}
    assert annotated["a-longer"] == "old-a"
    assert annotated["f"] is None


@pytest.mark.part(4)
@pytest.mark.parametrize("hub", [100, 2])
@pytest.mark.parametrize("name", ["own", "django_docs", "site_policy", "license_texts", "irplag_java"])
def test_groups_of_real_texts_with_a_reference_set(name: str, hub: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third text is old. With hubs of two documents and more, the exact join has to do it all."""
    small_hubs(monkeypatch, hub)
    threshold = 0.7
    least, first = Fraction(repr(threshold)), shared_data.firsts(name)
    numbers = [k for k, its_first in enumerate(first) if its_first == k]
    numbers = numbers[::3] + [k for k in numbers if k not in set(numbers[::3])]
    n_old = len(numbers[::3])
    texts = list(shared_data.documents(name).values())
    old, new = ([texts[k] for k in part] for part in (numbers[:n_old], numbers[n_old:]))
    found = nd.find(
        table(named(new, n_old)), against=table(named(old, 0)), threshold=threshold, method="lsh", recall=CERTAIN
    )

    place = {number: k for k, number in enumerate(numbers)}
    pairs = {}
    for (a, b), counted in shared_data.all_pairs(name).items():
        ends = sorted((place[a], place[b]))
        if ends[1] >= n_old and Fraction(counted.shared, counted.union) >= least:
            pairs[ends[0], ends[1]] = Fraction(counted.shared, counted.union)
    reported = found.pairs.to_pylist()
    assert {(int(row["id_a"]), int(row["id_b"])) for row in reported} == pairs.keys()
    assert all(row["a_in_reference"] == (int(row["id_a"]) < n_old) for row in reported)

    units = [len(shared_data.tokens(name)[k]) for k in numbers]
    # old rows come first, whatever their length
    rank = rank_of([units[k] + (10**9 if k < n_old else 0) for k in range(len(units))])
    expected = expected_groups("principal", pairs, rank, n_old)
    assert groups_of(found) == {str(head): {str(d) for d in members} for head, members in expected.items()}
    assert all(int(id) >= n_old for id in found.removed["id"].to_pylist())


def named(texts: list[str], first: int) -> dict[str, str]:
    return {str(first + k): text for k, text in enumerate(texts)}


def test_a_run_that_finds_pairs_and_removes_nothing_says_why() -> None:
    """``dedup train --against eval --measure containment`` found all contaminated documents, and said nothing."""
    writer = Writer(seed=33)
    evaluation = [writer.words(60) for _ in range(3)]
    train = [" ".join([*writer.words(150), *words, *writer.words(150)]) for words in evaluation]
    texts = [" ".join(words) for words in evaluation]

    def warned(found: nd.Found) -> list[str]:
        assert found.run.counts.pairs == 3 or found.run.counts.removed
        return [text for text in found.run.warnings if "nothing removed" in text or "that hold" in text]

    (said,) = warned(nd.find(train, against=texts, measure="containment"))
    assert has_parts(said, "3 of 3 documents", "0.8", "kept")
    (copied,) = warned(nd.find([*train, train[0]], against=texts, measure="containment"))
    assert has_parts(copied, "3 of 4 documents", "kept")  # the copy goes
    assert has_parts(said, "--direction new-in-old", "--direction old-in-new")
    for held in ("old-in-new", "either"):
        other = nd.find(train, against=texts, measure="containment", direction=held)
        assert (other.run.counts.removed, warned(other)) == (3, [])
        assert set(other.removed["similarity"].to_pylist()) == {1.0}
    assert nd.find(train, against=texts, measure="overlap").run.counts.removed == 3
    assert warned(nd.find(train, against=texts, measure="overlap")) == []
    first = nd.find([*texts, *train], measure="containment", keep="first")
    assert each_has_parts(warned(first), ("3 pairs", "nothing removed", "keep first", "keep longest"))
    longer = [f"{text} and a little more" for text in texts]
    warnings = warned(nd.find(longer, against=texts, threshold=0.7, only_contained=1.0))
    assert each_has_parts(warnings, ("3 pairs", "nothing removed", "less than 1", "(only_contained)"))
    assert nd.find(["none of them"], against=[*texts, *longer], threshold=0.7).run.warnings == []
