"""Laws between measures: orders, closed formulas, symmetry, what common text says about shingles."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison import matching
from support.chunk_counts import least_shared_shingles
from support.reference_matching import Tokens, shingles, windows
from support.strategies import edited_pair, mixed_text

W = 5


def text_of(tokens: Tokens) -> str:
    return " ".join(f"w{token}" for token in tokens)


@st.composite
def chunked_pair(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    """Return two documents of all different tokens that share chunks of W or more, and the lengths of these.

    In the second one the chunks come in any order. Between chunks there is at least one token of its own.
    """
    lengths = draw(st.lists(st.integers(W, 3 * W), max_size=5))
    numbers = iter(range(10_000))
    chunks = [[next(numbers) for _ in range(length)] for length in lengths]

    def document(order: list[int]) -> list[int]:
        gaps = [draw(st.integers(1, 2 * W)) for _ in range(len(order) + 1)]
        own = [[next(numbers) for _ in range(gap)] for gap in gaps]
        return [
            token
            for k, gap in zip([*order, None], own, strict=True)
            for token in gap + (chunks[k] if k is not None else [])
        ]

    order = list(range(len(chunks)))
    a, b = document(order), document(draw(st.permutations(order)))
    grow = draw(st.integers(0, W))  # both have a shingle
    return a + [next(numbers) for _ in range(W + grow)], b + [next(numbers) for _ in range(W)], lengths


@given(chunked_pair())
def test_resemblance_follows_from_the_chunks(drawn: tuple[list[int], list[int], list[int]]) -> None:
    a, b, lengths = drawn
    found = nd.compare(text_of(a), text_of(b)).measures
    longer, shorter = max(len(a), len(b)), min(len(a), len(b))
    common, n = sum(lengths), len(lengths)
    assert (found["common_literal"], found["chunks_literal"]) == (common, n)
    assert found["common_literal_upper_bound"] == found["common_information"] == common
    union = longer + shorter - common
    assert found["resemblance"] == (common - n * (W - 1)) / (union + (n - 2) * (W - 1))
    assert found["chunk_union_literal"] == common / union
    assert found["chunk_longest_literal"] == common / longer
    assert found["chunk_shortest_literal"] == common / shorter
    assert found["resemblance_by_chunks"] == found["resemblance"]
    assert nd.resemblance_by_chunks(common, n, (shorter, longer)) == found["resemblance"]
    swapped = nd.compare(text_of(b), text_of(a)).measures
    assert swapped["resemblance_by_chunks"] == found["resemblance"]


@given(edited_pair())
def test_what_chunks_imply_is_a_share(drawn: tuple[str, str]) -> None:
    for how in ({}, {"min_chunk": 2}, {"min_chunk": 9, "unit": "char"}):
        assert 0 <= nd.compare(*drawn, **how).measures["resemblance_by_chunks"] <= 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, 0, (0, 0)), 1),
        ((0, 0, (0, 7)), 0),
        ((3, 1, (3, 3)), 1),
        ((5, 1, (6, 5)), 0.5),
        ((85, 2, (97, 100)), 0.6875),
    ],
)
def test_the_resemblance_of_known_counts(given: tuple[int, int, tuple[int, int]], said: float) -> None:
    assert nd.resemblance_by_chunks(*given) == said


@pytest.mark.parametrize(
    "wrong", [(4, 1, (9, 9)), (9, 2, (20, 20)), (10, 1, (9, 20)), (5, 0, (9, 9)), (-1, 0, (9, 9))]
)
def test_counts_that_no_texts_have_are_refused(wrong: tuple[int, int, tuple[int, int]]) -> None:
    with pytest.raises(nd.InputError, match="tokens in a chunk"):
        nd.resemblance_by_chunks(*wrong)


@st.composite
def small_pair(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Return two sequences over few tokens that share pieces, and w."""
    token = st.integers(0, draw(st.integers(0, 30)))
    a, b = (draw(st.lists(token, max_size=40)) for _ in range(2))
    for _ in range(draw(st.integers(0, 3))):
        start, at = draw(st.integers(0, len(a))), draw(st.integers(0, len(b)))
        b = b[:at] + a[start : start + draw(st.integers(1, 12))] + b[at:]
    return a, b, draw(st.integers(1, 6))


def overlap_free(a: list[int], b: list[int], w: int) -> bool:
    """Return whether no shingle repeats inside a document and no two maximal common runs overlap."""
    if any(len(set(windows(one, w))) < len(windows(one, w)) for one in (a, b)):
        return False
    place = {window: j for j, window in enumerate(windows(b, w))}
    shared = [(i, place[window]) for i, window in enumerate(windows(a, w)) if window in place]
    runs: list[list[tuple[int, int]]] = []
    for i, j in shared:
        if runs and runs[-1][-1] == (i - 1, j - 1):
            runs[-1].append((i, j))
        else:
            runs.append([(i, j)])
    for side in (0, 1):
        spans = sorted((run[0][side], run[-1][side] + w) for run in runs)
        if any(end > begin for (_, end), (begin, _) in pairwise(spans)):
            return False
    return True


