"""Shingles of one text counted in others, against their sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.settings import Settings
from neardup.text.keys import key_of
from neardup.text.sketch.documents import shared_shingles, shared_with_each, shingle_sets
from support.strategies import any_text

KEY = key_of(bytes(32))
WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "é"]), max_size=40).map(" ".join)


@given(st.one_of(WORDS, any_text()), st.lists(st.one_of(WORDS, any_text()), max_size=6), st.integers(1, 6))
def test_what_is_shared_is_the_intersection_of_the_sets(asked: str, texts: list[str], length: int) -> None:
    form = Settings.of(length=length)
    sets = shingle_sets(pa.array([asked, *texts]), np.arange(len(texts) + 1), form, KEY)
    own, *others = np.split(sets.hashes, sets.offsets[1:-1])
    counted, hashes, offsets = shared_shingles(pa.array(texts, pa.large_string()), own, form, KEY)
    assert counted.tolist() == [len(np.intersect1d(own, other)) for other in others]
    in_order = [hashes[begin:end] for begin, end in pairwise(offsets.tolist())]
    assert [set(found.tolist()) for found in in_order] == [set(other.tolist()) for other in others]
    assert shared_with_each(in_order, own).tolist() == shared_with_each(others, own).tolist() == counted.tolist()
