"""Text lost: the shingles of removed documents that no document of their group holds that stays, counted twice."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from msgspec import structs

import neardup as nd
from neardup.deduplication.run.account import Lost
from neardup.errors import InputError
from support import reference, reference_lost, shared_data
from support.command_line import run_json
from support.messages import has_parts
from support.reference_lost import Member, Shingles, by_group
from support.sealed import seal

CERTAIN = 0.999999
HOWS = ("principal", "components", "complete")
LOST = ("shingles", "lost_shingles", "lost_units", "lost_passage")


def texts_of(name: str) -> list[str]:
    return list(shared_data.documents(name).values())


def assert_lost(found: nd.Found, sets: list[Shingles], first: list[int]) -> int:
    """Check every row of the table of groups against sets; returns the number of documents that lose text."""
    losing = total = shingles = removed = 0
    for members in by_group(found.groups.to_pylist()).values():
        stays = [sets[row["id"]] for row in members if row["kept"]]  # type: ignore[index]
        staying = {first[row["id"]] for row in members if row["kept"]}  # type: ignore[index]
        for row in members:
            if row["kept"]:
                assert [row[name] for name in LOST] == [None] * 4
                continue
            own: Shingles = sets[row["id"]]  # type: ignore[index]
            gone = reference_lost.lost(own, stays)
            assert row["lost_shingles"] == len(gone), row
            near = first[row["id"]] not in staying  # type: ignore[index]
            assert row["shingles"] == (len(own) if near else None)
            removed, losing, total = removed + 1, losing + bool(gone), total + len(gone)
            shingles += len(own) if near else 0
    said = found.run.lost
    alike = found.groups.filter(pc.and_(found.groups["identical"], pc.invert(found.groups["kept"]))).num_rows
    assert structs.replace(said, most=[]) == Lost(removed, losing, 0, shingles, total, alike, [])
    return losing


@pytest.mark.part(2)
@pytest.mark.parametrize("how", HOWS)
def test_lost_text_is_counted_exactly_for_every_grouping(how: str) -> None:
    found = nd.find(texts_of("own"), threshold=0.6, groups=how)
    assert assert_lost(found, shared_data.sets("own"), shared_data.firsts("own")) > 10


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", ["containment", "multiset", "bag-of-words", "chunk-union", "lcs"])
def test_lost_text_is_counted_on_shingles_by_every_measure(measure: str) -> None:
    found = nd.find(texts_of("own"), threshold=0.7, measure=measure, keep="first", groups="components")
    assert assert_lost(found, shared_data.sets("own"), shared_data.firsts("own")) > 10


@pytest.mark.parametrize(
    "rules", [{"only_contained": 0.95}, {"lose": 0.02}, {"only_contained": 0.8, "lose": 0.05}]
)
@pytest.mark.parametrize("method", ["lsh", "exact"])
def test_several_documents_of_a_group_that_stay_hold_text_together(rules: dict[str, Any], method: str) -> None:
    found = nd.find(texts_of("own"), threshold=0.5, method=method, recall=CERTAIN, **rules)
    several = [g for g in by_group(found.groups.to_pylist()).values() if sum(bool(r["kept"]) for r in g) > 1]
    assert len(several) > 5
    assert assert_lost(found, shared_data.sets("own"), shared_data.firsts("own")) > 5


# --- passages


@pytest.mark.parametrize("unit", ["word", "char"])
def test_passages_are_the_units_that_only_lost_shingles_cover(unit: str) -> None:
    texts = texts_of("own")[:150]
    found = nd.find(texts, threshold=0.5, unit=unit, length=7)
    units = [reference.tokens(text) if unit == "word" else characters(text) for text in texts]
    sets = [frozenset(windows(of_text, 7)) for of_text in units]
    looked_at = 0
    for members in by_group(found.groups.to_pylist()).values():
        stays = [sets[row["id"]] for row in members if row["kept"]]  # type: ignore[index]
        for row in members:
            if not row["lost_shingles"]:
                assert row["lost_units"] == (None if row["kept"] else 0)
                continue
            own = row["id"]
            gone = reference_lost.lost(sets[own], stays)  # type: ignore[index]
            passages = reference_lost.units_lost(units[own], 7, gone)  # type: ignore[index]
            assert row["lost_units"] == sum(map(len, passages)), row
            assert_excerpt(row["lost_passage"], max(passages, key=len) if passages else None, unit)
            looked_at += 1
    assert looked_at > 5


def characters(text: str) -> list[str]:
    return list(" ".join(reference.nfkc_casefold(text).split()))


def windows(units: list[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(units[k : k + length]) for k in range(max(min(1, len(units)), len(units) - length + 1))]


def assert_excerpt(excerpt: object, longest: list[str] | None, unit: str) -> None:
    if longest is None:
        assert excerpt is None
        return
    assert isinstance(excerpt, str)
    said = excerpt.removesuffix("…")
    if unit == "word":
        found = reference.tokens(said)
        assert found[:-1] == longest[: len(found) - 1]  # the last word may be cut
    else:
        assert "".join(longest).strip().startswith("".join(characters(said)))


def test_why_names_the_longest_passage() -> None:
    words = [f"w{number}" for number in range(100)]
    other = [*words[:40], "never", "again", "here", *words[40:]]
    found = nd.find([" ".join(words), " ".join(other[:80])], threshold=0.5, keep="first")
    assert has_parts(
        str(found.why(1)).splitlines()[-1],
        "90.7 % is kept",
        "7 of its 76 shingles",
        "3 tokens",
        "“never again here”",
    )
    turned = [*words[50:], *words[:50]]
    found = nd.find([" ".join(words), " ".join(turned)], threshold=0.5, keep="first")
    assert has_parts(str(found.why(1)).splitlines()[-1], "95.8 %", "4 of its 96 shingles", "no token", "order")
    part = nd.find([" ".join(words), " ".join(words[:90])], threshold=0.5)
    assert has_parts(str(part.why(1)).splitlines()[-1], "No word is lost", "all of its shingles")
    copy = nd.find([" ".join(words), " ".join(words)])
    assert copy.run.lost == Lost(removed=1, losing=0, unknown=0, shingles=0, lost=0, identical=1, most=[])


def test_a_hostile_passage_is_escaped_and_short() -> None:
    words = [f"w{number}" for number in range(200)]
    hostile = "evil\x1b[2J\u202e\x00 " * 60
    found = nd.find([" ".join(words), " ".join([*words[:190], hostile])], threshold=0.3, keep="first")
    [passage] = found.groups["lost_passage"].drop_null().to_pylist()
    assert passage.startswith("evil\\x1b[2J\\u202e\\x00 evil")
    assert passage.isprintable()
    assert len(passage) < 500
    assert found.run.lost.most[0].lost_passage == passage


# --- reference sets, copies, attachments


@pytest.mark.parametrize("how", HOWS)
def test_the_text_of_the_reference_set_counts_as_kept(how: str) -> None:
    texts, sets = texts_of("own"), shared_data.sets("own")
    new, old = [k for k in range(len(texts)) if k % 3], [k for k in range(len(texts)) if k % 3 == 0]
    rules: dict[str, Any] = {"threshold": 0.5, "groups": how, "method": "exact", "lose": 0.0}
    found = nd.find([texts[k] for k in new], against=[texts[k] for k in old], **rules)
    assert found.run.lost.removed > 5
    assert found.run.lost.lost == 0
    in_old = [sets[k] for k in old]
    alone = nd.find([texts[k] for k in new], **rules)
    assert found.run.counts.removed > alone.run.counts.removed
    held = [sets[new[row["id"]]] for row in found.groups.to_pylist() if row["kept"]]
    for id in found.removed["id"].to_pylist():
        assert not reference_lost.lost(sets[new[id]], [*in_old, *held])


def test_exact_copies_of_what_stays_lose_nothing_and_those_of_a_near_copy_what_it_loses() -> None:
    words = [f"w{number}" for number in range(100)]
    near = " ".join([*words[:90], *(f"x{number}" for number in range(5))])
    found = nd.find([" ".join(words), near, " ".join(words), near.upper()], threshold=0.5)
    assert found.groups["lost_shingles"].to_pylist() == [None, 5, 0, 5]
    assert found.groups["shingles"].to_pylist() == [None, 91, None, 91]
    spared = nd.find([" ".join(words), near, " ".join(words), near.upper()], threshold=0.5, lose=0.0)
    # one of the copies stays, and so the other one loses nothing
    assert spared.groups["kept"].to_pylist() == [True, True, False, False]
    assert spared.groups["lost_shingles"].to_pylist() == [None, None, 0, 0]
    empty = nd.find([*["", " "], *[" ".join(words)] * 2], empty="one")
    assert empty.groups["lost_shingles"].to_pylist() == [None, 0, None, 0]


# --- --lose


@pytest.mark.part(5)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("share", ["0", "0.01", "0.05", "0.2"])
def test_lose_is_the_cover_of_the_naive_twin(share: str, how: str) -> None:
    texts, sets, first = texts_of("own"), shared_data.sets("own"), shared_data.firsts("own")
    found = nd.find(texts, threshold=0.4, groups=how, lose=float(share))
    units = [len(tokens) for tokens in shared_data.tokens("own")]
    rank = sorted(range(len(texts)), key=lambda k: (-units[k], k))
    for head, members in by_group(found.groups.to_pylist()).items():
        different = {row["id"] for row in members if first[row["id"]] == row["id"]}  # type: ignore[index]
        given = [Member(k, sets[k], rank.index(k), anyway=k == head) for k in sorted(different)]  # type: ignore[index,call-overload,arg-type,type-var]
        stays = reference_lost.cover(given, Fraction(share))
        assert {row["id"] for row in members if row["kept"]} == stays
    assert_lost(found, sets, first)
    assert found.run.counts.removed == nd.find(texts, threshold=0.4, groups=how).run.counts.removed - len(
        [row for row in found.groups.to_pylist() if row["kept"] and not row["representative"]]
    )


@pytest.mark.parametrize("name", ["own", "law_de"])
def test_lose_nothing_loses_nothing(name: str) -> None:
    """On the texts: every shingle of the input is in a document that stays."""
    texts, sets = texts_of(name), shared_data.sets(name)
    found = nd.find(texts, threshold=0.5, lose=0.0)
    gone = set(found.removed["id"].to_pylist())
    assert gone
    before = frozenset().union(*sets)
    assert frozenset().union(*(sets[k] for k in range(len(texts)) if k not in gone)) == before


@pytest.mark.part(2)
@pytest.mark.parametrize("how", HOWS)
def test_lose_one_is_the_same_as_without(how: str) -> None:
    texts = texts_of("own")
    plain, all_of_it = (nd.find(texts, threshold=0.5, groups=how, **rules) for rules in ({}, {"lose": 1.0}))
    for name in ("pairs", "groups", "copies", "ranks", "removed"):
        assert getattr(plain, name).equals(getattr(all_of_it, name))
    assert plain.run.lost == all_of_it.run.lost


@pytest.mark.parametrize("rules", [{}, {"lose": 0.02}])
def test_lost_text_depends_neither_on_threads_nor_on_the_key(
    rules: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = texts_of("own")
    results = []
    for threads, key in ((1, "00"), (2, "17"), (3, "ff")):
        monkeypatch.setitem(os.environ, "NEARDUP_KEY", key * 32)
        found = nd.find(texts, threshold=0.5, threads=threads, **rules)
        results.append((found.groups, found.run.lost))
    assert all(groups.equals(results[0][0]) and lost == results[0][1] for groups, lost in results)


def test_the_better_of_equals_stays_in_any_order_of_the_rest() -> None:
    texts = [text for text in texts_of("own") if text.strip()][:80]
    order = sorted(range(len(texts)), key=lambda k: (389 * k) % 1009)
    scores = {"id": list(range(len(texts))), "text": texts, "score": [(7 * k) % 1013 for k in range(len(texts))]}
    table = pa.table(scores)
    rules: dict[str, Any] = {"threshold": 0.4, "lose": 0.05, "keep": "max:score", "id": "id", "method": "exact"}
    here, there = (nd.find(rows, text="text", **rules) for rows in (table, table.take(order)))
    assert sorted(here.removed["id"].to_pylist()) == sorted(there.removed["id"].to_pylist())
    assert here.run.lost.lost == there.run.lost.lost


# --- stricter thresholds


@pytest.mark.part(2)
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("share", [0.0, 0.02])
def test_a_stored_result_with_lose_removes_only_what_a_run_removes(share: float, how: str) -> None:
    """At a stricter threshold only what representatives hold is known: more documents stay, none loses more."""
    rules: dict[str, Any] = {"method": "exact", "pairs": "all", "groups": how, "lose": share}
    stored = nd.find(texts_of("own"), threshold=0.4, **rules).at(0.6)
    fresh = nd.find(texts_of("own"), threshold=0.6, **rules)
    gone = stored.removed["id"].to_pylist()
    assert gone
    assert set(gone) <= set(fresh.removed["id"].to_pylist())
    expected = {row["id"]: row["lost_shingles"] for row in fresh.groups.to_pylist()}
    known = {
        row["id"]: row["lost_shingles"] for row in stored.groups.to_pylist() if row["lost_shingles"] is not None
    }
    assert known
    assert known == {id: expected[id] for id in known}
    spared = [row for row in stored.groups.to_pylist() if row["reason"].endswith("text would be lost")]
    said = [text for text in stored.run.warnings if "what the kept documents hold of them" in text]
    assert len(said) == bool(spared or stored.run.lost.unknown)


def test_forged_totals_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "stored"
    nd.find(texts_of("own")[:120], threshold=0.5).save(folder)
    run = run_json(folder)
    run["lost"]["lost"] += 1
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    seal(folder)
    with pytest.raises(InputError):
        nd.load(folder)


PUBLISHED = {
    "site_policy": (155, {"0": 78, "0.01": 110, "0.02": 124, "0.05": 149}),
    "license_texts": (123, {"0": 49, "0.01": 80, "0.02": 92, "0.05": 110}),
    "law_de": (95, {"0": 45, "0.01": 62, "0.02": 78, "0.05": 92}),
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("share", ["0", "0.01", "0.02", "0.05"])
def test_removals_of_real_texts_at_each_share(share: str, name: str) -> None:
    """The figures of docs/howto/trust-removals.md."""
    found = nd.find(texts_of(name), lose=float(share))
    assert found.run.counts.removed == PUBLISHED[name][1][share]
    assert_lost(found, shared_data.sets(name), shared_data.firsts(name))


@pytest.mark.parametrize("name", PUBLISHED)
def test_removals_of_real_texts_of_any_share_and_of_what_is_contained(name: str) -> None:
    """The figures of the same page without a share."""
    texts = texts_of(name)
    assert nd.find(texts).run.counts.removed == PUBLISHED[name][0]
    contained = nd.find(texts, only_contained=1.0).run.counts.removed
    assert contained == {"site_policy": 28, "license_texts": 25, "law_de": 0}[name]


def test_a_member_of_one_shingle_has_its_count() -> None:
    found = nd.find(["a b c d e", "a b c d e f g h i"], measure="containment", threshold=0.9)
    counts = {row["id"]: (row["shingles"], row["lost_shingles"]) for row in found.groups.to_pylist()}
    assert counts == {0: (1, 0), 1: (None, None)}
