"""The result as data, and its views in a terminal and a notebook."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec import convert

import neardup as nd
from neardup.deduplication.run.account import RunAccount
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.show import group_lines, summary
from neardup.display import aligned_lines, printable
from neardup.errors import InputError
from support.command_line import write_rows
from support.made_texts import Writer
from support.messages import has_parts
from support.small_limits import small_crowds

COPY, NEAR_A = "exact copy of a: identical", "near copy of a: resemblance 0.890"
ENTRIES: dict[str, Any] = {
    "neardup_version": "0.1.0",
    "format": 2,
    "action": "dedup",
    "settings": {"threshold": 0.8, "measure": "resemblance", "matching": "literal"},
    "choice": {"asked": "auto", "method": "lsh", "why": "too large"},
    "counts": {
        "read": 1204,
        "rejected": 3,
        "empty": 2,
        "short": 0,
        "null": 0,
        "invalid_utf8": 0,
        "exact_copies": 1,
        "identical_copies": 1,
        "candidates": 12,
        "verified": 10,
        "pairs": 2,
        "groups": 2,
        "near_copies": 2,
        "removed": 2,
        "kept": 1202,
    },
    "bytes": {"text": 2_000_000, "removed_text": 3000},
    "recall": {"planned": 0.9918, "statement": "planned to find 99.1 % of the pairs at .8"},
    "audit": None,
    "large_clusters": [],
    "chaining": {"groups": 0, "weakest": None},
    "warnings": [],
    "regrouped_from": None,
    "notes": [],
    "seconds": {"fingerprint": 1.0, "verify": 0.25},
    "peak_memory_bytes": 123_456_789,
}


def account(**changes: Any) -> RunAccount:
    """The account ENTRIES with ``changes``; entries that neither has are those of a run."""
    plain = nd.find(["one text", "another one"]).run.as_dict()
    for name, entry in {**ENTRIES, **changes}.items():
        whole = name in ("seconds", "audit", "regrouped_from")
        plain[name] = entry if whole or not isinstance(entry, dict) else {**plain[name], **entry}
    return convert(plain, RunAccount)


RUN = account()


def groups(*members: tuple[str, str, float, bool, str]) -> pa.Table:
    names = ("id", "group", "similarity", "kept", "reason")
    columns = dict(zip(names, zip(*members, strict=True), strict=True))
    columns["representative"] = [member[0] == member[1] for member in members]
    return pa.table({name: list(values) for name, values in columns.items()})


def pairs(*rows: tuple[str, str, int, int, int]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.table([list(column) for column in columns], names=["id_a", "id_b", "shared", "size_a", "size_b"])


@pytest.fixture
def found() -> Found:
    return Found(
        pairs=pairs(("a", "b", 57, 60, 61), ("x", "y", 40, 40, 45)),
        groups=groups(
            ("b", "a", 57 / 64, False, NEAR_A),
            ("a", "a", 1.0, True, "represents 2 others"),
            ("a2", "a", 1.0, False, COPY),
            ("x", "x", 1.0, True, "represents 1 other"),
            ("y", "x", 40 / 45, True, "near copy of x: resemblance 0.888"),
        ),
        copies=pa.table({"id": ["a2"], "copy_of": ["a"]}),
        run=RUN,
    )


def test_removed_names_the_kept_document(found: Found) -> None:
    assert found.removed.to_pylist() == [
        {"id": "b", "kept_id": "a", "similarity": 57 / 64, "reason": NEAR_A},
        {"id": "a2", "kept_id": "a", "similarity": 1.0, "reason": COPY},
    ]


def test_groups_show_the_representative_first_and_the_evidence(found: Found) -> None:
    assert list(group_lines(found.first_groups(), 2)) == [
        "kept     a   represents 2 others",
        f"removed  b   {NEAR_A} (shared 57 of 61 + 60 shingles)",
        f"removed  a2  {COPY}",
        "",
        "kept     x  represents 1 other",
        "kept     y  near copy of x: resemblance 0.888 (shared 40 of 45 + 40 shingles)",
        "",
    ]


def test_groups_that_are_not_shown_are_counted(found: Found) -> None:
    assert list(group_lines(found.first_groups(limit=1), 2))[-2:] == ["... and 1 more group", ""]


def test_why_a_document_goes(found: Found) -> None:
    decision = found.why("b")
    assert (decision.kept, decision.group, decision.copy_of) == (False, "a", None)
    assert str(decision) == (
        f"b is removed: {NEAR_A}.\nOf its 61 shingles 57 (93.4 %) are in a; of the 60 there, 57 (95.0 %) are in b."
    )


def test_why_a_document_stays(found: Found) -> None:
    assert str(found.why("a")) == "a is kept: represents 2 others."
    assert found.why("y").kept


def test_why_of_an_exact_copy(found: Found) -> None:
    assert str(found.why("a2")) == f"a2 is removed: {COPY}."


def test_a_copy_shows_the_pair_of_the_document_it_copies(found: Found) -> None:
    copies = pa.table({"id": ["a"], "copy_of": ["zero"]})
    other = replace(found, copies=copies, pairs=pairs(("zero", "b", 57, 60, 61)))
    evidence = other.why("b").member
    assert evidence is not None
    assert str(evidence.pair) == "shared 57 of 61 + 60 shingles"


def test_an_unknown_id_names_the_near_ones(found: Found) -> None:
    with pytest.raises(InputError, match=r"'a22'.*mean a2"):
        found.why("a22")


def test_a_document_that_simply_stays_has_a_sentence(tmp_path: Path) -> None:
    texts = {"a": "one text", "b": "one text", "c": "something else"}
    rows = [{"id": id, "text": text} for id, text in texts.items()]
    source = write_rows(tmp_path / "documents.jsonl", rows)
    found = nd.find(source, id="id")
    found.save(tmp_path / "out")
    alone = found.why("c")
    assert has_parts(str(alone), "c is kept", "no group")
    assert (alone.kept, alone.group, alone.copy_of, alone.member) == (True, None, None, None)
    assert "in no group" in alone._repr_html_()
    stored = nd.load(tmp_path / "out")  # whose tables have the documents in pairs and copies alone
    assert str(stored.why("c")) == str(alone)
    for result in (found, stored):
        with pytest.raises(InputError) as unknown:
            result.why("d")
        assert has_parts(str(unknown.value), "No document", "'d'")
        assert "near copy" not in str(unknown.value)
    source.unlink()
    with pytest.raises(InputError) as unsure:
        stored.why("d")
    assert has_parts(str(unsure.value), "'d'", "no near copy", "cannot be said", "documents.jsonl")


def test_integer_ids(found: Found) -> None:
    table = pa.table({name: found.groups[name] for name in ("similarity", "kept", "reason", "representative")})
    table = table.append_column("id", pa.array([2, 1, 3, 8, 9])).append_column("group", pa.array([1, 1, 1, 8, 8]))
    numbered = pa.table({"id_a": [1], "id_b": [2], "shared": [57], "size_a": [60], "size_b": [61]})
    other = Found(numbered, table, pa.table({"id": [3], "copy_of": [1]}), RUN)
    assert str(other.why(2)).startswith("2 is removed")
    with pytest.raises(InputError, match="Ids of type int64"):
        other.why("two")


def test_summary_is_data_with_readable_numbers() -> None:
    said = dict(summary(RUN))
    assert said["documents"] == "1,204 read (3 rejected, 2 without a word)"
    assert (said["exact copies"], said["near copies"], said["groups"]) == (
        "1 (1 identical, 0 with the same words)",
        "2",
        "2",
    )
    assert said["pairs"] == "2 at resemblance 0.8 or above, of 10 compared exactly"
    assert said["removed"] == "2 documents (0.1 %), 3.0 kB of 2.0 MB text (0.1 %)"
    assert said["kept"] == "1,202"
    assert said["recall"] == "planned to find 99.1 % of the pairs at .8"
    assert said["time"] == "1.2 s (fingerprint 1.0 s, verify 0.25 s)"
    assert said["memory"] == "about 123.5 MB (this process)"


def test_summary_of_grouping_speaks_of_no_removal() -> None:
    assert not {"removed", "to remove", "kept"} & set(dict(summary(account(action="group"))))
    assert "to remove" in dict(summary(account(action="annotate")))


def test_summary_of_a_result_from_stored_scores_removed_nothing() -> None:
    stored = {"threshold": 0.8, "large_clusters": 0, "cluster_members": 0, "popular": 0}
    said = dict(summary(account(regrouped_from=stored)))
    assert "to remove" in said
    assert "removed" not in said


def test_a_similarity_that_is_not_known_is_not_shown(found: Found) -> None:
    table = found.groups.set_column(2, "similarity", pa.array([None, 1.0, 1.0, 1.0, None], pa.float64()))
    shown = replace(found, groups=table)
    member = shown.why("b").member
    assert member is not None
    assert member.similarity is None
    assert "None" not in shown._repr_html_()


def test_summary_tells_what_is_unusual() -> None:
    assert ("note", "guessed") in summary(account(notes=["guessed"]))
    weakest = {"group": "a", "id_a": "b", "id_b": "c", "similarity": 0.41999}
    crowds = [{"representative": "a", "members": 3000, "pairs_left_out": 4_495_501}]
    said = dict(summary(account(large_clusters=crowds, chaining={"groups": 1, "weakest": weakest})))
    assert has_parts(said["chaining"], "1 group", "chain of pairs", "b and c at 0.419")
    assert "up to 4,495,501 pairs are not (--pairs all" in said["clusters"]
    assert said["clusters"].startswith("1 group of more than 1,000 documents, 3,000 in all")


AUDIT = {
    "documents": 1200,
    "drawn": 200,
    "pairs": 41,
    "found": 40,
    "recall": 0.9756,
    "low": 0.8739,
    "high": 0.9957,
    "by_document": {"with_partners": 30, "reached": 29, "recall": 0.97, "low": 0.8, "high": 0.99},
    "strata": [],
}


def test_summary_of_an_audit() -> None:
    assert "audit" not in dict(summary(RUN))
    said = dict(summary(account(audit=AUDIT)))
    assert has_parts(
        said["audit"],
        "200 of 1,200 documents",
        "40 of their 41 pairs",
        "about 0.975",
        "(95 % interval 0.873 to 0.995)",
    )
    everything = {**AUDIT, "drawn": 1200}
    assert dict(summary(account(audit=everything)))["audit"].endswith("40 of their 41 pairs found; recall 0.975")
    nothing = {**AUDIT, "pairs": 0, "found": 0, "recall": None, "low": None, "high": None}
    assert dict(summary(account(audit=nothing)))["audit"].endswith("have no pairs")


def test_labels_are_aligned() -> None:
    assert list(aligned_lines([("a", "1"), ("long", "2")])) == ["a     1", "long  2"]
    assert list(aligned_lines([("long", "one two three")], 16)) == ["long  one two\n      three"]


def test_one_line_for_the_prompt(found: Found) -> None:
    assert repr(found) == "Found(2 pairs, 2 groups, 1 exact copy, 2 of 1,204 documents removed)"


def test_html_is_escaped(found: Found) -> None:
    hostile = groups(("<b>", "<b>", 1.0, True, "<script>alert(1)</script>"))
    shown = replace(found, groups=hostile, run=account(warnings=["a < b"]))._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "a &lt; b" in shown


def test_an_id_cannot_rule_the_terminal() -> None:
    assert printable("a\x1b[2J\nb") == "a\\x1b[2J\\nb"


def test_the_summary_says_which_pairs_of_a_popular_document_are_not_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One text, and copies of it that are not alike: the copies lead, and the text is listed with one of them."""
    small_crowds(monkeypatch, 20)
    writer = Writer(seed=9)
    hub = writer.words(54)
    texts = [" ".join(hub), *(" ".join([*hub, *writer.words(10)]) for _ in range(40))]
    needed, every = (nd.find(texts, method="exact", pairs=pairs) for pairs in ("needed", "all"))
    assert (needed.pairs.num_rows, every.pairs.num_rows) == (1, 40)
    assert 0 < needed.run.popular.pairs_left_out_at_least <= 39
    said = dict(summary(needed.run))
    assert f"at least {needed.run.popular.pairs_left_out_at_least} pairs not (--pairs all" in said["popular"]
    assert has_parts(needed.run.recall.statement, "not every", "listed (--pairs all")
    assert "not every pair" not in every.run.recall.statement
    assert "popular" not in dict(summary(every.run))


def test_the_pairs_of_a_crowd_are_not_said_to_be_of_none_compared() -> None:
    """LSH only gathers a crowd; its pairs are compared when it is grouped, and no count has them."""
    gathered = account(counts={"candidates": 0, "verified": 0, "pairs": 9992})
    assert has_parts(dict(summary(gathered))["pairs"], "9,992", "0.8", "each compared")
