"""Base text: shingles that do not count, against counting by the definition on Python sets."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_determinism import of_tables, without_costs

import neardup as nd
from neardup.deduplication.join import common_shingles, shingle_store
from neardup.deduplication.join.base_documents import open_base
from neardup.deduplication.run.find import run
from neardup.deduplication.run.save import save
from neardup.deduplication.run.stages.records import Inputs
from neardup.errors import InputError
from neardup.io.readers import choose_columns, open_documents
from neardup.settings import Settings
from neardup.unicode import tokens
from neardup.unicode import units as split
from support import reference_base_text as by_hand
from support.full_run import FULL
from support.grouped import pairs_of
from support.messages import assert_refused
from support.reference_measured import different

LENGTH = 5
OF_TEXT = (
    ("chunk-longest", "literal"),
    ("chunk-union", "information"),
    ("lcs", "literal"),
    ("vocabulary", "literal"),
)


@cache
def own() -> tuple[str, ...]:
    """Every third text of our own collection without exact copies."""
    return tuple(different("own"))[::3]


@cache
def units() -> tuple[list[str], ...]:
    return tuple(tokens(text) for text in own())


@cache
def template() -> str:
    """A base text that is in many documents in part: some whole documents, and the first halves of others."""
    halves = [" ".join(words[: len(words) // 2]) for words in units()[1::7]]
    return " \n ".join([own()[0], own()[5], *halves])


@cache
def base() -> set[tuple[str, ...]]:
    return by_hand.base_of([tokens(template())], LENGTH)


@cache
def sizes(number: int) -> tuple[int, int]:
    """Return how many shingles a text has, and how many of them are no base text."""
    full = by_hand.base_of([units()[number]], LENGTH)
    return len(full), len(full - base())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "base text.txt"
    path.write_text(template(), encoding="utf-8")
    return path


@pytest.mark.part(2)
@pytest.mark.parametrize("measure", ["resemblance", "containment", "overlap", "multiset"])
def test_pairs_and_integers_without_base_text_are_those_of_sets(measure: str, file: Path) -> None:
    for threshold in (1.0, 0.8, 0.5, 0.2) if FULL else (0.8, 0.2):
        found = nd.find(
            list(own()), ignore=file, measure=measure, threshold=threshold, pairs="all", method="exact"
        )
        expected = by_hand.pairs(units(), base(), LENGTH, measure, Fraction(repr(threshold)))
        assert pairs_of(found) == set(expected)
        names = ("common", "total_a", "total_b") if measure == "multiset" else ("shared", "size_a", "size_b")
        for row in found.pairs.to_pylist():
            assert tuple(row[name] for name in names) == expected[row["id_a"], row["id_b"]]
            for end in "ab":
                full, left = sizes(row[f"id_{end}"])
                assert (row[f"full_size_{end}"], row[f"size_{end}"]) == (full, left)
    assert found.pairs.num_rows > 10


@pytest.mark.part(2)
@pytest.mark.parametrize(("measure", "matching"), OF_TEXT)
def test_measures_of_words_are_those_of_the_texts_cut_by_hand(measure: str, matching: str, file: Path) -> None:
    """The texts are cut by hand, and compared without base text."""
    form = {"measure": measure, "matching": matching, "pairs": "all", "threshold": 0.4}
    cut = [" ".join(by_hand.without(words, base(), LENGTH)) for words in units()]
    found, expected = nd.find(list(own()), ignore=file, **form), nd.find(cut, **form)
    names = ["id_a", "id_b", "common", "total_a", "total_b", measure.replace("-", "_")]
    copies = set(expected.copies["id"].to_pylist())  # different texts may be equal without base text
    rows = [row for row in found.pairs.select(names).to_pylist() if not {row["id_a"], row["id_b"]} & copies]
    assert rows == expected.pairs.select(names).to_pylist()
    assert len(rows) > 10


@pytest.mark.parametrize("measure", ["chunk-longest", "lcs"])
def test_characters_in_base_text_do_not_count_either(measure: str, file: Path) -> None:
    texts, length = [*own()[::4]], 12
    ignored = by_hand.base_of([split(template(), "char")], length)
    sizes = [len(by_hand.without(split(text, "char"), ignored, length)) for text in texts]
    found = nd.find(texts, ignore=file, measure=measure, unit="char", length=length, threshold=0.5)
    for row in found.pairs.to_pylist():
        assert (row["total_a"], row["total_b"]) == (sizes[row["id_a"]], sizes[row["id_b"]])
        assert row["common"] <= min(row["total_a"], row["total_b"])
    assert found.pairs.num_rows


def saved(out: Path, ignore: object, **settings: Any) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The tables of a run on our texts, and its account without costs, settings and inputs."""
    documents = open_documents(pa.table({"text": [*own(), own()[3], "", "a short one"]}))
    columns, checked = choose_columns(documents, "text", None), Settings.of(**settings)
    outcome = run(Inputs(documents, columns, checked, ignore=open_base(ignore, columns, checked.reading)))
    save(outcome, out, action="dedup")
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    return of_tables(files), without_costs(files["run.json"])


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "form", [{}, {"method": "lsh", "threshold": 0.5}, {"sketch": "simhash", "distance": 8}, {"measure": "lcs"}]
)
def test_an_empty_base_text_changes_nothing(form: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" ...\n")
    plain, of_plain = saved(tmp_path / "plain", None, **form)
    found, of_found = saved(tmp_path / "found", tmp_path / "empty.txt", **form)
    assert found == plain
    assert of_found.pop("base_text")["shingles"] == 0
    assert "holds no words" in of_found["notes"].pop()
    assert of_found == of_plain


