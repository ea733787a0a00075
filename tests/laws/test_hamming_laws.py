"""What theory says of SimHash, and that no pair within a distance is missed among very many.

Statistics: two feature vectors at an angle θ have fingerprints in which each bit differs with probability θ/π
(Charikar 2002). That is exact for Gaussian projections; hashed features are ±1, and with hundreds of them the sums
are near normal. Over T pairs of 64 bits the share of differing bits has a standard error below √(¼/64T); the
limit is 6.2 of them, as in ``test_sketch_statistics.py``, and .004 for what is not normal. Seeds are fixed.
"""

from __future__ import annotations

from collections import Counter
from math import acos, pi, sqrt

import numpy as np
import pyarrow as pa
import pytest

import neardup as nd
from neardup.deduplication.join.candidates import near_candidates
from neardup.text.lsh.hamming import HammingIndex
from support import reference, shared_data
from support.full_run import FULL

SIGMAS = 6.2
NOT_NORMAL = 0.004


def apart(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return Hamming distances row by row."""
    counts = np.bitwise_count(rows ^ others).astype(np.int64)
    return counts if counts.ndim == 1 else counts.sum(axis=1)


def brute_force(rows: np.ndarray, distance: int) -> np.ndarray:
    """Return (a, b, distance) of all pairs within the distance, int64[pairs, 3], every one compared."""
    wide = rows.reshape(len(rows), -1)
    found = []
    for a in range(len(wide) - 1):
        distances = np.bitwise_count(wide[a + 1 :, 0] ^ wide[a, 0])
        for word in range(1, wide.shape[1]):
            distances = distances + np.bitwise_count(wide[a + 1 :, word] ^ wide[a, word])
        near = np.flatnonzero(distances <= distance)
        found.append(np.column_stack((np.full(len(near), a), a + 1 + near, distances[near])))
    return np.concatenate(found).astype(np.int64)


def as_array(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy().astype(np.int64) for column in table.columns])


def flipped(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows with up to ``most`` random bits changed in each word."""
    rows = rows.copy()
    for _ in range(most):
        bits = np.uint64(1) << rng.integers(0, 64, rows.shape, dtype=np.uint64)
        rows ^= np.where(rng.random(rows.shape) < 0.6, bits, np.uint64(0))
    return rows


def made(kind: str, n: int, words: int) -> np.ndarray:
    """Return uint64[n, words]: random; in clusters, some of them equal; or skewed: alike bits, crowded blocks."""
    rng = np.random.default_rng([n, words, len(kind)])
    rows = rng.integers(0, 2**64, (n, words), dtype=np.uint64)
    if kind == "random":
        return rows
    if kind == "clustered":
        return flipped(rows[: n // 20][rng.integers(0, n // 20, n)], 6, rng)
    rows &= np.uint64(2**40 - 1)  # 24 bits are the same everywhere
    crowded = rng.random(n) < 0.3
    rows[crowded] &= ~np.uint64(0xFFFF)
    rows[crowded] |= np.uint64(0xABCD)
    rows[: n // 100] = flipped(rows[n // 100 : 2 * (n // 100)], 4, rng)
    return rows


@pytest.mark.part(2)
@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("kind", ["random", "clustered", "skewed"])
def test_complete_on_ten_thousand(kind: str, words: int) -> None:
    rows = made(kind, 10_000, words)
    every = brute_force(rows, 8)
    index = HammingIndex(64 * words, 8)
    index.add(rows)
    assert kind == "random" or len(every) > 100
    for distance in range(9) if FULL else (0, 3, 6):
        found = as_array(nd.hamming_pairs(rows, distance).expanded())
        assert np.array_equal(found, every[every[:, 2] <= distance])
    found = as_array(index.neighbours(rows[:2000]))
    found = found[found[:, 0] < found[:, 1]]
    assert np.array_equal(found, every[every[:, 0] < 2000])


@pytest.mark.parametrize("words", [1, 2])
def test_planted_pairs_in_a_million(words: int) -> None:
    """Each planted pair differs in a known number of bits at random places; all are found, with that distance."""
    rng = np.random.default_rng(words)
    planted = 20_000 if FULL else 6_000
    rows = rng.integers(0, 2**64, (1_000_000, words), dtype=np.uint64)
    wanted = rng.integers(0, 6, planted)
    for pair in range(planted):
        rows[planted + pair] = rows[pair]
        for bit in rng.choice(64 * words, wanted[pair], replace=False).tolist():
            rows[planted + pair, bit // 64] ^= np.uint64(1 << bit % 64)
    found = as_array(nd.hamming_pairs(rows, 3).expanded())
    within = np.flatnonzero(wanted <= 3)
    expected = np.column_stack((within, within + planted, wanted[within]))
    of_planted = found[found[:, 1] == found[:, 0] + planted]
    assert np.array_equal(of_planted, expected)
    others = found[found[:, 1] != found[:, 0] + planted]  # chance: 5·10¹¹ pairs, 2.4·10⁻¹⁵ each
    assert len(others) <= 2
    assert np.array_equal(apart(rows[others[:, 0]], rows[others[:, 1]]), others[:, 2])


def test_an_index_that_grew_is_as_complete_as_one_that_was_made_at_once() -> None:
    rows = made("clustered", 20_000, 1)
    grown, at_once = HammingIndex(64, 3), HammingIndex(64, 3)
    at_once.add(rows)
    for part in np.array_split(rows, 137):
        grown.add(part)
    assert grown.neighbours(rows[::10]).equals(at_once.neighbours(rows[::10]))


# Statistics


def overlapping(trials: int, size: int, common: int) -> list[np.ndarray]:
    """Return the fingerprints of both texts of every trial: of ``size`` words, ``common`` of them shared."""
    words = [[f"w{trial}x{number}" for number in range(2 * size - common)] for trial in range(trials)]
    sides = ([" ".join(of[:size]) for of in words], [" ".join(of[size - common :]) for of in words])
    return [nd.SimHash(features="word").sketch(side) for side in sides]


@pytest.mark.parametrize("cosine", [0.0, 0.2, 0.5, 0.8, 0.95])
def test_expected_distance_of_sets(cosine: float) -> None:
    """Sets of 501 words of which a share ``cosine`` is common: cos θ = common / 501."""
    trials, size = 600 if FULL else 300, 501
    common = round(cosine * size)
    rows, others = overlapping(trials, size, common)
    differing = apart(rows, others).mean() / 64
    limit = SIGMAS * sqrt(0.25 / (64 * trials)) + NOT_NORMAL
    assert differing == pytest.approx(acos(common / size) / pi, abs=limit)


@pytest.mark.parametrize("bits", [64, 128])
def test_expected_distance_of_weighted_features(bits: int) -> None:
    """Vectors of 300 real weights with a known angle."""
    rng = np.random.default_rng(bits)
    trials, size, family = 120 if FULL else 40, 300, nd.SimHash(bits)
    differing, expected = 0, 0.0
    for trial in range(trials):
        a = rng.gamma(2.0, 1.0, size)
        b = a * rng.choice([0.0, 0.5, 1.0, 3.0], size)
        names = [f"{trial}:{number}" for number in range(size)]
        one, other = (family.of_features(zip(names, side.tolist(), strict=True)) for side in (a, b))
        differing += (one ^ other).bit_count()
        expected += acos(a @ b / sqrt((a @ a) * (b @ b))) / pi / trials
    limit = SIGMAS * sqrt(0.25 / (bits * trials)) + NOT_NORMAL
    assert differing / (bits * trials) == pytest.approx(expected, abs=limit)


@pytest.mark.parametrize("bits", [64, 128])
def test_each_bit_is_set_for_half_of_all_texts_and_none_follows_another(bits: int) -> None:
    trials = 4000
    texts = [" ".join(f"v{trial}x{number}" for number in range(101)) for trial in range(trials)]
    rows = nd.SimHash(bits, "word").sketch(texts).reshape(trials, -1)
    unpacked = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").astype(np.int64)
    signs = 2 * unpacked - 1
    limit = SIGMAS / sqrt(trials)
    assert np.abs(signs.mean(axis=0)).max() < limit
    products = signs.T @ signs / trials
    assert np.abs(products - np.eye(bits)).max() < limit


@pytest.mark.parametrize("resemblance", [0.9, 0.97, 0.99])
def test_the_plan_predicts_what_a_distance_finds(resemblance: float) -> None:
    trials, size, distance = 1500 if FULL else 700, 601, 3
    common = round(2 * size * resemblance / (1 + resemblance))
    plan = nd.hamming_plan(trials, 64, distance)
    rows, others = overlapping(trials, size, common)
    found = (apart(rows, others) <= distance).mean()
    expected = plan.probability(common / (2 * size - common))
    assert found == pytest.approx(expected, abs=SIGMAS * sqrt(0.25 / trials) + 0.01)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", ["own", "law_de", "site_policy", "django_docs"])
def test_real_documents(name: str) -> None:
    """Distances of real pairs follow the angle of their shingle counts; candidates are all within a distance."""
    texts = list(shared_data.documents(name).values())
    rows = nd.SimHash(features="shingle:5").sketch(texts)
    every = brute_force(rows, 6)
    proposed = near_candidates(rows, 6, 0, 2, lambda _: None)
    found = set(map(tuple, as_array(proposed.pairs.table()).tolist()))
    hubs = set(proposed.hub.tolist())
    assert all((a, b) in found or {a, b} <= hubs for a, b, _ in every.tolist())
    assert found <= {(a, b) for a, b, _ in every.tolist()}
    pairs = [pair for pair, counted in shared_data.all_pairs(name).items() if counted.resemblance >= 0.5]
    assert len(pairs) > 20
    counts = [shingle_counts(text) for text in texts]
    expected = [acos(min(1.0, cosine(counts[a], counts[b]))) / pi * 64 for a, b in pairs]
    measured = apart(rows[[a for a, _ in pairs]], rows[[b for _, b in pairs]])
    assert measured.mean() == pytest.approx(np.mean(expected), rel=0.1)


def shingle_counts(text: str) -> Counter[tuple[str, ...]]:
    tokens = reference.tokens(text)
    return Counter(tuple(tokens[i : i + 5]) for i in range(max(1, len(tokens) - 4)))


def cosine(a: Counter[tuple[str, ...]], b: Counter[tuple[str, ...]]) -> float:
    """Return the cosine of the counts of the shingles."""
    dot = sum(count * b.get(shingle, 0) for shingle, count in a.items())
    return dot / sqrt(sum(c * c for c in a.values()) * sum(c * c for c in b.values()))
