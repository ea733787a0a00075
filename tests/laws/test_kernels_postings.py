"""Posting lists as bytes: as the naive twin writes them, read back whole and by key; damage is always reported."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels import postings as kernels
from neardup.tables import Int64s, UInt8s, UInt64s
from support.guarded_postings import FILLS, random_block, read_between_guards
from support.paths import TESTS
from support.reference_postings import checksum, encoded

LARGEST = (1 << 32) - 1
KEYS = st.integers(0, 40) | st.integers(0, LARGEST) | st.just(LARGEST)
DOCUMENTS = st.integers(1, 300) | st.integers(0, LARGEST)
POSTINGS = st.sets(st.tuples(KEYS, DOCUMENTS), max_size=200).map(sorted)
SHIFTS = st.sampled_from([8, 20, 31, 32])


def as_words(postings: list[tuple[int, int]]) -> UInt64s:
    return np.array([key << 32 | document for key, document in postings], np.uint64)


def encode(postings: list[tuple[int, int]], shift: int) -> tuple[Int64s, Int64s, UInt8s]:
    n = len(postings)
    blocks, ends, out = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(14 * n, np.uint8)
    count = kernels.encode(as_words(postings), shift, blocks, ends, out)
    return blocks[:count], ends[:count], out[: ends[count - 1] if count else 0]


def decode(blocks: Int64s, ends: Int64s, data: UInt8s, shift: int) -> UInt64s | None:
    out = np.empty(len(data), np.uint64)
    count = kernels.decode(data, ends, blocks, shift, out)
    return None if count < 0 else out[:count]


@given(POSTINGS, SHIFTS)
def test_encoded_as_the_twin_does_and_decoded_again(postings: list[tuple[int, int]], shift: int) -> None:
    blocks, ends, data = encode(postings, shift)
    parts = [data[begin:end].tobytes() for begin, end in pairwise([0, *ends.tolist()])]
    assert dict(zip(blocks.tolist(), parts, strict=True)) == encoded(postings, shift)
    found = decode(blocks, ends, data, shift)
    assert found is not None
    assert found.tolist() == as_words(postings).tolist()


@given(POSTINGS, SHIFTS, st.lists(KEYS, max_size=20))
def test_keys_are_found_in_their_blocks(postings: list[tuple[int, int]], shift: int, others: list[int]) -> None:
    blocks, ends, data = encode(postings, shift)
    asked = np.array(sorted({key for key, _ in postings} | set(others)), np.int64)
    rows = np.array(
        [
            int(np.searchsorted(blocks, block)) if block in blocks.tolist() else -1
            for block in (asked >> shift).tolist()
        ],
        np.int64,
    )
    bounds = np.concatenate((np.zeros(1, np.int64), ends))
    counts, places = np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
    assert kernels.first_damaged(data, bounds) == -1
    assert kernels.locate(data, bounds, rows, asked & ((1 << shift) - 1), counts, places)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    documents = np.empty(offsets[-1], np.int64)
    assert kernels.gather(data, counts, places, offsets[:-1], documents)
    for k, key in enumerate(asked.tolist()):
        held = [document for other, document in postings if other == key]
        assert documents[offsets[k] : offsets[k + 1]].tolist() == held


@given(POSTINGS, st.lists(KEYS, max_size=20))
def test_keys_are_found_in_sorted_postings(postings: list[tuple[int, int]], others: list[int]) -> None:
    asked = np.array([key for key, _ in postings] + others, np.int64)
    counts, places = np.full((2, len(asked)), -1)
    kernels.find_lists(as_words(postings), asked, counts, places)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    documents = np.empty(offsets[-1], np.int64)
    kernels.copy_lists(as_words(postings), counts, places, offsets[:-1], documents)
    for k, key in enumerate(asked.tolist()):
        owners = [document for other, document in postings if other == key]
        assert documents[offsets[k] : offsets[k + 1]].tolist() == owners


@given(POSTINGS.filter(len), SHIFTS, st.data())
def test_every_flipped_bit_is_told(postings: list[tuple[int, int]], shift: int, data: st.DataObject) -> None:
    blocks, ends, stored = encode(postings, shift)
    bit = data.draw(st.integers(0, 8 * len(stored) - 1))
    stored = stored.copy()
    stored[bit // 8] ^= 1 << bit % 8
    assert decode(blocks, ends, stored, shift) is None
    bounds = np.concatenate((np.zeros(1, np.int64), ends))
    assert kernels.first_damaged(stored, bounds) == int(np.searchsorted(ends, bit // 8, side="right"))


def sealed(data: bytes) -> UInt8s:
    """A block that somebody made with the right checksum."""
    return np.frombuffer(checksum(data) + data, np.uint8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"\xff\xff\xff\xff\xff\xff",
        b"\x02",
        b"\x03\xff\xff\xff\xff\x0f\x01",
        b"\x03\x05\x01",
        b"\x02\x01\x00\x01",
        b"\x03\x00\x05\x00",
        b"\x02\xff\xff\xff\xff\x7f",
        b"\x82\x80\x80\x80\x20\x01",
    ],
    ids=[
        "nothing",
        "a number that does not end",
        "a number of too many bytes",
        "a key without a document",
        "more documents than there is room for",
        "fewer documents than are told",
        "a key twice",
        "a document twice",
        "a document beyond all numbers",
        "a key of another block",
    ],
)
def test_a_block_that_nobody_encoded_is_told(data: bytes) -> None:
    block = sealed(data)
    assert decode(np.zeros(1, np.int64), np.array([len(block)]), block, 20) is None


@given(st.binary(max_size=60) | st.randoms(use_true_random=False).map(random_block), st.integers(0, 1 << 20))
@example(b"\x02", 1)  # a key without a document
@example(b"\x03\x01\x05", 1)  # one document fewer than stated
@example(b"\x02\x81", 1)  # a number that does not end
def test_whatever_the_bytes_are_nothing_is_read_or_written_outside(data: bytes, step: int) -> None:
    """A byte read beside the block would change a result, for the bytes there differ from fill to fill."""
    found, *others = (read_between_guards(data, step, fill) for fill in FILLS)
    for other in others:
        assert other == found
    assert found.sound == (len(data) > 0)
    assert found.count <= len(data)
    if found.decoded is not None:
        assert len(found.decoded) <= len(data)
        held = tuple(word & LARGEST for word in found.decoded if word >> 32 == step)
        assert (found.located, found.count, found.documents) == (True, len(held), held)


def test_no_index_is_out_of_bounds_where_numba_checks_them() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "support.guarded_postings", "7"],
        # compiled by Numba also where the other tests are interpreted: the library has no such check
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "0",
            "NUMBA_BOUNDSCHECK": "1",
            "NEARDUP_KERNELS": "jit",
            "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 100, "some of the blocks are not damaged"


@given(st.lists(st.integers(0, 30), max_size=100), st.integers(1, 4))
def test_documents_that_come_often_enough(documents: list[int], least: int) -> None:
    given_ = np.array(documents, np.int64)
    seen, out = np.zeros(31, np.int64), np.empty(len(documents), np.int64)
    count = kernels.tally(given_, least, seen, out)
    assert sorted(out[:count].tolist()) == sorted({d for d in documents if documents.count(d) >= least})
    assert seen.tolist() == [documents.count(d) for d in range(31)]


def test_lists_that_come_from_several_segments_are_sorted() -> None:
    documents, offsets = np.array([3, 1, 2, 9, 7, 8]), np.array([0, 3, 3, 4, 6])
    kernels.sort_lists(documents, offsets)
    assert documents.tolist() == [1, 2, 3, 9, 7, 8]
