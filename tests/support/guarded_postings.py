"""Blocks of postings between guard bytes: what the kernels read there is seen in their results.

``python -m support.guarded_postings SEED`` runs over random blocks, for a process with other settings of Numba.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass

import numpy as np

from neardup.kernels import postings as kernels
from neardup.tables import UInt8s
from support.reference_postings import checksum, number

GUARD = 64
"""Bytes, or numbers, on either side of an array."""
FILLS = (0x00, 0x01, 0x80, 0xFF)
"""Guard bytes: a number ends there, or goes on."""
STAYS = 0x5A5A_5A5A


@dataclass(frozen=True)
class Results:
    """The results of all kernels that read a block. ``decoded`` is None if the block is damaged."""

    sound: bool
    located: bool
    count: int
    documents: tuple[int, ...] | None
    decoded: tuple[int, ...] | None


def read_between_guards(data: bytes, step: int, fill: int) -> Results:
    """Read the block with these bytes behind a right checksum; look up the key ``step``.

    Every array is a part of a larger one, whose rest must not change.
    """
    content = checksum(data) + data
    block = within(np.frombuffer(content, np.uint8), fill)
    bounds = np.array([0, len(block)])
    counts, places = np.zeros(1, np.int64), np.zeros(1, np.int64)
    located = bool(kernels.locate(block, bounds, np.zeros(1, np.int64), np.array([step]), counts, places))
    documents = None
    if located:
        out = within(np.zeros(counts[0], np.int64), STAYS)
        if kernels.gather(block, counts, places, np.zeros(1, np.int64), out):
            documents = tuple(out.tolist())
        require_guards(out, STAYS)
    words = within(np.zeros(len(block), np.uint64), STAYS)
    n = int(kernels.decode(block, bounds[1:], np.zeros(1, np.int64), 20, words))
    require_guards(words, STAYS)
    require_guards(block, fill)
    sound = kernels.first_damaged(block, bounds) == -1
    return Results(sound, located, int(counts[0]), documents, None if n < 0 else tuple(words[:n].tolist()))


def within(values: np.ndarray, fill: int) -> UInt8s:
    """Return a copy of the values that lies between guards."""
    whole = np.full(len(values) + 2 * GUARD, fill, values.dtype)
    whole[GUARD : GUARD + len(values)] = values
    return whole[GUARD : GUARD + len(values)]


def require_guards(part: np.ndarray, fill: int) -> None:
    """Fail if the guards around a part have changed."""
    whole = part.base
    assert whole is not None
    assert (whole[:GUARD] == fill).all()
    assert (whole[GUARD + len(part) :] == fill).all()


def random_block(choose: random.Random) -> bytes:
    """Return numbers of any size, cut anywhere, or bytes that mean nothing."""
    if choose.random() < 0.3:
        return choose.randbytes(choose.randrange(40))
    numbers = [
        choose.choice((0, 1, 2, 3, 5, 127, 128, 1 << 20, (1 << 32) - 1)) for _ in range(choose.randrange(12))
    ]
    data = b"".join(map(number, numbers))
    return data[: choose.randrange(len(data) + 1)] if choose.random() < 0.5 else data


def main() -> None:
    """Read thousands of random blocks; an index out of bounds is an error where Numba checks them."""
    choose = random.Random(int(sys.argv[1]))
    decoded = 0
    for _ in range(4000):
        data, step = random_block(choose), choose.choice((0, 1, 2, 5, 1 << 19))
        first, *others = (read_between_guards(data, step, fill) for fill in FILLS)
        assert all(other == first for other in others), data
        decoded += first.decoded is not None
    print(decoded)


if __name__ == "__main__":
    main()
