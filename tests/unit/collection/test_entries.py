"""What a store is given of texts: the same tokens, shingles, samples and signatures as everywhere else."""

import pickle
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup import unicode as plain
from neardup.collection.contract import Entries
from neardup.collection.entries import entries_of, pack, unpack
from neardup.collection.settings import CollectionSettings
from neardup.errors import FormatError, SettingError
from neardup.kernels.text.tokens import token_streams
from neardup.text.sketch.cleaning import text_batch
from neardup.text.sketch.documents import shingle_sets
from neardup.unicode import unicode_tables
from support import reference, shared_data
from support.strategies import any_text

FORMS = [CollectionSettings(), CollectionSettings.of(scale=1, floor=1), CollectionSettings.of(length=2, scale=7)]


def entries(texts: list[str], form: CollectionSettings = FORMS[0]) -> Entries:
    array = pa.array(texts, pa.large_string())
    return entries_of(array, [str(place) for place in range(len(texts))], [{} for _ in texts], form)


@given(st.lists(any_text(), max_size=6))
def test_a_stream_is_the_tokens_with_a_space_behind_each(texts: list[str]) -> None:
    streams, ends, tokens = token_streams(text_batch(pa.array(texts, pa.large_string())), unicode_tables())
    whole, begin = streams.tobytes(), 0
    for text, end, count in zip(texts, ends.tolist(), tokens.tolist(), strict=True):
        wanted = plain.tokens(text)
        assert whole[begin:end].decode() == "".join(token + " " for token in wanted)
        assert count == len(wanted) == len(reference.tokens(text))
        begin = end
    assert begin == len(whole)


@pytest.mark.part(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["own", "own_scripts", "udhr", "site_policy"])
def test_signatures_are_published_and_samples_are_not(name: str, form: CollectionSettings) -> None:
    texts = [*list(shared_data.documents(name).values())[:40], "", "two words"]
    made = entries(texts, form)
    samples = nd.SampledShingles(form.scale, form.floor, length=form.length).sketch(texts)
    assert not set(made.hashes.tolist()) & set(samples.hashes.tolist())
    sets = shingle_sets(pa.array(texts), np.arange(len(texts)), form.fingerprint, form.key)
    for k, (begin, end) in enumerate(pairwise(sets.offsets.tolist())):
        own = sets.hashes[begin:end].tolist()
        below = [value for value in own if value < form.limit]
        wanted = below if len(below) >= form.floor else own[: form.floor]
        assert made.hashes[made.offsets[k] : made.offsets[k + 1]].tolist() == wanted
    assert np.array_equal(made.signatures, nd.MinHash(form.slots, length=form.length).sketch(texts))
    sizes = [len(set(reference.shingle_set(text, form.length, "word"))) for text in texts]
    assert made.shingles.tolist() == sizes


@given(texts=st.lists(any_text(), min_size=1, max_size=6), order=st.randoms(use_true_random=False))
def test_taking_documents_is_making_their_entries(texts: list[str], order: object) -> None:
    places = list(range(len(texts)))
    order.shuffle(places)  # type: ignore[attr-defined]
    places = places[: len(texts) // 2 + 1]
    taken = entries(texts, FORMS[2]).take(places)
    again = entries([texts[place] for place in places], FORMS[2])
    for field in fields(Entries):
        if field.name != "ids":
            assert pickle.dumps(list(getattr(taken, field.name))) == pickle.dumps(list(getattr(again, field.name)))
    assert taken.ids == [str(place) for place in places]


def test_texts_come_back_as_they_were_given() -> None:
    raw = [b"caf\xe9 \xff", "ﬁ\0\r\n".encode(), None, b""]
    made = entries_of(pa.array(raw, pa.binary()), list("abcd"), [{}] * 4, FORMS[0])
    assert [unpack(packed, "") for packed in made.packed] == [text or b"" for text in raw]
    assert made.sizes.tolist() == [len(text or b"") for text in raw]


def test_a_damaged_text_is_refused() -> None:
    text = b"some words of a text " * 9
    packed = pack(text)
    refused = 0
    for bit in range(8 * len(packed)):
        damaged = bytearray(packed)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            assert unpack(bytes(damaged), "x") == text  # a bit that nothing is read from
        except FormatError as error:
            assert "document 'x' is damaged" in str(error)  # noqa: PT017
            refused += 1
    assert refused > 7 * len(packed)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"length": 0}, "length is 0"),
        ({"slots": 3}, "slots is 3"),
        ({"scale": 0}, "scale is 0"),
        ({"floor": 1.5}, "floor is 1.5"),
        ({"unit": "char"}, "There is no setting 'unit' of a collection"),
    ],
)
def test_settings_that_are_not_possible(values: dict[str, int], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        CollectionSettings.of(**values)
