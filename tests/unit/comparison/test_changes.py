"""The places where a text differs from another one, and what they are."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.comparison import changes as parts
from neardup.comparison import expressions
from neardup.comparison.changes import NEAR, ChangedText, TextChange, changes_of
from neardup.text.units import read, words
from support.made_texts import changed_pieces

DEED = """This deed of 3 May 2026 is made between Anna Berg and the harbour of Lund.

The price is 1,200.00 euros for the modern crane, with a margin of -5 percent.

Each party signs on a page of its own."""


def changes(a: str, b: str) -> tuple[TextChange, ...]:
    return changes_of(ChangedText(read(a)), ChangedText(read(b)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("3 May", "17 June", ("date", "3 May 2026", "17 June 2026")),
        ("Anna", "Maria", ("name", "Anna Berg", "Maria Berg")),
        ("Anna Berg", "Ida von der Au", ("name", "Anna Berg", "Ida von der Au")),
        ("1,200", "1,350", ("amount", "1,200.00", "1,350.00")),
        ("modern", "modem", ("OCR", "modern", "modem")),
        ("-5 percent", "5 percent", ("sign", "-", "")),
        ("crane", "green crane", ("words", "", "green")),
        (
            "\n\nEach party signs on a page of its own.",
            "",
            ("paragraph", "Each party signs on a page of its own", ""),
        ),
        ("crane, with", "crane. It was seen by both of them in March. With", ("sentence", "", None)),
        ("own.", "own. It has a seal on the last page.", ("sentence", "", "It has a seal on the last page")),
        ("price", "PRICE", None),
        ("1,200.00", "12 of 14", ("words", "1,200.00", "12 of 14")),
        ("crane", "Kran", ("words", "crane", "Kran")),
    ],
)
def test_a_place_is_what_a_reader_takes_as_one(old: str, new: str, expected: tuple[str, str, str] | None) -> None:
    found = changes(DEED, DEED.replace(old, new))
    assert len(found) == (expected is not None)
    if expected is not None:
        change, (what, before, after) = found[0], expected
        assert (change.what, change.before) == (what, before)
        assert after is None or change.after == after


@pytest.mark.parametrize(
    ("text", "old", "new", "what"),
    [
        ("Miete für das Haus, und zwar monatlich", "Miete", "Pacht", "words"),
        ("договор аренды дома подписан сторонами", "аренды", "продажи", "words"),
        ("подписал Иван Петров по просьбе сторон", "Иван", "Пётр", "name"),
        ("여기 서울 항구 사무소 에서 서명한다", "항구", "공원", "words"),
        ("zahlt 1 200 000 € am Ende des Jahres", "1 200", "1 350", "amount"),
        ("see contract A-12/3 of the harbour office", "A-12/3", "A-12/4", "amount"),
        ("write to anna7@example.org of the office", "anna7", "tom8", "words"),
    ],
)
def test_names_and_numbers_in_other_scripts_and_forms(text: str, old: str, new: str, what: str) -> None:
    assert [change.what for change in changes(text, text.replace(old, new))] == [what]


def test_moved_text_is_no_other_text() -> None:
    lines = DEED.split("\n\n")
    found = changes(DEED, "\n\n".join((lines[1], lines[0], lines[2])))
    assert {change.what for change in found} == {"moved"}


def test_names_beside_amounts_are_two_places() -> None:
    found = changes("Pay Anna Berg 1,200.00 now, please.", "Pay Tom Berg 1,350.00 now, please.")
    assert [(change.what, change.after) for change in found] == [("name", "Tom Berg"), ("amount", "1,350.00")]


@pytest.mark.parametrize("seed", range(40))
def test_the_changes_lead_from_one_text_to_the_other(seed: int) -> None:
    pieces = [
        "Anna Berg",
        "1,200.50",
        "3 May 2026",
        "-7",
        "the",
        "harbour",
        "crane.",
        "It",
        "is",
        "old,\n",
        "new\n\n",
    ]
    one, other = changed_pieces(seed, pieces)
    tokens = words(one).strings
    for change in reversed([change for change in changes(one, other) if change.what != "sign"]):
        assert words(change.before).strings == tokens[change.begin : change.end]
        tokens[change.begin : change.end] = words(change.after).strings
    assert tokens == words(other).strings


PIECES = ["Anna", "von", "der", "Berg", "of", "OF", "the", "harbour", "1", "200", "1,200.50", "3", "May", "may."]
PIECES += ["2026", "st", "2nd", "€", "$", "-", "%", "(", ")", "/", "x1", "abcdefghij1", "a@b.example", "www.x.org"]
PIECES += [
    "http://x.org/a",
    "c:\\a\\b",
    "./a/b",
    "Über",
    "e\u0301x",
    "№7",
    "½",
    "ϒ",
    "B.",
    "iPhone",
    "1’000",
    "(1",
]
JOINS = (" ", " ", " ", "\xa0", "\u202f", "\n", ", ", ". ", "-", "", "; ", ": ")
TEXTS = st.lists(st.sampled_from(PIECES) | st.sampled_from(JOINS), max_size=30).map("".join) | st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(JOINS)).map("".join), max_size=30
).map("".join)


@given(TEXTS)
def test_no_expression_begins_where_none_is_looked_for(text: str) -> None:
    slow = re.compile(expressions._EXPRESSION.pattern.removeprefix(expressions._NO_BEGIN), re.IGNORECASE)
    assert slow.pattern != expressions._EXPRESSION.pattern
    for begin in (0, len(text) // 3):
        expected = [match.span() for match in slow.finditer(text, begin)]
        assert [match.span() for match in expressions._EXPRESSION.finditer(text, begin)] == expected


@given(TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_a_name_is_cut_at_an_edge_if_one_is_near_it(text: str, begin: int, size: int) -> None:
    own = ChangedText(read(text))
    begin = min(begin, len(own.units))
    end = min(begin + min(size, NEAR), len(own.units))
    expected = [0, 0]
    if (begin, end) not in ((0, len(own.units)), (0, 0), (len(own.units), len(own.units))):
        spans = own.units.spans.tolist()
        token = max(0, begin - NEAR)
        near = spans[token : end + NEAR]
        wholes = [
            (each.first, each.last)
            for each in expressions.expressions_of(text, near, token, near[0][0], near[-1][1])
        ]
        for name in parts._NAME.finditer(text, near[0][0], near[-1][1]):
            first, last = (sum(one < place for one, _ in near) + token for place in name.span())
            wholes.append((first + (last - first > 2 and own.breaks[first] > 0), last))
        expected[0] = max((begin - first for first, last in wholes if first < begin < last), default=0)
        expected[1] = max((last - end for first, last in wholes if first < end < last), default=0)
    assert own.around(begin, end) == own.around(begin, end) == tuple(expected)
