"""SimHash families: their fingerprints against the naive twin, features of one's own, what is refused."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.errors import InputError, SettingError
from neardup.kernels.sketch.simhash import majority
from neardup.text.sketch.simhash import of_features, simhash
from neardup.unicode import normalise, tokens
from support import reference_hamming as twin
from support.full_run import FULL
from support.messages import assert_refused
from support.strategies import any_text, ascii_text, words64

FAMILIES = st.builds(
    nd.SimHash,
    st.sampled_from([64, 128, 192, 512]),
    st.sampled_from(["char:4", "char:1", "char:7", "joined:4", "joined:9", "word", "shingle:2", "shingle:5"]),
)
TEXTS = [
    "The night is dark and the moon is red.",
    "",
    "a",
    " \t\n",
    "Ünïcode — 東京\u3000abc",
    "x" * (9000 if FULL else 3000),
    "ab " * 400,
]


def numbers(rows: np.ndarray) -> list[int]:
    """Return fingerprints as whole numbers."""
    if rows.ndim == 1:
        return [int(word) for word in rows.tolist()]
    return [sum(word << 64 * place for place, word in enumerate(row)) for row in rows.tolist()]


@given(st.lists(any_text(), max_size=4), FAMILIES)
def test_fingerprints_of_texts(texts: list[str], family: nd.SimHash) -> None:
    made = family.sketch(texts)
    assert made.shape == ((len(texts),) if family.bits == 64 else (len(texts), family.bits // 64))
    assert made.dtype == np.uint64
    assert numbers(made) == [twin.simhash(text, family.bits, family.features) for text in texts]
    assert [family.of(text) for text in texts] == numbers(made)


@given(any_text(), FAMILIES)
@example("a \u0301bc", nd.SimHash())  # without white space the accent would be written onto the letter
@example("To be, or NOT to be? 東京", nd.SimHash(128, "joined:4"))
def test_a_text_is_the_sum_of_its_stated_features(text: str, family: nd.SimHash) -> None:
    features = family.features_of(text)
    assert family.of_features(features) == family.of(text)
    kind, _, length = family.features.partition(":")
    assert [name for name, _ in features] == list(dict.fromkeys(name for name, _ in features))
    if kind in ("char", "joined"):
        solid = [char for char in normalise(text) if char in "\x1c\x1d\x1e\x1f" or not char.isspace()]
        whole = "".join(solid if kind == "char" else tokens(text))
        assert sum(weight for _, weight in features) == (max(1, len(whole) - int(length) + 1) if whole else 0)
        assert all(name in whole and len(name) == min(int(length), len(whole)) for name, _ in features)


def test_features_as_the_classic_example_has_them() -> None:
    """Lower case, runs of word characters joined, windows of four: ``[\\w]+`` of the package simhash."""
    text = "How are you? I am fine. Thanks."
    joined = "".join(re.findall(r"\w+", text.lower()))
    windows = Counter(joined[at : at + 4] for at in range(len(joined) - 3))
    family = nd.SimHash(features="joined:4")
    assert dict(family.features_of(text)) == windows
    typed = "how are you i am fine -- THANKS"
    assert family.of(text) == family.of_features(windows.items()) == family.of(typed)
    assert nd.SimHash().of(text) != nd.SimHash().of(typed)


def test_words_that_are_typed_are_the_words_of_a_text() -> None:
    words = nd.SimHash(features="word")
    assert words.of("The moon, the red moon") == words.of_features([("the", 2), ("moon", 2), ("red", 1)])
    # what no text has as a feature keeps its own hash: nothing is folded together
    assert len({words.of_features([(name, 1)]) for name in ("moon", "Moon", "moon!", "moon ", "a b", "")}) == 6


@pytest.mark.part(2)
@pytest.mark.parametrize("features", ["char:4", "joined:3", "word", "shingle:3"])
def test_many_features_and_none(features: str) -> None:
    made = numbers(nd.SimHash(features=features).sketch(TEXTS))
    assert made == [twin.simhash(text, 64, features) for text in TEXTS]
    assert made[1] == made[3] == 0


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 247, 248, 249, 255, 256, 257, 496, 497, 5001 if FULL else 1501])
def test_majority_of_any_number_of_hashes(n: int) -> None:
    rng = np.random.default_rng(n)
    kinds = (rng.integers(0, 2**64, n, dtype=np.uint64), np.full(n, 2**64 - 1, np.uint64), np.zeros(n, np.uint64))
    hashes = np.choose(rng.integers(0, 3, n), kinds).tolist()
    room = np.array(hashes + [2**64 - 1] * 7, np.uint64)
    counts, votes = np.empty(64, np.uint8), np.empty(64, np.int64)
    assert int(majority(room, n, counts, votes)) == twin.signs([(value, 1) for value in hashes], 64)


@given(st.lists(any_text(), max_size=4))
def test_a_wide_fingerprint_begins_with_the_narrow_ones(texts: list[str]) -> None:
    wide = nd.SimHash(1024).sketch(texts)
    assert wide[:, 0].tolist() == nd.SimHash(64).sketch(texts).tolist()
    assert wide[:, :3].tolist() == nd.SimHash(192).sketch(texts).tolist()
    names = [(text, 1) for text in texts]
    assert nd.SimHash(320).of_features(names) == nd.SimHash(1024).of_features(names) & 2**320 - 1


@given(any_text())
def test_it_is_the_simhash_that_compare_uses(text: str) -> None:
    assert nd.SimHash().of(text) == simhash(text)


@given(ascii_text())
def test_case_and_white_space_do_not_count_in_character_windows(text: str) -> None:
    bare = "".join(char for char in text if not char.isspace() or char in "\x1c\x1d\x1e\x1f")
    assert nd.SimHash().of(text.upper()) == nd.SimHash().of(bare.lower())


def test_texts_in_any_form() -> None:
    family = nd.SimHash(128)
    expected = family.sketch(TEXTS).tolist()
    column = pa.array(["cut off", *TEXTS])[1:]
    for given_as in (column, pa.table({"text": column}), pl.DataFrame({"text": TEXTS}), pa.chunked_array([TEXTS])):
        assert family.sketch(given_as).tolist() == expected
    assert family.sketch(pa.array([None, "a"], pa.string())).tolist()[0] == [0, 0]
    assert family.sketch([]).shape == (0, 2)


# Features of one's own

WEIGHTS = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**70), 2**70),
    st.floats(-1e6, 1e6),
    st.sampled_from([0.1, 0.2, 0.3, -0.3, 1e-300, 1e300]),
)


@given(st.lists(st.tuples(words64(), WEIGHTS), max_size=12), st.randoms(use_true_random=False))
def test_weights_are_added_exactly(features: list[tuple[int, float]], random: Any) -> None:
    made = nd.SimHash().of_features(features)
    assert made == twin.signs(features, 64)
    random.shuffle(features)
    assert nd.SimHash().of_features(features) == made
    assert nd.SimHash(128).of_features(features) & 2**64 - 1 == made


def test_features_1001_0101_1101_give_1101() -> None:
    features = [(0b1001, 1), (0b0101, 1), (0b1101, 1)]
    assert nd.SimHash().of_features(features) == nd.SimHash(128).of_features(features) == 0b1101
    assert of_features(np.array([0b1001, 0b0101, 0b1101], np.uint64)) == 0b1101
    assert of_features(np.array([0b1001, 0b0101, 0b1101], np.uint64), np.array([1, 5, 1])) == 0b0101


def test_thirds_cancel_only_if_they_do() -> None:
    assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    family = nd.SimHash()
    assert family.of_features([(1, 0.1), (1, 0.2), (0, 0.3)]) == 1
    assert family.of_features([(1, 0.25), (1, 0.5), (0, 0.75)]) == 0


def test_named_features() -> None:
    family, wide = nd.SimHash(), nd.SimHash(128)
    own, of_text = "from=Ann", "moon"
    for name, fingerprint in ((own, 0x11D13D15E1CD866B), (of_text, nd.SimHash().of("moon"))):
        made = family.of_features([(name, 1)])
        assert made == family.of_features([(name, 0.5), ("red", np.float32(0.25)), ("night", np.int64(0))])
        assert made == fingerprint
        assert wide.of_features([(name, 1)]) & 2**64 - 1 == made
        assert family.of_features([(name, -1)]) == made ^ 2**64 - 1
        assert family.of_features([(name, -1), (name, 1)]) == 0
    assert family.of_features([]) == 0
    assert family.of_features([("Moon, red", 1)]) != family.of("Moon, red")


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (["moon"], "A feature is 'moon'. Allowed: A pair (feature, weight)."),
        (["ab"], "A pair"),
        ([("moon", 1, 2)], "A pair"),
        ([(2**64, 1)], "A feature is 18446744073709551616. Allowed: A str, or a hash: a whole number from 0"),
        ([(-1, 1)], "A str, or a hash"),
        ([(b"moon", 1)], "A str, or a hash"),
        ([("moon", float("nan"))], "A weight is nan. Allowed: A finite number."),
        ([("moon", float("inf"))], "A finite number"),
        ([("moon", "1")], "A weight is '1'"),
    ],
)
def test_refused_features(features: list[Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        nd.SimHash().of_features(features)
    assert said in str(error.value)


@pytest.mark.parametrize("features", ["char", "char:0", "char:65", "words", "shingle:", "char:4\n", "WORD", 4])
def test_refused_families(features: Any) -> None:
    with pytest.raises(SettingError, match=r"'char:N' .* 'joined:N' .* 'word', 'shingle:N' .* from 1 to 64"):
        nd.SimHash(features=features)


def test_refused_bits_and_texts() -> None:
    assert_refused(
        (SettingError, r"bits is 32\. Allowed: a multiple of 64 bits up to 1024", lambda: nd.SimHash(32)),
        (SettingError, "bits is 1088", lambda: nd.SimHash(1088)),
        (SettingError, "bits is 64.0", lambda: nd.SimHash(64.0)),  # type: ignore[arg-type]
        (InputError, "one str", lambda: nd.SimHash().sketch("a text")),
    )


def test_a_family_says_what_it_is() -> None:
    assert repr(nd.SimHash(128, "word")) == "SimHash(bits=128, features='word')"
