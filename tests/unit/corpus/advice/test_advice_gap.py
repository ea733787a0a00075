"""The gap between relatives and strangers, templates, and the recommended command, against naive counts."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neardup as nd
from neardup.corpus.advice import outlook, sample
from neardup.corpus.advice.recommend import EACH, passages
from neardup.corpus.advice.sample import KINDS, counts_of
from neardup.corpus.advice.templates import Templates, common_shares, find_templates
from neardup.runtime import Advance, Silent
from neardup.settings import Settings
from neardup.text import keys
from support import made_advice_sets as made
from support.made_advice_cases import many_templates, three_kinds
from support.messages import has_parts
from support.reference_advice import as_texts, shared_shingles


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.unit}-{kind.length}")
def test_the_shingles_of_all_pairs_are_counted(kind: sample.RunKind) -> None:
    texts = [
        *made.forms(1, 5, 8, 2)[0],
        *made.threads(2, 4)[0],
        "a",
        "",
        "a b",
        "same words here",
        "same words here",
    ]
    counts = counts_of(as_texts(texts), kind, Settings())
    shared, sizes = shared_shingles(texts, kind.unit, kind.length)
    assert counts.sizes.tolist() == sizes
    for (a, b), count in shared.items():
        assert counts.shared[a, b] == counts.shared[b, a] == count
    assert not counts.shared.diagonal().any()
    for a, b in combinations(range(len(texts)), 2):
        together = sizes[a] + sizes[b] - shared[a, b]
        assert counts.similar("resemblance")[a, b] == pytest.approx(shared[a, b] / max(together, 1))
        assert counts.similar("overlap")[a, b] == pytest.approx(shared[a, b] / max(min(sizes[a], sizes[b]), 1))


# ---------------------------------------------------------------------------------------------------------
# The command, on labelled sets

SETS: dict[str, Callable[[], made.Labelled]] = {
    "scans": lambda: made.scans(51, 0.12, 12),
    "acts": lambda: made.revisions(52, 12, 9, 0.35),
    "threads": lambda: made.threads(53, 12),
    "excerpts": lambda: made.excerpts(54, 12),
    "titles": lambda: made.titles(55, 60),
    "strangers": lambda: made.strangers(56, 20),
    "forms": lambda: made.forms(57, 24, 24, 5, resent=6),
    "spaceless": lambda: made.without_spaces(made.revisions(58, 8, 5, 0.1)),
}


def pairs_of(group: list[Any]) -> set[tuple[int, int]]:
    return {(a, b) for a, b in combinations(range(len(group)), 2) if group[a] == group[b]}


def found_by(advice: nd.Advice, texts: list[str]) -> set[tuple[int, int]]:
    group: list[Any] = list(range(len(texts)))
    for row in nd.find(texts, **advice.recommended.settings).groups.select(["id", "group"]).to_pylist():
        group[row["id"]] = f"group {row['group']}"
    return pairs_of(group)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", SETS)
def test_the_recommended_command_finds_the_relatives(name: str) -> None:
    texts, families = SETS[name]()
    advice = nd.advise(texts)
    found, truth = found_by(advice, texts), pairs_of(families)
    right = len(found & truth)
    assert right >= 0.95 * len(found)
    assert 2 * right >= 0.95 * (len(found) + len(truth))
    assert advice.seen.outcome == ("no near copies" if name == "strangers" else "gap")
    assert (advice.seen.templated > 0) == (name == "forms")


def test_sixty_contents_in_one_template_are_not_removed() -> None:
    texts, _ = made.forms(16, 60, 40, 2)
    assert nd.find(texts).run.counts.removed > 50  # a run with the defaults
    advice = nd.advise(texts)
    assert advice.seen.templated == 60
    assert advice.seen.outcome == "template"
    assert found_by(advice, texts) == set()
    said = " ".join(str(advice).split())
    assert has_parts(said, "60 documents share", "template")
    assert has_parts(said, "--ignore-common 0.3:", "not count")
    assert " --ignore-common 0.3 " in advice.recommended.command


def test_without_a_share_of_common_text_the_threshold_is_above_strangers(tmp_path: Path) -> None:
    """With a base text no share is tried."""
    texts, _ = made.forms(16, 5, 40, 2)
    base = tmp_path / "base.txt"
    base.write_text("this text is no form", encoding="utf-8")
    advice = nd.advise(texts, ignore=base)
    assert advice.seen.outcome == "template"
    assert advice.recommended.settings["ignore_common"] == 0
    assert found_by(advice, texts) == set()
    assert any("in one template" in reason for reason in advice.recommended.reasons)


def crowd(documents: int, words: int) -> list[str]:
    """Return documents that differ in a few words each."""
    text = [f"word{k * k % 997}" for k in range(words)]
    texts = []
    for n in range(documents):
        changed = list(text)
        changed[7 * n % words] = f"change{n}"
        texts.append(" ".join(changed))
    return texts


def test_documents_of_one_family_are_called_one() -> None:
    texts = crowd(30, 200)
    advice = nd.advise(texts)
    assert advice.seen.outcome == "one family"
    assert "versions of one text" in str(advice)
    assert any("versions of one text" in reason for reason in advice.recommended.reasons)
    assert len(found_by(advice, texts)) == 30 * 29 // 2
    assert nd.advise(texts[:3]).seen.outcome == "no gap"
    assert (
        nd.advise([*texts, *(f"a stranger {n} " + f"with text {n} " * n for n in range(40))]).seen.outcome == "gap"
    )


def templates_of(texts: list[str]) -> Templates:
    return find_templates(as_texts(texts), Settings())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("each", [6, 10])
def test_forms_among_letters_are_compared_by_their_contents(seed: int, each: int) -> None:
    """Letters much revised are less alike than forms with different contents."""
    texts, families = many_templates(seed, 8, each)
    advice = nd.advise(texts)
    assert advice.seen.templated >= 0.9 * 8 * each
    share = advice.recommended.settings["ignore_common"]
    smallest = min(Counter(family % 8 for family in families if family < 8 * each).values())
    assert 3 / len(texts) <= share < smallest / len(texts)
    assert f" --ignore-common {share} " in advice.recommended.command
    reasons = " ".join(advice.recommended.reasons)
    assert has_parts(reasons, f"--ignore-common {share:g}:", "expected F1")
    found, truth = found_by(advice, texts), pairs_of(families)
    assert 2 * len(found & truth) >= 0.95 * (len(found) + len(truth))
    assert nd.advise(texts, ignore_common=0.9).recommended.settings["ignore_common"] == 0.9  # as it was asked for


@pytest.mark.parametrize("seed", range(20))
def test_shares_are_below_a_template_and_not_below_versions(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sizes = tuple(sorted(draw.integers(4, 60, int(draw.integers(0, 4))).tolist()))
    templated, groups = sum(sizes), draw.integers(0, int(draw.integers(2, 100)), 200)
    false = np.zeros((sum(sizes) + 200,) * 2, np.bool_)
    false[:templated, :templated] = True
    of_each = np.concatenate((np.zeros(templated, np.int64), 1 + groups))
    largest = int(np.bincount(groups).max())
    shares = common_shares(Templates(false, sizes), of_each)
    smallest = min((size for size in sizes if 0.9 * size >= max(largest, 2)), default=len(of_each))
    assert list(shares) == sorted(set(shares), reverse=True)
    for share in shares:
        assert 0.95 * largest <= share * len(of_each) < smallest  # two digits
    assert shares or largest > 0.1 * len(of_each)


def test_versions_of_several_kinds_are_compared_by_their_rarer_text() -> None:
    """Bad scans share little more than unrelated texts do, until the text of many documents is left out."""
    with made.spoken(made.PhrasedLanguage):
        texts, families = three_kinds(1103, 40)
    advice = nd.advise(texts)
    share = advice.recommended.settings["ignore_common"]
    assert (advice.seen.templated, advice.seen.outcome) == (0, "gap")
    assert has_parts(" ".join(advice.recommended.reasons), f"--ignore-common {share:g}:", "rarer", "expected F1")
    found, truth = found_by(advice, texts), pairs_of(families)
    assert 2 * len(found & truth) >= 0.95 * (len(found) + len(truth))


def test_each_kind_of_shingles_is_reported_as_it_is_counted() -> None:
    class Recorded(Silent):
        @contextmanager
        def stage(self, name: str, total: int | None, unit: str) -> Iterator[Advance]:
            if name == "looks":
                stages.append([total])
            yield lambda amount: stages[-1].append(amount) if name == "looks" else None

    stages: list[list[int | None]] = []
    nd.advise(made.forms(57, 24, 24, 5, resent=6)[0], progress=Recorded())
    assert len(stages) > 1
    assert all(stage == [len(KINDS), *[1] * len(KINDS)] for stage in stages)


def test_scattered_errors_are_not_contents() -> None:
    """A template has its contents in one place: four scans of a page differ everywhere."""
    few, many = made.forms(63, 10, 30, 5, templates=2), made.scans(64, 0.01, 40)
    texts, families = made.mixture(few, many, made.strangers(65, 40))
    found = templates_of(texts)
    assert found.sizes == (5, 5)
    assert not any(found.false[a, b] for a, b in pairs_of(families))


@pytest.mark.parametrize("name", ["acts", "threads", "scans"])
def test_versions_of_one_text_are_not_a_template(name: str) -> None:
    texts, _ = SETS[name]()
    found = templates_of(texts)
    assert (found.sizes, int(found.false.sum())) == ((), 0)


def test_contents_resent_in_a_template_are_not_strangers() -> None:
    texts, families = made.forms(17, 14, 24, 5, resent=2)
    found = templates_of(texts)
    assert found.sizes == (16,)
    for a, b in combinations(range(16), 2):
        assert found.false[a, b] == found.false[b, a] == (families[a] != families[b])


def test_without_a_gap_the_command_is_cautious() -> None:
    drawn = made.Language(3)
    words = drawn.words[:400]
    texts = [" ".join(words[k * 6 : k * 6 + 120]) for k in range(46)]  # each shares .9 with the next
    advice = nd.advise(texts)
    settings = advice.recommended.settings
    assert advice.seen.outcome == "no gap"
    assert (settings["unit"], settings["length"], settings["threshold"]) == outlook.NO_GAP
    assert settings["groups"] == "principal"
    assert "no gap" in str(advice)


def test_without_near_copies_the_settings_stay() -> None:
    advice = nd.advise(made.strangers(59, 12)[0], threshold=0.65, length=4)
    settings = advice.recommended.settings
    assert (settings["threshold"], settings["length"], settings["unit"]) == (0.65, 4, "word")
    assert "No near copies" in " ".join(str(advice).split())


@pytest.mark.parametrize("texts", [[], [""], ["a"], ["a", "a"], ["", "!", "."], ["one two", "one three"]])
def test_few_documents_are_no_problem(texts: list[str]) -> None:
    advice = nd.advise([*texts, "x"])
    assert advice.seen.outcome in ("no near copies", "no gap")
    assert "neardup dedup" in str(advice)


def test_the_settings_of_the_command_are_told_with_reasons() -> None:
    advice = nd.advise(SETS["acts"]()[0])
    words = shlex.split(advice.recommended.command)
    settings = advice.recommended.settings
    for name in ("unit", "length", "measure", "threshold", "groups", "method"):
        assert words[words.index(f"--{name}") + 1] == str(settings[name])
    reasons = " ".join(advice.recommended.reasons)
    assert set(re.findall(r"--([a-z]+)", reasons)) >= {
        "unit",
        "length",
        "measure",
        "threshold",
        "groups",
        "method",
    }
    assert settings["groups"] == "components"
    assert json.loads(json.dumps(advice.as_dict()))["recommended"]["settings"] == settings


# ---------------------------------------------------------------------------------------------------------
# The pairs around the line


def test_five_pairs_on_either_side_are_the_closest() -> None:
    texts, _ = SETS["titles"]()
    advice = nd.advise(texts)
    line = advice.around
    counts = shared_shingles(texts, line.unit, line.length)
    sizes, by_overlap = counts[1], line.measure == "overlap"
    values = {
        (str(a), str(b)): count / (min(sizes[a], sizes[b]) if by_overlap else sizes[a] + sizes[b] - count)
        for (a, b), count in counts[0].items()
    }
    above = sorted(value for value in values.values() if value >= line.threshold)
    below = sorted((value for value in values.values() if 0 < value < line.threshold), reverse=True)
    assert len(line.above) == len(line.below) == EACH
    assert min(pair.value for pair in line.above) == pytest.approx(above[0], abs=1e-6)
    assert max(pair.value for pair in line.below) == pytest.approx(below[0], abs=1e-6)
    for pair in (*line.above, *line.below):
        assert pair.value == pytest.approx(values[pair.id_a, pair.id_b], abs=1e-6)
        assert pair.only_a in texts[int(pair.id_a)]
        assert pair.only_a != pair.only_b
    ends = [end for pair in line.above for end in (pair.id_a, pair.id_b)]
    assert len(ends) == len(set(ends))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("same", "same", ("", "")),
        ("", "new", ("", "new")),
        ("a b c d e", "a b x y d e", ("c", "x y")),
        ("a b c d e f g", "a X c d e f g h i j", ("", "h i j")),
        ("w " * 5000, "w " * 4999 + "v", ("", "")),
    ],
)
def test_passages_are_the_longest_difference(a: str, b: str, expected: tuple[str, str]) -> None:
    assert passages(a, b) == expected


def test_passages_are_cut() -> None:
    only_a, only_b = passages("x" * 500, " ".join(f"word{k}" for k in range(40)))
    assert max(len(only_a), len(only_b)) <= 95
    assert only_a.endswith("…")
    assert only_b.endswith("word11 …")


def test_hostile_texts_reach_neither_terminal_nor_page() -> None:
    texts = [text + " \x1b[2J<b>" for text in SETS["titles"]()[0][:40]]
    advice = nd.advise(texts)
    assert all(line.isprintable() for line in str(advice).splitlines())
    assert "<b>" not in advice._repr_html_()


# ---------------------------------------------------------------------------------------------------------
# Bounds


def test_a_large_sample_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, families = made.mixture(made.revisions(61, 20, 4, 0.1), made.strangers(62, 60))
    monkeypatch.setattr(sample, "MOST_LOOKED_AT", 50)
    advice = nd.advise(texts)
    assert 30 <= advice.seen.documents <= 50
    assert "of the sample" in " ".join(str(advice).split())
    found, truth = found_by(advice, texts), pairs_of(families)
    assert len(found & truth) >= 0.9 * max(len(found), len(truth))
    monkeypatch.setattr(sample, "MOST_BYTES_LOOKED_AT", 20_000)
    assert nd.advise(texts).seen.bytes <= 20_000


def test_the_advice_does_not_depend_on_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, _ = SETS["threads"]()
    first = nd.advise(texts).as_dict()
    monkeypatch.setattr(keys, "process_key", lambda: keys.key_of(bytes(range(32))))
    monkeypatch.setattr(sample, "process_key", lambda: keys.key_of(bytes(range(32))))
    assert nd.advise(texts).as_dict() == first
