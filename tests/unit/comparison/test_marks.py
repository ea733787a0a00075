"""Characters that differ between equal tokens, and whole numbers: no character of a row differs without a mark."""

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison.alignment import Alignment
from neardup.comparison.expressions import expressions_of
from neardup.comparison.show.page import ComparisonBody
from neardup.text.characters import KINDS
from neardup.text.units import words
from support.compared_texts import pairs

BEFORE = "The tenant pays by the third day of each month, without a reminder.\n"


def marked(a: str, b: str) -> list[tuple[str, list[str], list[str]]]:
    """Each row that is not equal: its kind, and the marked parts of A and of B."""
    return [
        (
            row.kind,
            *(
                [text[piece.begin : piece.end] for piece in pieces if piece.kind in ("changed", "characters")]
                for text, pieces in ((a, row.a), (b, row.b))
            ),
        )
        for row in nd.compare(a, b).alignment.rows
        if row.kind != "equal"
    ]


@pytest.mark.parametrize(
    ("a", "b", "kind", "of_a", "of_b"),
    [
        ("The balance is -7,200.00 now", "The balance is 7,200.00 now", "characters", "-7,200.00", "7,200.00"),
        ("if the rate is > 4 today", "if the rate is < 4 today", "characters", ">", "<"),
        ("a well-known place", "a well known place", "characters", "well-known", "well known"),
        ("on 1,5 pages", "on 1, 5 pages", "characters", "1,5", "1, 5"),
        ("THE END of it", "The end of it", "characters", "THE END", "The end"),
        ("½ of it", "1/2 of it", "characters", "½", "1/2"),
        ("It costs $1,300.50 a day", "It costs $1,250.50 a day", "changed", "$1,300.50", "$1,250.50"),
        ("It costs -8 a day", "It costs 9 a day", "changed", "-8", "9"),
        ("Due on 3 May 2026 at noon", "Due on 5 May 2026 at noon", "changed", "3 May 2026", "5 May 2026"),
        ("On 2026-01-31 it ends", "On 2026-02-01 it ends", "changed", "2026-01-31", "2026-02-01"),
        ("Ask ann@quay.test now", "Ask bob@quay.test now", "changed", "ann@quay.test", "bob@quay.test"),
        (
            "See /srv/old/list.txt now",
            "See /srv/new/list.txt now",
            "changed",
            "/srv/old/list.txt",
            "/srv/new/list.txt",
        ),
        ("It is high > 4 today", "It is low < 4 today", "changed", "high >", "low <"),
        ("It is (as above) due", "It is due", "changed", "(as above)", None),
        ("one, two, three of it", "one, three of it", "changed", "two,", None),
    ],
)
def test_what_differs_is_marked_as_a_whole(a: str, b: str, kind: str, of_a: str, of_b: str | None) -> None:
    expected = [of_a], [of_b] if of_b else []
    assert marked(a, b) == [(kind, *expected)]
    assert marked(b, a) == [(kind, *reversed(expected))]
    assert marked(BEFORE + a, BEFORE + b) == [(kind, *expected)]


def test_a_sign_in_front_of_a_row_or_of_moved_text_is_marked() -> None:
    a = f"The office closes on Friday.\n-6 degrees it is\n{BEFORE}"
    b = f"The office closes on Monday!\n6 degrees it is\n{BEFORE}"
    assert marked(a, b) == [("changed", ["Friday."], ["Monday!"]), ("characters", ["-6"], ["6"])]
    long = "-6 degrees it is in the old hall of the quay\n"
    moved = nd.compare(BEFORE * 3 + long, long[1:] + BEFORE * 3).alignment
    assert [KINDS[each.kind] for each in moved.characters] == ["sign or operator"]
    assert moved.kinds["moved_a"] == moved.kinds["moved_b"] == 1


