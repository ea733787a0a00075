"""Settings that go together with SimHash, and those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from neardup.errors import SettingError
from neardup.settings import Settings


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"distance": 17},
            "distance is 17. Allowed: a number from 0 to 16, since unrelated fingerprints differ in about 32 of "
            "64 bits.",
        ),
        (
            {"method": "exact"},
            "method is 'exact' and sketch is 'simhash'. Allowed: With sketch simhash, method auto: the candidates "
            "are all pairs within the distance. Try: Leave out method, or leave out sketch.",
        ),
        (
            {"method": "lsh"},
            "method is 'lsh' and sketch is 'simhash'. Allowed: With sketch simhash, method auto: the candidates "
            "are all pairs within the distance. Try: Leave out method, or leave out sketch.",
        ),
        (
            {"measure": "chunk-union"},
            "measure is 'chunk-union' and sketch is 'simhash'. Allowed: With sketch simhash, measures of sets; "
            "common text is not a set. Try: Choose another measure, or leave out sketch: with this measure every "
            "pair is found anyway.",
        ),
        (
            {"measure": "lcs"},
            "measure is 'lcs' and sketch is 'simhash'. Allowed: With sketch simhash, measures of sets; "
            "common text is not a set. Try: Choose another measure, or leave out sketch: with this measure every "
            "pair is found anyway.",
        ),
        (
            {"slots": 64},
            "slots is 64 and sketch is 'simhash'. Allowed: With sketch simhash, neither slots nor recall: the "
            "distance alone decides. Try: Leave out slots; audit measures the recall.",
        ),
        (
            {"recall": 0.9},
            "recall is 0.9 and sketch is 'simhash'. Allowed: With sketch simhash, neither slots nor recall: the "
            "distance alone decides. Try: Leave out recall; audit measures the recall.",
        ),
        (
            {"sketch": "classic", "distance": 5},
            "distance is 5 and sketch is 'classic'. Allowed: bits, features, distance only with sketch simhash. "
            "Try: Choose sketch simhash, or leave out distance.",
        ),
        (
            {"sketch": "one-permutation", "bits": 128, "features": "word"},
            "bits is 128 and sketch is 'one-permutation'. Allowed: bits, features, distance only with sketch "
            "simhash. Try: Choose sketch simhash, or leave out bits.",
        ),
    ],
)
def test_what_simhash_does_not_go_together_with(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.of(**{"sketch": "simhash", **values})
    assert str(caught.value) == said


@pytest.mark.parametrize("measure", ["resemblance", "containment", "overlap", "vocabulary", "multiset"])
def test_what_simhash_goes_together_with(measure: str) -> None:
    made = Settings.of(sketch="simhash", measure=measure, distance=32, bits=128, audit=5, slots=128, recall=0.99)
    assert made.by_simhash
    assert not Settings.of(measure=measure).by_simhash