@given(small_pair())
def test_resemblance_chunk_union_chunk_longest_are_in_this_order(drawn: tuple[list[int], list[int], int]) -> None:
    a, b, w = drawn
    found = nd.compare(text_of(a), text_of(b), length=w).measures
    assert found["chunk_union_literal"] <= found["chunk_longest_literal"]
    assert found["chunk_union_information"] <= found["chunk_longest_information"]
    if overlap_free(a, b, w) and min(len(a), len(b)) >= w:
        assert found["resemblance"] <= found["chunk_union_literal"]


@given(small_pair())
def test_nothing_depends_on_the_order_of_the_two(drawn: tuple[list[int], list[int], int]) -> None:
    a, b, w = drawn
    one, other = nd.compare(text_of(a), text_of(b), length=w), nd.compare(text_of(b), text_of(a), length=w)
    swapped = {"a": "b", "b": "a"}
    for name, value in one.measures.items():
        mirrored = name[:-1] + swapped[name[-1]] if name.endswith(("_a", "_b")) else name
        assert other.measures[mirrored] == value, name
    assert sorted((j, i, length) for i, j, length in one.tiles.tolist()) == list(map(tuple, other.tiles.tolist()))
    assert one.redundant_a.tolist() == other.redundant_b.tolist()
    assert one.matched_a.tolist() == other.matched_b.tolist()


@given(small_pair())
def test_common_text_says_how_many_shingles_are_shared_at_least(drawn: tuple[list[int], list[int], int]) -> None:
    a, b, w = drawn
    pair = matching.pair_of(np.array(a, np.uint64), np.array(b, np.uint64))
    literal, information = matching.literal(pair, w).common, matching.information(pair, w).common
    all_a, all_b = shingles(a, w), shingles(b, w)
    both = set(all_a) & set(all_b)
    rarer = [min(all_a.count(shingle), all_b.count(shingle)) for shingle in both]
    repeats = max(rarer, default=1)
    assert len(both) >= least_shared_shingles(literal, w, repeats=repeats)
    assert len(both) >= least_shared_shingles(information, w, matching="information")
    assert sum(rarer) >= -(-literal // w)
    assert (len(both) > 0) == (literal > 0)


def test_the_bounds_on_shared_shingles_are_sharp_and_stronger_ones_are_wrong() -> None:
    def counts(a: list[int], b: list[int]) -> tuple[int, int, int]:
        pair = matching.pair_of(np.array(a, np.uint64), np.array(b, np.uint64))
        return (
            matching.shingle_counts(pair, W).shared,
            matching.literal(pair, W).common,
            matching.information(pair, W).common,
        )

    # ⌈C / w⌉ distinct shingles is wrong for both ways of counting
    assert counts([1] * 20, [1] * 20) == (1, 20, 5)
    assert counts([1] * 9, [1] * 9) == (1, 9, 9)
    shared, _, information = counts([*[1] * 9, 7, *[2] * 9], [*[1] * 9, 8, *[2] * 9])
    assert shared == least_shared_shingles(information, W, matching="information") == 2
    chunks = [list(range(10 * k, 10 * k + W)) for k in range(4)]
    shared, literal, _ = counts(
        [*chain.from_iterable([*chunk, 100] for chunk in chunks)],
        [*chain.from_iterable([*chunk, 200] for chunk in reversed(chunks))],
    )
    assert shared == least_shared_shingles(literal, W) == 4


@given(edited_pair(), st.sampled_from(["word", "char"]), st.integers(1, 6))
def test_tiles_quote_equal_text_in_both_documents(texts: tuple[str, str], unit: str, length: int) -> None:
    found = nd.compare(*texts, length=length, unit=unit)
    for i, j, size in found.tiles.tolist():
        assert found.a.strings[i : i + size] == found.b.strings[j : j + size]
    assert found.measures["common_literal"] == sum(size for _, _, size in found.tiles.tolist())


@given(mixed_text())
def test_a_text_is_wholly_like_itself(text: str) -> None:
    found = nd.compare(text, text).measures
    shares = [
        name
        for name in found
        if name.startswith(("resemblance", "containment", "chunk_", "vocabulary", "multi", "lcs"))
    ]
    assert [found[name] for name in shares] == [1] * 12
    assert found["simhash_distance"] == 0
    assert found["minhash"]["estimate"] == 1