@pytest.mark.parametrize(
    "form",
    [
        {"method": "lsh", "threshold": 0.5, "ignore_common": 0.02},
        {"method": "exact", "threshold": 0.3, "ignore_common": 0.05},
        {"measure": "chunk-union", "ignore_common": 0.02},
        {"sketch": "simhash", "distance": 8, "ignore_common": 0.02},
    ],
)
def test_results_depend_neither_on_the_key_nor_on_threads_nor_on_room(
    form: dict[str, Any], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for number, (key, threads, held) in enumerate(
        [("00", 1, 1 << 26), ("5c", 2, 2000), ("a1", 2, 0), ("7f", 2, 1 << 26)][: 4 if FULL else 3]
    ):
        monkeypatch.setenv("NEARDUP_KEY", key * 32)
        monkeypatch.setattr(shingle_store, "HELD_SHINGLES", held)
        tables, account = saved(tmp_path / str(number), file, threads=threads, **form)
        made.append((tables, account))
    assert made == [made[0]] * len(made)
    assert len(made[0][0]["pairs.parquet"]) > 1000


@pytest.mark.parametrize("form", [{"ignore_common": 0.02}, {"ignore_common": 0.05, "measure": "vocabulary"}])
def test_the_order_of_the_documents_changes_neither_common_text_nor_pairs(form: dict[str, Any]) -> None:
    texts = list(own())
    order = np.random.default_rng(3).permutation(len(texts))
    form = {"method": "exact", "threshold": 0.4, "pairs": "all", **form}
    plain, shuffled = nd.find(texts, **form), nd.find([texts[k] for k in order], **form)
    assert plain.common is not None
    assert plain.common.equals(shuffled.common)
    moved = {(min(pair), max(pair)): counts for pair, counts in numbered(shuffled, order).items()}
    assert moved == numbered(plain, np.arange(len(texts)))
    assert len(moved) > 10


def numbered(found: nd.Found, order: Any) -> dict[tuple[int, int], tuple[int, frozenset[tuple[int, int]]]]:
    """Return the counts of each pair under the numbers that its documents have in ``order``."""
    rows = found.pairs.to_pylist()
    return {
        (int(order[row["id_a"]]), int(order[row["id_b"]])): (
            row["shared"],
            frozenset({(int(order[row["id_a"]]), row["size_a"]), (int(order[row["id_b"]]), row["size_b"])}),
        )
        for row in rows
    }


@pytest.mark.part(2)
@pytest.mark.parametrize("share", [0.01, 0.02, 0.1, 0.5])
def test_the_common_shingles_are_those_of_a_counter(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common_shingles, "_FEWEST_CELLS", 16)  # so that cells have several shingles
    monkeypatch.setattr(common_shingles, "_MOST_CELLS", 64)
    monkeypatch.setattr(common_shingles, "_SLICE", 7)
    texts = [*own(), *own()[:40]]
    expected = by_hand.common([tokens(text) for text in texts], Fraction(repr(share)), LENGTH)
    found = nd.find(texts, ignore_common=share, method="exact", threshold=0.3, pairs="all")
    assert found.common is not None
    rows = {row["text"]: row["documents"] for row in found.common.to_pylist()}
    assert rows == {" ".join(shingle): count for shingle, count in expected.items()}
    assert found.common["share"].to_pylist() == [count / len(own()) for count in rows.values()]
    assert list(rows.values()) == sorted(rows.values(), reverse=True)
    pairs = by_hand.pairs(units(), set(expected), LENGTH, "resemblance", Fraction(3, 10))
    assert pairs_of(found) == set(pairs)


def test_lsh_proposes_by_the_shingles_that_count(file: Path) -> None:
    """Two texts that are alike only in base text are no candidates; two that are alike without it are."""
    form = {"threshold": 0.5, "pairs": "all", "recall": 0.999}
    exact = nd.find(list(own()), ignore=file, method="exact", **form)
    lsh = nd.find(list(own()), ignore=file, method="lsh", **form)
    assert pairs_of(lsh) <= pairs_of(exact)
    assert len(pairs_of(lsh)) >= 0.99 * len(pairs_of(exact)) > 10
    learned = nd.find(list(own()), ignore_common=0.02, method="lsh", **form)
    assert pairs_of(learned) <= (
        every := pairs_of(nd.find(list(own()), ignore_common=0.02, method="exact", **form))
    )
    assert len(pairs_of(learned)) >= 0.99 * len(every) > 10


def form_texts() -> tuple[str, list[str]]:
    """A template of 300 words, and sixty letters that fill in twelve words of their own."""
    words = [f"clause{k}" for k in range(300)]
    letters = [
        " ".join([*words[:150], *(f"letter{n}word{k}" for k in range(12)), *words[150:]]) for n in range(60)
    ]
    return " ".join(words), letters


def test_sixty_letters_in_one_template_are_sixty_documents(tmp_path: Path) -> None:
    template, letters = form_texts()
    (tmp_path / "template.txt").write_text(template)
    assert nd.find(letters).run.counts.kept == 1
    for form in ({}, {"method": "lsh"}, {"sketch": "simhash"}, {"measure": "containment"}, {"measure": "lcs"}):
        found = nd.find(letters, ignore=tmp_path / "template.txt", **form)
        assert (found.pairs.num_rows, found.run.counts.kept) == (0, 60)
        learned = nd.find(letters, ignore_common=0.1, **form)
        assert (learned.pairs.num_rows, learned.run.counts.kept) == (0, 60)


def test_letters_that_say_the_same_are_found_in_spite_of_the_template(tmp_path: Path) -> None:
    template, letters = form_texts()
    (tmp_path / "template.txt").write_text(template)
    said = " ".join(f"complaint{k}" for k in range(60))
    letters = [*letters, f"{template} {said}", f"{said} and so on"]
    assert pairs_of(nd.find(letters[60:], threshold=0.7)) == set()
    found = nd.find(letters, ignore=[tmp_path / "template.txt"], threshold=0.7)
    assert pairs_of(found) == {(60, 61)}
    [row] = found.pairs.to_pylist()
    assert (row["shared"], row["size_a"], row["size_b"]) == (56, 60, 59)
    assert (row["full_size_a"], row["full_size_b"]) == (356, 59)


def test_a_document_of_base_text_alone_is_kept_and_says_so(tmp_path: Path) -> None:
    template, letters = form_texts()
    (tmp_path / "template.txt").write_text(template)
    blank, half = template.upper(), " ".join(template.split()[:100])
    for form in ({"ignore": tmp_path / "template.txt"}, {"ignore_common": 0.5}):
        for more in ({}, {"method": "lsh"}, {"measure": "lcs"}, {"empty": "drop"}, {"empty": "one"}):
            found = nd.find([*letters, blank, half, "", template, letters[3]], **form, **more)
            assert [row["id"] for row in found.not_judged.to_pylist() if row["kind"] == "base text only"] == [61]
            assert "boilerplate only" in str(found.why(61))
            # the two blank forms are exact copies, and so are two letters
            assert found.copies.select(["id", "copy_of"]).to_pylist() == [
                {"id": 63, "copy_of": 60},
                {"id": 64, "copy_of": 3},
            ]
            assert found.groups["id"].to_pylist() == [3, 64, 60, 63]
            assert found.run.counts.kept == 63 - (more.get("empty") == "drop")
            # letters break the template in the middle: some of its shingles are not common, its words are covered
            whole = "ignore" in form or more == {"measure": "lcs"}
            assert found.run.base_text.base_text_only == (2 if whole else 1)


def test_base_text_removes_nothing_from_the_reference_set(tmp_path: Path) -> None:
    template, letters = form_texts()
    (tmp_path / "template.txt").write_text(template)
    found = nd.find([*letters, template], against=[template, letters[1]], ignore=tmp_path / "template.txt")
    assert sorted(found.removed["id"].to_pylist(), key=str) == [1, 60]


def test_a_stored_result_without_base_text_is_grouped_again(tmp_path: Path) -> None:
    letters = form_texts()[1]
    letters += [f"{letters[0]} {' '.join(f'more{k}' for k in range(4))}", letters[7]]
    found = nd.find(letters, ignore_common=0.1, threshold=0.5)
    found.save(tmp_path / "out")
    loaded = nd.load(tmp_path / "out")
    assert loaded.common == found.common
    assert loaded.pairs == found.pairs
    stricter, fresh = loaded.at(0.9), nd.find(letters, ignore_common=0.1, threshold=0.9)
    assert stricter.pairs == fresh.pairs
    assert stricter.groups == fresh.groups
    stricter.save(tmp_path / "stricter")
    assert nd.load(tmp_path / "stricter").common == found.common


def test_common_shingles_of_real_texts_are_counted_once_a_document() -> None:
    texts = [*own()]
    found = nd.find(texts, ignore_common=0.03)
    assert found.common is not None
    counts = Counter(shingle for words in units() for shingle in by_hand.base_of([words], LENGTH))
    for row in found.common.to_pylist():
        assert counts[tuple(row["text"].split(" "))] == row["documents"] > 0.03 * len(texts)


def test_the_audit_compares_without_base_text(file: Path) -> None:
    found = nd.find(list(own()), ignore=file, threshold=0.5, method="lsh", audit=1000, slots=64, recall=0.5)
    exact = nd.find(list(own()), ignore=file, threshold=0.5, method="exact", pairs="all")
    assert found.missed is not None
    assert pairs_of(found) | set(
        zip(found.missed["id_a"].to_pylist(), found.missed["id_b"].to_pylist(), strict=True)
    ) == (pairs_of(exact))
    if found.missed.num_rows:
        assert np.array_equal(found.missed.schema.names, found.pairs.schema.names)


def test_every_pair_has_its_counts_in_the_summary_of_the_run(file: Path) -> None:
    found = nd.find(list(own()), ignore=file)
    said = found.run.base_text
    sets = [by_hand.base_of([words], LENGTH) for words in units()]
    assert said.shingles_before == sum(map(len, sets))
    assert said.shingles_after == sum(len(each - base()) for each in sets)
    assert said.documents_with == sum(bool(each & base()) for each in sets)
    assert said.shingles == len(base())
    assert len(list(combinations(sets, 2))) > found.pairs.num_rows


def test_a_base_text_that_cannot_be_read_in_full_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "one two three four five six"}\nnot json\n')
    assert_refused(
        (InputError, r"bad\.jsonl cannot be read", lambda: nd.find(["a text"], ignore=tmp_path / "bad.jsonl")),
        (InputError, "", lambda: nd.find(["a text"], ignore=[tmp_path / "nowhere.txt"])),
        (InputError, "type bytes", lambda: nd.find(["a text"], ignore=[b"text"])),
    )
