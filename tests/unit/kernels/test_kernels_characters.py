"""The hash of the characters of a text against its naive twin: white space, normal forms, and nothing else."""

from __future__ import annotations

import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.text import characters as kernel
from neardup.text.keys import key_of
from neardup.text.sketch.documents import character_hashes
from neardup.unicode import canonical_tables
from support import strategies
from support.reference_keyed import Twin

KEY = key_of(bytes(range(32)))
TWIN = Twin(KEY)
PARTS = (
    *(
        "a",
        "b",
        "K",
        "-",
        "_",
        "x" * 70,
        "y" * 200,
        " ",
        "  ",
        "\n",
        "\t",
        "\r\n",
        "\x85",
        "\xa0",
        "\u3000",
        "\u2028",
    ),
    *(
        "\0",
        "é",
        "e\u0301",
        "\u0301",
        "\u0323",
        "q\u0307\u0323",
        "\u0344",
        "\u0958",
        "東",
        "\ufa10",
        "\u212a",
        "\u2126",
    ),
    *("\uac01", "\u1100\u1161\u11a8", "\U0001d15e", "\u1680", "ﬁ", "²", "\u2212", "\u037e"),
)


def hashes(texts: list[bytes]) -> list[int]:
    return [int(value) for value in character_hashes(pa.array(texts, pa.large_binary()), KEY)]


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=60).map("".join) | strategies.any_text(), max_size=5))
@example(["", " ", "\n\u3000", "a", "a\0", "a\0\0", "ab" * 4, "ab" * 4 + "\0"])
@example(["x" * 63 + "\u3000" + "y", "x" * 62 + "\u2028" * 40 + "y", "é" * 200 + " " + "е" * 200])
@example(["e" + "\u0301" * 40 + "\u0323", "\u0301", "a \u0301", "x" * 64 + "\u0301\u0323"])
def test_the_hash_is_that_of_the_definition(texts: list[str]) -> None:
    assert hashes([text.encode("utf-8", "replace") for text in texts]) == [
        TWIN.characters(text.encode("utf-8", "replace").decode()) for text in texts
    ]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("space", [" ", "\n", "\r\n ", "\t\u00a0\u2003", "\u3000"])
def test_line_ends_white_space_and_canonical_forms_are_the_same_characters(form: str, space: str) -> None:
    text = "Élève à l'École, où l'été s'achève — 밤은 어둡고 ṩ − 5 %"
    other = space + unicodedata.normalize(form, text).replace(" ", space) + space  # type: ignore[arg-type]
    one, two = hashes([text.encode(), other.encode()])
    assert one == two


@pytest.mark.parametrize(
    "other",
    *[
        [
            "-5 % of 1.000 x2",
            "5 % of 1.000 x²",
            "5 of 1.000 x2",
            "5 ‰ of 1.000 x2",
            "5 % of 1,000 x2",
            "5 % of 1000 x2",
            "5% of 1.000 x2",
            "5 % OF 1.000 x2",
            "5 % o\u00adf 1.000 x2",
            "5 % of 1.000 x2.",
            "5 % of\0 1.000 x2",
        ]
    ],
)
def test_every_other_character_counts(other: str) -> None:
    one, two = hashes([b"5 % of 1.000 x2", other.encode()])
    assert one != two


@given(
    st.lists(
        st.sampled_from([b"a", b" ", b"\xff", b"\xc3", b"\xa9", b"\xe2\x82", b"\xef\xbf\xbd", b"\xf4\x90"]),
        max_size=9,
    )
)
def test_ill_formed_bytes_are_read_as_everywhere(parts: list[bytes]) -> None:
    text = b"".join(parts)
    assert hashes([text]) == [TWIN.characters(text.decode("utf-8", "replace"))]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_both_ways_to_the_fields_agree(text: str) -> None:
    """The bytes as they are, and the bytes decoded and normalised, have the same fields wherever both are used."""
    data = np.frombuffer(text.encode() + bytes(80), np.uint8)
    size, edges = len(text.encode()), np.empty(len(text.encode()) + 80, np.int64)
    n = kernel.field_edges(data, 0, size, canonical_tables(), edges)
    written, of_written, m = kernel.normalised_fields(data, 0, size, canonical_tables())
    normal = [bytes(written[of_written[2 * i] : of_written[2 * i + 1]]) for i in range(m)]
    if n >= 0:
        assert [bytes(data[edges[2 * i] : edges[2 * i + 1]]) for i in range(n)] == normal
    assert [field.replace(b"\xff", b"\0").decode() for field in normal] == unicodedata.normalize(
        "NFC", text
    ).split()
