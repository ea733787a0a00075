"""Differences that OCR explains: what it may have read, and what is marked and hidden of a comparison."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.comparison.compare import compare
from neardup.comparison.expressions import LONGEST_READING, reads_alike
from neardup.comparison.views import ComparisonBody
from support.reference_shown import ocr_explains

ALIKE = (
    ("rnodern", "modern"),
    ("c1ear", "clear"),
    ("dear", "clear"),
    ("vvork", "work"),
    ("con tract", "contract"),
    ("of the", "ofthe"),
    ("con-\ntract", "contract"),
    ("con\xadtract", "contract"),
    ("of\ufb01ce", "office"),
    ("HEATlNG", "HEATING"),
    ("lt", "It"),
    ("l,2O0.50", "1,200.50"),
    ("cla5s", "class"),
    ("K1em", "Klem"),
)
OTHER = (
    ("1", "7"),
    ("10", "100"),
    ("1 0", "10"),
    ("1 O", "10"),
    ("l 0", "10"),
    ("1,200.00", "1.200,00"),
    ("-5", "5"),
    ("B", "8"),
    ("I", "1"),
    ("S5", "55"),
    ("B8", "88"),
    ("Klern", "Klem"),
    ("Anna Berg", "Anna Burg"),
    ("Al", "AI"),
    ("fail", "fall"),
    ("c1", "d"),
    ("Monday", "Friday"),
    ("", "l"),
    ("same", "same"),
)


@pytest.mark.parametrize(
    ("one", "other", "alike"), [*((*pair, True) for pair in ALIKE), *((*p, False) for p in OTHER)]
)
def test_what_ocr_may_have_read(one: str, other: str, alike: bool) -> None:
    assert reads_alike(one, other) is reads_alike(other, one) is alike
    assert ocr_explains(one, other) is alike


TEXTS = st.text(st.sampled_from("lI1i|!oO0sS5B8rnmcldvwVWtaEK27., -\n\xad\ufb01"), max_size=12)


@given(TEXTS, TEXTS)
def test_readings_of_any_two_texts_are_those_of_the_twin(one: str, other: str) -> None:
    assert reads_alike(one, other) is ocr_explains(one, other)


@given(TEXTS, st.integers(0, 2**32))
def test_readings_of_misread_texts_are_those_of_the_twin(text: str, seed: int) -> None:
    assert reads_alike(text, misread(text, Random(seed))) is ocr_explains(text, misread(text, Random(seed)))


@given(st.text("0123456789 .,", min_size=1, max_size=8), st.text("0123456789 .,", min_size=1, max_size=8))
def test_no_number_becomes_another_one(one: str, other: str) -> None:
    if reads_alike(one, other):
        assert re.findall(r"\d+", one) == re.findall(r"\d+", other)


def test_a_long_place_is_not_explained() -> None:
    most = "a " * (LONGEST_READING // 2)
    assert reads_alike(most, most.rstrip().replace(" ", ""))
    assert not reads_alike(f"{most}a", most.replace(" ", ""))


def misread(text: str, random: Random) -> str:
    """A text as OCR may read it: some letters, spaces and ligatures are others."""
    rules = (
        ("m", "rn"),
        ("d", "cl"),
        ("w", "vv"),
        ("l", "1"),
        ("o", "0"),
        ("fi", "\ufb01"),
        (" ", ""),
        ("e", "e "),
    )
    return re.sub(
        "|".join(re.escape(one) for one, _ in rules),
        lambda match: dict(rules)[match[0]] if random.random() < 0.1 else match[0],
        text,
    )


DEED = (
    "The modern crane is rented to the harbour office. The price is 1,200.00 euros, and 10 coins are paid.",
    "Anna Klem signs the will for the widow. The old model would be found in the world of Monday.",
    "All that was dropped here is lost, but the wind was mild; the field is full.",
)


@pytest.mark.parametrize("seed", range(60))
def test_only_rows_that_ocr_explains_are_hidden_and_both_texts_stay(seed: int) -> None:
    random = Random(seed)
    words = "\n".join(random.sample(DEED, k=3))
    edited = re.sub(
        r"\b(?:10|old|Klem|euros|1,200)\b", lambda m: random.choice((m[0], "100", "Klern", "new")), words
    )
    alignment = compare(words, misread(edited, random)).alignment
    hiding = alignment.without_readings
    assert (
        "".join(hiding.text_b[piece.begin : piece.end] for row in hiding.rows for piece in row.b)
        == alignment.text_b
    )
    for number, (row, shown) in enumerate(zip(alignment.rows, hiding.rows, strict=True)):
        texts = [
            text[side[0].begin : side[-1].end].strip() if side else ""
            for text, side in zip((alignment.text_a, alignment.text_b), (row.a, row.b), strict=True)
        ]
        is_hidden = row.kind != "equal" and shown.kind == "equal"
        assert is_hidden == (number in alignment.rows_read_otherwise)
        assert not is_hidden or ocr_explains(*texts)
        if row.kind == "changed" and re.findall(r"\w+", texts[0]) != re.findall(r"\w+", texts[1]):
            assert is_hidden == ocr_explains(*texts), texts


OLD = (
    "The modern crane is here, and it works.\nThe price is 1,200.00 euros for the modern office.\nAnna signs here."
)
NEW = OLD.replace("modern", "rnodern").replace("1,200", "1,700")


def test_hidden_readings_are_counted_and_shown_as_equal_text() -> None:
    record = compare(OLD, NEW)
    shown, hiding = (
        ComparisonBody(record, ("A", "B"), False, "", 2, hide_readings=hide_readings)
        for hide_readings in (False, True)
    )
    assert (shown.count, shown.hidden, hiding.count, hiding.hidden) == (2, 0, 1, 1)
    facts = [
        [said for label, said in body.facts() if label in ("Differences", "Perhaps OCR")]
        for body in (shown, hiding)
    ]
    assert facts[0] == facts[1] == ["2: 2 changed", "2 places; 1 of 2 differences is nothing else"]
    pages = [str(body.html("texts")) for body in (shown, hiding)]
    assert [page.count('class="reading"') for page in pages] == [4, 0]
    assert [page.count("perhaps OCR: </span>") for page in pages] == [4, 0]
    assert [page.count("≈") for page in pages] == [0, 1]
    assert all("rnodern" in page and "<del>1,200.00</del>" in page for page in pages)
    assert [len(list(body.listed())) for body in (shown, hiding)] == [2, 1]
    assert [difference.words for difference in shown.listed()] == ["perhaps OCR", "changed"]


def test_a_terminal_marks_readings_and_says_so() -> None:
    text = compare(OLD, NEW).text(width=80)
    assert "[?-modern-]{?+rnodern+}" in text
    assert "[-1,200.00-]{+1,700.00+}" in text
    assert "[?- {?+ perhaps OCR" in text
    assert "2 places; 1 of 2 differences is nothing else" in text
    assert "OCR" not in compare(OLD, OLD.replace("1,200", "1,700")).text(width=80)
