"""The evidence for a match: independent shingles, runs, short items, and common text."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import neardup as nd
from neardup.corpus.contamination.contamination import Contamination
from neardup.errors import InputError, SettingError
from support.messages import assert_refused

DRAW = random.Random(4)
WORDS = [f"word{number}" for number in range(4000)]


def prose(tokens: int) -> str:
    return " ".join(DRAW.choices(WORDS, k=tokens))


def jsonl(path: Path, texts: list[str], column: str = "text") -> Path:
    path.write_text("".join(json.dumps({"id": f"{path.stem}{k}", column: t}) + "\n" for k, t in enumerate(texts)))
    return path


def found_in(folder: Path, train: list[str], *test_sets: list[str], **options: object) -> Contamination:
    against = [jsonl(folder / f"set{number}.jsonl", items) for number, items in enumerate(test_sets)]
    return nd.decontaminate(jsonl(folder / "train.jsonl", train), against=against, **options)  # type: ignore[arg-type]


def test_an_item_with_one_word_changed_is_found_with_its_passage(tmp_path: Path) -> None:
    item = prose(40).split()
    changed = [*item[:30], "other", *item[31:]]
    train = [prose(80), f"{prose(20)} {' '.join(changed).upper()} {prose(20)}"]
    (match,) = found_in(tmp_path, train, [" ".join(item)]).matches.to_pylist()
    assert (match["id"], match["item"], match["evidence"]) == ("train1", "set00", "shingles")
    assert (match["shared"], match["size"], match["run"]) == (31, 36, 30)
    assert match["share"] == pytest.approx(31 / 36)
    assert train[1][match["begin"] : match["end"]] == match["passage"] == " ".join(item[:30]).upper()


def test_a_phrase_of_many_training_documents_proves_nothing(tmp_path: Path) -> None:
    phrase, item = prose(20), prose(20)
    train = [f"{prose(10)} {phrase} {prose(10)}" for _ in range(12)] + [f"{prose(10)} {item}"]
    found = found_in(tmp_path, train, [phrase, item])
    assert found.matches["item"].to_pylist() == ["set01"]
    assert found.common["item"].to_pylist() == ["set00"] * 12
    assert found.phrases["documents"].to_pylist() == [12] * 16
    assert " ".join(phrase.split()[:5]) in found.phrases["shingle"].to_pylist()
    assert found_in(tmp_path, train[1:3], [phrase, item]).contaminated == 2


def test_a_phrase_of_several_test_sets_proves_nothing_but_a_copied_item_does(tmp_path: Path) -> None:
    phrase, item = prose(20), prose(20)
    train = [f"{prose(30)} {phrase}", f"{prose(30)} {item}"]
    found = found_in(tmp_path, train, [phrase + " a", item], [phrase + " b", item], threshold=0.7)
    assert sorted(zip(found.matches["id"].to_pylist(), found.matches["item"].to_pylist(), strict=True)) == [
        ("train1", "set01"),
        ("train1", "set11"),
    ]
    assert found.common["id"].to_pylist() == ["train0", "train0"]


def test_short_items_are_found_as_a_whole_and_the_shortest_are_not_looked_for(tmp_path: Path) -> None:
    train = ["We asked: who wrote the old red book? Nobody knew.", "who wrote the old blue book", "yes it is"]
    found = found_in(tmp_path, train, ["Who wrote the old red book", "yes it is"])
    assert [(m["id"], m["evidence"], m["shared"], m["size"], m["run"]) for m in found.matches.to_pylist()] == [
        ("train0", "whole", 1, 1, 6)
    ]
    assert found.items.too_short == 1


def test_an_item_of_ten_tokens_needs_most_of_them_in_a_row(tmp_path: Path) -> None:
    item = prose(10)
    (match,) = found_in(tmp_path, [f"{prose(9)} {item.rsplit(' ', 1)[0]}"], [item]).matches.to_pylist()
    assert (match["evidence"], match["run"], match["shared"], match["size"]) == ("run", 9, 5, 6)


def test_each_field_is_looked_for_by_itself_and_all_together(tmp_path: Path) -> None:
    question, answer = prose(30), prose(12)
    rows = [{"id": 7, "question": question, "answer": answer}, {"id": 8, "question": prose(30), "answer": "no"}]
    test_set = tmp_path / "test.jsonl"
    test_set.write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = jsonl(tmp_path / "train.jsonl", [f"{question} {answer}", f"{prose(40)} {answer}", prose(40)])
    found = nd.decontaminate(train, against=test_set, fields=["question", "answer"])
    assert {(m["id"], m["field"]) for m in found.matches.to_pylist()} == {
        ("train0", "question"),
        ("train0", "answer"),
        ("train0", "together"),
        ("train1", "answer"),
    }
    assert found.by_test_set() == [
        {"test_set": str(test_set), "items": 2, "found": 1, "only_common": 0, "documents": 2}
    ]


def test_documents_whose_guessed_ids_repeat_are_named_by_row(tmp_path: Path) -> None:
    items = [prose(20), prose(20)]
    train = pa.table({"url": ["http://a"] * 3, "text": [prose(30), *(f"{prose(9)} {item}" for item in items)]})
    against = jsonl(tmp_path / "set.jsonl", items)
    found = nd.decontaminate(train, against=against)
    assert found.matches["id"].to_pylist() == ["input#1", "input#2"]
    assert any('"url"' in note and "more than once" in note for note in found.notes)
    named = nd.decontaminate(train, against=against, id="url")
    assert named.matches["id"].to_pylist() == ["http://a"] * 2
    assert named.matches["row"].to_pylist() == [1, 2]


def test_settings_and_inputs_that_cannot_be_used(tmp_path: Path) -> None:
    assert_refused(
        (SettingError, "threshold is 0", lambda: found_in(tmp_path, ["a"], ["b"], threshold=0)),
        (SettingError, "common is 2", lambda: found_in(tmp_path, ["a"], ["b"], common=2)),
        (SettingError, "run is 0", lambda: found_in(tmp_path, ["a"], ["b"], run=0)),
        (SettingError, "words as they are", lambda: found_in(tmp_path, ["a"], ["b"], unit="char")),
        (InputError, "no item", lambda: found_in(tmp_path, ["a"], [""])),
        (InputError, "No test set", lambda: found_in(tmp_path, ["a"])),
    )


def test_share_is_compared_as_a_fraction(tmp_path: Path) -> None:
    item = prose(24)  # 20 shingles
    train = [" ".join(item.split()[:20])]  # 16 of them: exactly .8
    assert found_in(tmp_path, train, [item], threshold=0.8).contaminated == 1
    assert found_in(tmp_path, train, [item], threshold=float(Fraction(80001, 100000))).contaminated == 0


@pytest.mark.parametrize(("run", "evidence"), [(20, ["run"]), (21, [])])
def test_common_text_with_few_other_words_needs_a_long_run(tmp_path: Path, run: int, evidence: list[str]) -> None:
    """All but the last two words are common; the copy has the twenty-first word changed."""
    phrase = prose(38)
    item = f"{phrase} {prose(2)}".split()
    train = [f"{prose(10)} {phrase} {prose(10)}" for _ in range(12)]
    copied = " ".join([*item[:20], "other", *item[21:]])
    found = found_in(tmp_path, [*train, copied], [" ".join(item)], run=run)
    assert found.matches["evidence"].to_pylist() == evidence


def test_the_strongest_match_of_each_item_is_shown(tmp_path: Path) -> None:
    items = [prose(30) for _ in range(24)]
    halves = [f"{prose(9)} {item.rsplit(' ', 3 + k % 2)[0]} {prose(9)}" for k, item in enumerate(items)]
    found = found_in(tmp_path, [*halves, *(f"{prose(9)} {item}" for item in items[:5])], items)
    shown = [(one.item, one.match["share"], one.match["run"]) for one in found.strongest]
    assert {item for item, *_ in shown[:5]} == set(items[:5])
    assert len({item for item, *_ in shown}) == len(shown) == 20
    assert [strength for _, *strength in shown] == sorted((strength for _, *strength in shown), reverse=True)
    assert {run for *_, run in shown[5:14]} == {27}, "the shorter copies come last"
