"""Keyed hashes against their naive twins, and how often they collide where their domain is small enough to see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup import unicode as plain
from neardup.errors import SettingError
from neardup.kernels.shingles import mix_all
from neardup.kernels.text.hashing import PRIME, hash_characters, occurrence, stream_values, top_of
from neardup.settings import Settings
from neardup.text import keys
from neardup.text.sketch.documents import shingle_sets, sign
from neardup.text.units import words
from support import reference, reference_search, strategies
from support.messages import has_parts
from support.reference_keyed import Twin, polynomial

KEY = keys.key_of(bytes(range(32)))
TWIN = Twin(KEY)
TEXTS = st.lists(st.one_of(strategies.ascii_text(), strategies.any_text()), max_size=4)
LONG = "x" * 128 + " " + "y" * 129 + " " + "z" * 700 + " é" + "w" * 135


@given(TEXTS, st.sampled_from(["word", "char"]), st.integers(1, 7))
@example(["", LONG, "Some_Words eight888 nine99999 sixteen_sixteen_"], "word", 3)
@example(["é " + LONG], "word", 1)
def test_shingles_and_streams_are_those_of_the_formulas(texts: list[str], unit: str, length: int) -> None:
    form, array = Settings.of(unit=unit, length=length), pa.array(texts, pa.large_string())
    units = [plain.tokens(text) if unit == "word" else reference.characters(text) for text in texts]
    hashes = [[TWIN.token(one) if unit == "word" else TWIN.unit(one) for one in each] for each in units]
    sets = shingle_sets(array, np.arange(len(texts)), form, KEY)
    wanted = [reference_search.sort_distinct(TWIN.shingles(each, length)) for each in hashes]
    assert sets.hashes.tolist() == [value for each in wanted for value in each]
    in_order = shingle_sets(array, np.arange(len(texts)), form, KEY, "tokens")
    assert in_order.hashes.tolist() == [value for each in hashes for value in each]
    made = [reference.unit_hashes(text, unit) for text in texts]
    assert in_order.ranks.tolist() == [reference.stream_key(each)[0] for each in made]
    streams, nothing = np.empty((len(texts), 2), np.uint64), np.empty((len(texts), 0), np.uint32)
    sign(array, form, nothing, streams, KEY)
    if unit == "word":
        assert streams.tolist() == [list(TWIN.stream(each)) for each in units]


def test_the_same_signatures_whatever_the_key() -> None:
    texts, form = pa.array(["one two three four five six", "é ü", LONG]), Settings.of(slots=16)
    found = []
    for key in (keys.PUBLIC, KEY, keys.key_of(b"x" * 32)):
        signatures, streams = np.empty((3, 16), np.uint32), np.empty((3, 2), np.uint64)
        sign(texts, form, signatures, streams, key)
        found.append((signatures.tolist(), streams.tolist()))
    assert found[0][0] == found[1][0] == found[2][0]
    assert len({str(streams) for _, streams in found}) == 3


@given(st.lists(st.integers(0, 2**60 - 1), max_size=13), st.integers(1, 2**61 - 2), st.integers(1, 2**61 - 2))
def test_a_stream_is_two_polynomials(values: list[int], point: int, other: int) -> None:
    hashes = np.array([*values, 2**60 - 1], np.uint64)  # bytes behind the text must not count
    found = stream_values(hashes, hashes, len(values), np.array([point, other], np.uint64))
    padded = [len(values), *values, *[0] * (-len(values) % 4)]
    assert list(map(int, found)) == [polynomial(padded, point), polynomial(padded, other)]


def test_pairs_of_hashes_are_uniform() -> None:
    """Strongly universal: over random keys the top bits of two hashes take all pairs of values equally often."""
    rng, draws, bits = np.random.default_rng(11), 20_000, 2
    words = [int.from_bytes(word, "little") for word in (b"a", b"zzzzzzzz")]
    seen = np.zeros(1 << 2 * bits)
    for k in rng.integers(0, 2**64, (draws, 4), np.uint64):
        few = (k[0], k[1], k[2], k[3])
        one, two = (int(top_of(few, np.uint64(word))) >> (64 - bits) for word in words)
        seen[one << bits | two] += 1
    expected = draws / len(seen)
    assert ((seen - expected) ** 2 / expected).sum() < 45  # 15 degrees of freedom; 37.7 is one in a thousand


def same(left: str, right: str, hash: Callable[[Twin, str], int]) -> int:
    """Return under how many of 30 keys two tokens have the same hash, of which 3 bits are looked at."""
    twins = [Twin(keys.key_of(bytes([number]) * 32)) for number in range(30)]
    return sum(hash(twin, left) & 7 == hash(twin, right) & 7 for twin in twins)


@pytest.mark.parametrize(
    ("left", "right"), [("a", "b"), ("a" * 8, "a" * 9), ("a" * 24, "b" + "a" * 23), ("a" * 129, "a" * 136)]
)
def test_what_is_equal_under_one_key_differs_under_others(left: str, right: str) -> None:
    for hash in (Twin.token, Twin.second):
        assert same(left, right, hash) < 15  # about 4


def test_every_secret_spells_another_key() -> None:
    spelled = [keys.key_of(bytes([number]) * 32) for number in range(8)]
    for part in ("tokens", "shingles", "stream", "occurrences"):
        numbers = np.concatenate([getattr(key, part) for key in spelled])
        assert len(set(numbers.tolist())) == len(numbers)
    assert all((key.shingles[1:] & np.uint64(1)).all() and key.tokens[-1] & np.uint64(1) for key in spelled)
    assert all((key.stream < PRIME).all() for key in spelled)


def test_there_is_a_factor_for_every_position_that_a_shingle_can_have() -> None:
    Settings.of(length=keys.MOST_POSITIONS)
    with pytest.raises(SettingError):
        Settings.of(length=keys.MOST_POSITIONS + 1)


def test_a_key_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARDUP_KEY")
    drawn = [keys.new_secret() for _ in range(50)]
    assert {len(secret) for secret in drawn} == {32}
    assert len(set(drawn)) == 50


def test_a_key_that_is_given_is_used_or_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_KEY", "00ff" * 16)
    assert keys.new_secret() == b"\0\xff" * 16
    for wrong in ("", "00ff", "0g" * 32, "00ff" * 17):
        monkeypatch.setenv("NEARDUP_KEY", wrong)
        with pytest.raises(SettingError) as caught:
            keys.new_secret()
        assert has_parts(str(caught.value), "NEARDUP_KEY", "not a key", "64 hexadecimal digits", "Remove it")


def test_words_chosen_to_meet_in_a_hash_table_do_not_meet() -> None:
    """Words whose published hashes have their place in one slot of 1024: a comparison of such took a minute."""
    found = words(" ".join(f"w{number}" for number in range(60_000)), KEY)
    slots = np.empty(len(found), np.uint64)
    mix_all(found.published, slots)
    chosen = np.flatnonzero(slots & np.uint64(1023) == 5)
    assert len(chosen) > 40
    mix_all(found.hashes, slots)
    assert len(set((slots[chosen] & np.uint64(1023)).tolist())) > 0.9 * len(chosen)


def test_characters_and_occurrences_have_keys() -> None:
    codepoints, out = np.array([0, 97, 0x1F600], np.uint32), np.empty(3, np.uint64)
    hash_characters(codepoints, 3, KEY, out)
    assert out.tolist() == [TWIN.unit(chr(char)) for char in codepoints.tolist()]
    few = tuple(KEY.occurrences)
    assert len({int(occurrence(np.uint64(7), np.uint64(times), few)) for times in range(1, 100)}) == 99