def test_two_texts_are_called_the_same_only_if_every_character_is() -> None:
    same, spaced = nd.compare(BEFORE, BEFORE), nd.compare(BEFORE, BEFORE.replace(" ", "\n"))
    assert "character by character" in same.text()
    for found in (spaced, nd.compare("rate -5 now", "rate 5 now")):
        assert "character by character" not in found.text()
        assert "character by character" not in found.html()
    assert spaced.alignment.characters == ()


def test_rows_with_other_characters_are_never_folded() -> None:
    a = BEFORE * 40 + "It falls due if the rate is > 4 of all.\n" + BEFORE * 40
    found = nd.compare(a, a.replace(">", "<"))
    for width in (60, 140):
        assert "[->-]" in found.text(width)
        assert "{+<+}" in found.text(width)
    page = found.html()
    assert '<tr class="characters" id="d1">' in page
    assert "<del>&gt;</del>" in page
    assert "<ins>&lt;</ins>" in page
    assert found.as_dict()["differences"]["characters"][0]["kind"] == "sign or operator"


def test_lines_that_flow_keep_the_row_with_other_characters() -> None:
    a = (
        "The harbour office closes on Friday because of the works on the\n"
        "quay, and the balance of the account is -7,200.00 since Tuesday\n"
        "evening.\n"
    )
    body = ComparisonBody(nd.compare(a, a.replace("-7", "7")), ("A", "B"), True, "", 2, flowed=True)
    assert body.count == 1
    assert [each.words for each in body.listed()] == ["sign or operator"]
    assert [kind for kind, number, _ in body.rows.rows(0, 1) if number] == ["characters"]


def unmarked(alignment: Alignment) -> list[tuple[str, str]]:
    """The characters of each row of both texts that have no mark, without white space."""
    texts = alignment.text_a, alignment.text_b
    return [
        tuple(  # type: ignore[misc]
            "".join(
                normalize(
                    "NFC", "".join(text[p.begin : p.end] for p in side if p.kind in ("same", "between"))
                ).split()
            )
            for text, side in zip(texts, (row.a, row.b), strict=True)
        )
        for row in alignment.rows
        if row.a and row.b
    ]


_PARTS = st.lists(
    st.sampled_from(
        ["-", " - ", ".", ", ", "(", ") ", " ", "\n", "> ", "5", "1,000", "$", "rate", "x", "THE", "the", "é"]
    ),
    max_size=14,
).map("".join)


@given(st.one_of(pairs(), st.tuples(_PARTS, _PARTS)))
@example(("Friday -5 now", "Monday 5 now"))
def test_no_character_of_a_row_differs_without_a_mark(texts: tuple[str, str]) -> None:
    for a, b in unmarked(nd.compare(*texts).alignment):
        assert a == b


@given(st.tuples(_PARTS, _PARTS))
def test_a_number_is_changed_as_a_whole(texts: tuple[str, str]) -> None:
    a, b = texts
    alignment = nd.compare(a, b).alignment
    for text, side in ((a, 0), (b, 1)):
        spans = [tuple(span) for span in words(text).spans.tolist()]
        for row in alignment.rows:
            pieces = (row.a, row.b)[side]
            changed = {place for p in pieces if p.kind == "changed" for place in range(p.begin, p.end)}
            if row.kind != "changed":
                continue
            for one in expressions_of(text, spans, 0, pieces[0].begin, pieces[-1].end):
                inside = set(range(*spans[one.first])) & changed
                assert (inside != set()) == set(range(one.begin, one.end)).issubset(changed)


def test_a_number_in_a_moved_passage_has_moved_with_it() -> None:
    a = (
        "it 5,000.00 rate by of rate. 7 by rate Rate it 12 paid paid! rate paid Mr. it X; 7 the rate. "
        "5,000.00 12 7 it"
    )
    b = "12 May is it paid (see -, rate paid Mr, it X; 7 the rate, it 5,000.00 rate by of rate. 5,000.00 12 7 it"
    shown = nd.compare(a, b).text()
    assert "5,000.00" in shown
    assert "[-5,000.00-]" not in shown
    assert "{+5,000.00+}" not in shown
