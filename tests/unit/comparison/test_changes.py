"""The places where a text differs from another one, and what they are."""

import pytest

from neardup.comparison.changes import ChangedText, TextChange, changes_of
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
