"""How many documents of a sample resemble each other, and what a run with them takes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.deduplication.run.predict import (
    A_MET_PAIR,
    A_SHINGLE,
    CROWD,
    LISTED,
    PAIR_MEMORY,
    Crowding,
    RunCost,
    crowding_of,
    join_of_all,
    predict,
    share_of_all,
)
from neardup.io.readers import choose_columns, open_files
from neardup.settings import GroupSettings, SearchSettings, Settings
from neardup.text.sketch.documents import ShingleSets
from support.messages import has_parts

DOCUMENTS = 3000


def sets(*members: Any) -> ShingleSets:
    hashes = np.concatenate([np.array(one, np.uint64) for one in members])
    return ShingleSets(hashes, np.cumsum([0, *(len(one) for one in members)]))


def asked(settings: Settings) -> tuple[SearchSettings, GroupSettings]:
    return settings.search, settings.grouping


def test_a_limit_below_the_memory_of_a_run_is_warned_of() -> None:
    costs = [RunCost(10, memory=500_000_000, disk=0, seconds=1, limit=limit) for limit in (None, 5 * 10**8)]
    assert [cost.warning for cost in costs] == [None, None]
    assert has_parts(replace(costs[1], limit=499_000_000).warning or "", "499.0 MB", "10 documents", "500.0 MB")


def test_time_and_memory_follow_from_shingles_and_pairs() -> None:
    made = Crowding(documents=10, shingles=1_000_000, pairs=200_000)
    assert made.seconds == pytest.approx(1_000_000 * A_SHINGLE + 200_000 * A_MET_PAIR)
    assert made.memory == 200_000 * PAIR_MEMORY
    assert Crowding().seconds == Crowding().memory == 0


def test_a_crowd_below_the_threshold_has_shingles_and_no_pairs() -> None:
    """Four sets of 20 share 12 of 28: resemblance .43, of a threshold of .8; four others share nothing."""
    alike = [[*range(12), *range(100 * k, 100 * k + 8)] for k in range(1, 5)]
    apart = [range(10_000 * k, 10_000 * k + 10) for k in range(1, 5)]
    made = crowding_of(sets(*alike, *apart), 80_000, *asked(Settings.of(threshold=0.8)))
    assert made == Crowding(documents=40_000, shingles=800_000, pairs=0)
    assert crowding_of(sets(*alike, *apart), 80_000, *asked(Settings.of(threshold=0.9))) == Crowding()


def test_pairs_are_those_that_a_run_lists() -> None:
    """Five equal sets: each document meets four fifths of all; the diagonal is not counted."""
    sample = sets(*[range(10)] * 5)
    few, many = CROWD + 200, 100 * CROWD  # 960 partners each, and 80,000
    needed, every = Settings.of(), Settings.of(pairs="all")
    assert crowding_of(sample, few, *asked(every)) == Crowding()  # 960 do not make a crowd
    assert crowding_of(sample, many, *asked(needed)) == Crowding(many, 10 * many, many)
    assert crowding_of(sample, many, *asked(every)).pairs == many * 80_000 / 2
    # of 30 documents, two meet: 400 partners each in a crowd of 12,000 documents that are alike
    base = list(range(40))
    members = [[*base[:30], *range(1000 * k, 1000 * k + 10)] for k in range(1, 31)]
    members[1] = [*members[0][:-1], 9_999]
    made = crowding_of(sets(*members), 12_000, *asked(Settings.of(threshold=0.9)))
    assert (made.documents, made.pairs) == (12_000, 2 * 400 * LISTED)


def test_a_small_family_is_no_crowd() -> None:
    """Two of the sample are alike: that may be chance, however many documents there are."""
    sample = sets(range(10), range(10), *(range(100 * k, 100 * k + 10) for k in range(1, 9)))
    assert crowding_of(sample, 10**9, *asked(Settings.of())) == Crowding()


def words(draw: random.Random, count: int) -> list[str]:
    return [f"{draw.randrange(16**6):06x}" for _ in range(count)]


def letters(draw: random.Random) -> list[str]:
    template, made = words(draw, 60), []
    for _ in range(DOCUMENTS):
        letter = list(template)
        for place in draw.sample(range(60), 2):
            letter[place] = words(draw, 1)[0]
        made.append(" ".join(letter))
    return made


def predicted(path: Path, texts: list[str]) -> tuple[RunCost, float]:
    """The prediction, and what the crowds add to its time."""
    pq.write_table(pa.table({"text": texts}), path)
    documents = open_files([str(path)])
    made = predict(documents, choose_columns(documents, None, None), Settings.of(threshold=0.7), None)
    return made, made.crowds.seconds


def test_letters_take_longer_than_unrelated_texts(tmp_path: Path) -> None:
    """3,000 letters took about .9 s of processor time more, at the rate of those of benchmarks/crowds.py."""
    draw = random.Random(7)
    alike, added = predicted(tmp_path / "letters.parquet", letters(draw))
    apart, nothing = predicted(tmp_path / "apart.parquet", [" ".join(words(draw, 60)) for _ in range(DOCUMENTS)])
    assert 0.3 < added < 2.7
    assert nothing == 0
    assert alike.crowds.documents == pytest.approx(DOCUMENTS, rel=0.05)
    assert "resemble each other" in alike.in_words
    assert "resemble" not in apart.in_words
    assert alike.memory - apart.memory == pytest.approx(alike.crowds.memory, rel=0.2)


def test_exact_copies_are_no_crowd(tmp_path: Path) -> None:
    """They fold into one document before any search."""
    made, added = predicted(tmp_path / "copies.parquet", words(random.Random(1), 1) * DOCUMENTS)
    assert added == 0
    assert made.crowds == Crowding()


def test_a_sample_of_plain_pages_is_read_before_the_pass_has_ended(tmp_path: Path) -> None:
    """The chunks of the sample end within the first file, so the files of chunks are not known yet."""
    draw, path = random.Random(3), tmp_path / "plain.parquet"
    texts = [" ".join(words(draw, 60)) for _ in range(20_000)] * 8
    table = pa.table({"id": range(len(texts)), "text": texts})
    pq.write_table(table, path, row_group_size=len(texts), use_dictionary=False, compression="none")
    documents = open_files([str(path)])
    assert predict(documents, choose_columns(documents, None, None), Settings.of(), None).documents == len(texts)


@pytest.mark.parametrize("near", ["close by", "anywhere"])
def test_the_join_of_all_documents_follows_from_that_of_some(near: str) -> None:
    """8,000 sets of 40 shingles, some of these frequent; a third of the sets have a near copy."""
    draw, search = np.random.default_rng(4), SearchSettings(threshold=0.7)
    made: list[np.ndarray[Any, Any]] = []
    while len(made) < 8000:
        one = np.unique((300_000 * draw.random(40) ** 2).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        copy = np.unique(np.append(one[:-2], draw.integers(2**60, size=2).astype(np.uint64)))
        made += [one, copy] if draw.random() < 0.2 else [one]
    if near == "anywhere":
        made = [made[k] for k in draw.permutation(len(made))]
    every, some = (sets(*of_lists) for of_lists in (made, made[:2000]))
    from_some, from_all = (join_of_all(read, len(made), search, 1) for read in (some, every))
    assert from_some["proposed"] == pytest.approx(1 / 3, abs=0.05)
    assert from_some["entries"] == pytest.approx(from_all["entries"], rel=0.25)
    assert from_some["lookups"] == pytest.approx(from_all["lookups"], rel=0.5)


def test_the_share_of_all_documents_near_others_depends_on_where_these_are() -> None:
    """A tenth of the sample; as many of its first half if copies are close by, and half as many if not."""
    sample, close, apart = (np.arange(1000) % 10 < 1, np.arange(500) % 10 < 1, np.arange(500) % 20 < 1)
    assert share_of_all(sample, close, 9.0) == 0.1
    assert share_of_all(sample, apart, 9.0) == pytest.approx(0.5)  # odds of 1 : 9, nine times
    nothing = np.zeros(1000, np.bool_)
    assert share_of_all(nothing, nothing, 1.0) == 0
    assert share_of_all(nothing, nothing, 1000.0) == 0.3  # the sample is too small a part
