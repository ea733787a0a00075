"""The units of texts whose passages are looked up."""

from __future__ import annotations

from neardup.deduplication.group import loss
from neardup.settings import Shingles
from neardup.text.keys import process_key
from neardup.text.units import Units, read
from support import shared_data


def test_tokens_of_plain_texts_are_those_of_the_kernels() -> None:
    """European texts are cut by a regular expression for passages: the same hashes, and the same quotes."""
    key, form, plain = process_key(), Shingles(), 0
    oddities = [
        "½ cup of tea",
        "5² is 25",
        "naïve café – “quoted”, really…",
        "ﬁne ﬁgs",
        "e\u0301te\u0301",
        "a_b c-d x·y",
    ]
    for text in [*shared_data.documents("own").values(), *oddities]:
        found, expected = loss._units_of(text, form, key), read(text, key=key).units(True)
        plain += not isinstance(found, Units)
        assert found.hashes.tolist() == expected.hashes.tolist()
        for begin in range(0, len(expected), 40):
            end = min(begin + 25, len(expected))
            assert found.quote(begin, end) == expected.quote(begin, end)
    assert plain > 300
