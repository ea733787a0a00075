"""The tables of Leskovec, Rajaraman and Ullman, section 3.3, and any modulus and first row against naive twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.walkthrough import Explanation
from support import reference_families
from support.messages import has_parts

FIGURE_3_2 = ["a d", "c", "b d e", "a c d"]
FIGURE_3_5 = ["2 5", "0 1", "3 4", "0 2 4"]


def step_table(tables: Explanation) -> list[list[str]]:
    """The cells of the table of signatures row by row, below its head."""
    lines = tables.text(200).partition("Signatures, row by row")[2].partition("Similarity, exact")[0].splitlines()
    cells = [line.split() for line in lines if line.startswith("  ")]
    return cells[1:]


def parts(tables: Explanation, *wanted: str) -> bool:
    """Whether the text has the parts in this order."""
    return has_parts(" ".join(tables.text().split()), *wanted)


def test_the_minhash_values_under_one_permutation() -> None:
    """Figure 3.3: in the order b e a d c the first rows of the four sets are a, c, b and a."""
    tables = nd.explain(FIGURE_3_2, length=1, first_row=0, family="permutations", orders=[[1, 4, 0, 3, 2]])
    (drawn,) = tables.drawn
    assert [tables.shingles[row] for row in drawn.origins[0].tolist()] == ["a", "c", "b", "a"]
    assert drawn.signatures.tolist() == [[2, 4, 0, 2]]


def test_the_signature_matrix_row_by_row() -> None:
    """Example 3.8: x + 1 and 3x + 1 mod 5; rows 0 to 4, each of which changes the matrix."""
    tables = nd.explain(FIGURE_3_2, length=1, first_row=0, coefficients=[(1, 1), (3, 1)])
    (drawn,) = tables.drawn
    assert drawn.functions == ("(1·x + 1) mod 5", "(3·x + 1) mod 5")
    assert drawn.permutations.tolist() == [[1, 1], [2, 4], [3, 2], [4, 0], [0, 3]]
    assert drawn.signatures.tolist() == [[1, 3, 0, 1], [0, 2, 0, 0]]
    assert step_table(tables) == [
        ["start", *"∞∞∞∞∞∞∞∞"],
        ["0", *"1∞∞11∞∞1"],
        ["1", *"1∞211∞41"],
        ["2", *"13211241"],
        ["3", *"13210200"],
        ["4", *"13010200"],
    ]
    bold = tables.html().partition("row by row")[2].partition("Similarity, exact")[0].count("number bold")
    assert bold == 4 + 2 + 2 + 3 + 1  # the values that each row changes
    exact = {(pair.a, pair.b): pair.resemblance for pair in tables.pairs}
    estimated = dict(zip(exact, (one.value for one in drawn.estimates), strict=True))
    assert (exact[0, 3], estimated[0, 3]) == (2 / 3, 1)
    assert (exact[0, 2], estimated[0, 2]) == (1 / 4, 1 / 2)
    assert (exact[0, 1], estimated[0, 1]) == (0, 0)


def test_exercise_3_3_3() -> None:
    tables = nd.explain(FIGURE_3_5, length=1, first_row=0, modulus=6, coefficients=[(2, 1), (3, 2), (5, 2)])
    (drawn,) = tables.drawn
    assert drawn.signatures.tolist() == [[5, 1, 1, 1], [2, 2, 2, 2], [0, 1, 4, 0]]
    assert drawn.permutes.tolist() == [False, False, True]
    third, quarter = Fraction(1, 3), Fraction(1, 4)
    assert [Fraction(equal, 3) for equal in drawn.matches] == [third, third, *[2 * third] * 4]
    assert [pair.resemblance for pair in tables.pairs] == [0, 0, quarter, 0, quarter, quarter]
    assert parts(tables, "1 of 3", "permutation", "rows: h3.", "B and D", "row 0", "different rows,")


def test_over_all_permutations_the_estimate_is_the_similarity() -> None:
    """Exercise 3.3.1: of the 120 orders of five rows, the share with equal values is |A∩B| / |A∪B|."""
    orders = list(permutations(range(5)))
    tables = nd.explain(FIGURE_3_2, length=1, first_row=0, family="permutations", orders=orders)
    (drawn,) = tables.drawn
    assert drawn.slots == 120
    for pair, equal in zip(tables.pairs, drawn.matches, strict=True):
        assert Fraction(equal, 120) == Fraction(pair.shared, pair.union)
    assert parts(tables, "120 of 120", "true permutations")


SETS = st.lists(st.sets(st.integers(10, 29), min_size=1), min_size=2, max_size=4)
PAIR = st.tuples(st.integers(-50, 50), st.integers(-50, 50))


@given(SETS, st.integers(2, 40), st.integers(0, 60), st.lists(PAIR, min_size=1, max_size=4))
def test_any_modulus_and_first_row(
    sets: list[set[int]], modulus: int, first: int, pairs: list[tuple[int, int]]
) -> None:
    """Against sets of row numbers, the least (a·x + b) mod p of each, and the bold steps to it."""
    pairs = [(a if a % modulus else 1, b) for a, b in pairs]
    rows = sorted(set().union(*sets))
    numbers = [[first + rows.index(x) for x in one] for one in sets]
    texts = [" ".join(map(str, one)) for one in sets]
    tables = nd.explain(texts, length=1, first_row=first, modulus=modulus, coefficients=pairs)
    (drawn,) = tables.drawn
    assert drawn.signatures.T.tolist() == [reference_families.linear(x, pairs, modulus) for x in numbers]
    for (a, b), permutes, origins in zip(pairs, drawn.permutes, drawn.origins.tolist(), strict=True):
        values = [(a * (first + i) + b) % modulus for i in range(len(rows))]
        assert permutes == (len(set(values)) == len(rows))
        for members, origin in zip(numbers, origins, strict=True):
            assert origin + first == min(members, key=lambda x: ((a * x + b) % modulus, x))
    data = tables.as_dict()
    assert [row["row"] for row in data["shingles"]] == [first + i for i in range(len(rows))]
    assert data["drawn"][0]["permutes"] == drawn.permutes.tolist()
    steps = step_table(tables)
    assert all(one[1:] != other[1:] for one, other in pairwise(steps))
    assert steps[-1][1:] == [str(value) for value in drawn.signatures.reshape(-1).tolist()]


@given(st.integers(2, 200), st.integers(1, 2**32 - 1))
def test_functions_drawn_with_any_modulus_permute_its_numbers(modulus: int, seed: int) -> None:
    words = " ".join(f"w{i:03}" for i in range(modulus))
    tables = nd.explain([words, "w000"], length=1, first_row=0, modulus=modulus, seed=seed)
    assert tables.drawn[0].permutes.all()
    coefficients = [int(formula[1:].partition("·")[0]) for formula in tables.drawn[0].functions]
    assert all(gcd(a, modulus) == 1 for a in coefficients)


def test_the_largest_numbers_of_rows() -> None:
    """The default prime is above a thousand million, and is not drawn from a list of all numbers below it."""
    tables = nd.explain(["a b c", "a b d"], length=1, first_row=1_000_000_000, slots=2)
    (drawn,) = tables.drawn
    assert drawn.says.startswith("h(x) = (a·x + b) mod 1000000007, x the row number; ")
    for slot, formula in enumerate(drawn.functions):
        a, b = (int(part.strip("(x) mod")) for part in formula.partition(" mod")[0].split("·x + "))
        values = [(a * x + b) % 1_000_000_007 for x in range(1_000_000_000, 1_000_000_004)]
        assert drawn.permutations[:, slot].tolist() == values
    with pytest.raises(nd.SettingError):
        nd.explain(["a", "b"], first_row=1_000_000_001)


def test_drawn_orders_have_every_row_once() -> None:
    tables = nd.explain(["a b c d", "c d e f g"], length=1, family="permutations", slots=50, first_row=7)
    values = tables.drawn[0].permutations
    assert (np.sort(values, axis=0) == np.arange(7)[:, None]).all()
    assert len({tuple(column) for column in values.T.tolist()}) > 1


def test_functions_without_room_and_many_rows_are_left_out_of_the_steps() -> None:
    words = [f"w{i:03}" for i in range(21)]
    tables = nd.explain([" ".join(words[:20]), " ".join(words[5:20])], length=1, slots=16)
    assert parts(tables, "row by row", "first 6 of 16", "Similarity, exact")
    assert parts(
        nd.explain([" ".join(words), "w000"], length=1), "row by row", "for more than 20 rows", "Similarity"
    )
    wide = nd.explain([*["a b"] * 9, "a"], length=1, modulus=2**32 - 1, coefficients=[(2**31, 5)])
    assert parts(wide, "row by row", "Too wide", "Similarity")
    assert "row by row" not in nd.explain(["a b c", "a b"], family="classic").text()
