"""Places in ascending arrays are those that NumPy finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.sorting import first_at_least, first_within


@given(st.lists(st.integers(-9, 9), max_size=20), st.integers(-11, 11))
def test_the_first_place_is_that_of_numpy(drawn: list[int], least: int) -> None:
    values = np.sort(np.array(drawn, np.int64))
    assert first_at_least(values, least) == np.searchsorted(values, least)
    assert first_at_least(values, least + 1) == np.searchsorted(values, least, side="right")


@given(st.lists(st.integers(-9, 9), max_size=20), st.integers(-11, 11), st.data())
def test_within_a_span_too(drawn: list[int], least: int, data: st.DataObject) -> None:
    values, end = np.sort(np.array(drawn, np.int64)), data.draw(st.integers(0, len(drawn)))
    begin = data.draw(st.integers(0, end))
    assert first_within(values, begin, end, least) == begin + np.searchsorted(values[begin:end], least)
