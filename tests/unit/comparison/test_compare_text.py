"""A comparison on a terminal: what the memo looks like, what fits, what a hostile text cannot do."""

from __future__ import annotations

import re
from itertools import takewhile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.comparison import matching
from neardup.comparison.result import DESCRIPTIONS
from neardup.comparison.show import as_text
from neardup.comparison.show.terminal import Styled
from neardup.comparison.show.words import MAIN_MEASURES
from neardup.display import columns, visible
from neardup.kernels.match import tiling
from support.paths import GOLDEN
from support.strategies import any_text, edited_pair

MEMO = tuple((GOLDEN / f"memo_{side}.txt").read_text(encoding="utf-8") for side in "ab")


def lines(
    a: str, b: str, width: int, *, colour: bool = False, full: bool = False, every: bool = False
) -> list[str]:
    names = ("old.txt", "new.txt")
    return list(as_text(nd.compare(a, b), names, width, colour=colour, full=full, every=every))


@pytest.mark.parametrize("width", [70, 140])
def test_the_memo(width: int) -> None:
    assert lines(*MEMO, width) == (GOLDEN / f"compare_{width}.txt").read_text(encoding="utf-8").splitlines()


def test_two_columns_from_a_hundred_on() -> None:
    assert not any("│" in line for line in lines(*MEMO, 99))
    assert sum("│" in line for line in lines(*MEMO, 100)) > 10


def test_the_library_prints_the_same_without_names() -> None:
    found = nd.compare(*MEMO)
    assert str(found) == found.text(80)
    named = found.text(80, names=("old.txt", "new.txt")).splitlines()
    assert named == lines(*MEMO, 80)
    assert named[2:] == found.text(80).splitlines()


def test_colour_changes_nothing_but_colour() -> None:
    plain, painted = lines(*MEMO, 140), lines(*MEMO, 140, colour=True)
    assert plain != painted
    assert [re.sub(r"\x1b\[[0-9;]+m", "", line).rstrip() for line in painted] == plain


def test_full_shows_what_is_folded() -> None:
    folded, full = (lines(*MEMO, 70, full=full) for full in (False, True))
    marker = next(line.strip() for line in folded if "···" in line)
    hidden = re.fullmatch(r"··· (\d+) equal lines ···", marker)
    assert hidden is not None
    assert len(full) == len(folded) + int(hidden[1]) - 1
    assert not any("···" in line for line in full)


@pytest.mark.parametrize(("kind", "a", "b"), [("only in A", 90, 1), ("changed", 90, 90), ("only in B", 1, 90)])
def test_long_differences_are_folded_too(kind: str, a: int, b: int) -> None:
    texts = ("\n".join(f"{letter}{k}" for k in range(n)) for letter, n in (("a", a), ("b", b)))
    ends = ("The very same line.\n{}\n", "The very same line.\n{}\n")
    given_texts = [end.format(text if n > 1 else "") for end, text, n in zip(ends, texts, (a, b), strict=True)]
    assert sum("···" in line and kind in line for line in lines(*given_texts, 120)) == 1
    assert not any("···" in line for line in lines(*given_texts, 120, full=True))


def test_every_measure_is_in_the_table() -> None:
    table = lines(*MEMO, 80, every=True)[-len(DESCRIPTIONS) :]
    shown = [line.split() for line in table]
    assert [words[0] for words in shown] == list(DESCRIPTIONS)
    assert [words[2] for words in shown] == [about.kind for about in DESCRIPTIONS.values()]
    assert re.search(r"0\.\d{3} +estimate \(95 %: 0\.\d{3} to 0\.\d{3}\)$", table[-2])


def test_six_measures_come_with_a_sentence_each() -> None:
    *before, last = lines(*MEMO, 200)
    shown = [re.fullmatch(r"(\w+) +[\d.]+  (\w+)(?: \(95 %:.*\))?\. (.*)", line) for line in before[-6:]]
    values = [(row[1], row[2], row[3]) for row in shown if row]
    assert values == [(name, DESCRIPTIONS[name].kind, DESCRIPTIONS[name].sentence) for name in MAIN_MEASURES]
    assert last.split() == ["all", "measures", "--all"]


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ("same text", "same text", "The texts of A and B are the same, character by character."),
        ("same text", "Same, text", "A and B have the same tokens in the same order, but not the same"),
        ("", "a text", "A has no token: it is like no other text."),
        ("a text", "...", "B has no token: it is like no other text."),
        ("!", "?", "A and B have no token: there is nothing to compare, and they count as equal."),
        ("two words", "six words are in this text", "A: shorter than a match of 5 tokens; only an identical text"),
    ],
)
def test_what_must_be_known_is_said(a: str, b: str, note: str) -> None:
    said = [line for line in lines(a, b, 90) if line.startswith("note")]
    assert len(said) == 1
    assert said[0].removeprefix("note").lstrip().startswith(note)


@pytest.mark.parametrize(
    ("b", "mark"),
    [
        ("one 22 two three four five six", "= equal but for white space or text left out"),
        ("one 22 two three four five six", "|:left out:| does not count"),
        ("one TWO three four five six", "≠ equal but for the marked characters"),
        ("one two three four five seven", "+ only in B"),
    ],
)
def test_the_head_explains_the_marks(b: str, mark: str) -> None:
    found = nd.compare("one 12 two three four five six", b, ignore_numbers=True)
    assert mark in "".join(takewhile(bool, as_text(found, ("A", "B"), 200, colour=False, full=False)))


def test_what_was_not_worked_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiling, "MOST_STEPS", 0)
    monkeypatch.setattr(matching.lcs, "__defaults__", (0,))
    shown = lines(
        "one two three four five six seven eight nine", "nine one two three four five seven six eight", 200
    )
    assert any(line.startswith("note") and "Lcs: too long" in line for line in shown)
    assert "  lower bound. " in next(line for line in shown if line.startswith("lcs"))


HOSTILE = "a\x1b[2Jb \u202eevil\u202c\r\x07\x00 \x9b31m \u2066x \ufeff\ue000 <script>\ud800 \x85"


@pytest.mark.parametrize("width", [60, 120])
def test_a_text_cannot_rule_the_terminal(width: int) -> None:
    for pair in ((HOSTILE, "other"), (HOSTILE, HOSTILE + " x"), ("other words", HOSTILE)):
        shown = "\n".join(lines(*pair, width))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
        assert all(word in shown for word in ("\\x1b", "\\u202e", "script"))


@given(st.one_of(edited_pair(), st.tuples(any_text(), any_text())), st.integers(60, 150))
def test_no_line_is_too_wide_and_none_of_it_hostile(texts: tuple[str, str], width: int) -> None:
    for line in lines(*texts, width, full=True):
        assert columns(line) <= width
        assert visible(line) == line
        assert "\n" not in line


def in_order(text: str, shown: str) -> bool:
    """Whether ``shown`` has every character of a text that is no white space, in the same order."""
    rest = iter(shown)
    return all(char in rest for char in visible(text) if not char.isspace())


@given(edited_pair())
@example(("one \u200d two", "one more two"))  # A joiner that stands alone was not shown
@example(("yes - no", "yes or no"))  # nor was punctuation
def test_all_words_are_on_the_screen(texts: tuple[str, str]) -> None:
    wide = "".join(lines(*texts, 140, full=True))
    assert in_order(texts[0], wide)
    assert in_order(texts[1], wide)
    narrow = "".join(lines(*texts, 60, full=True))
    assert in_order(texts[0], narrow)  # equal text as A has it ...
    for row in nd.compare(*texts).alignment.rows:  # ... and what only B has
        for piece in row.b:
            if piece.kind in ("changed", "moved"):
                assert in_order(texts[1][piece.begin : piece.end], narrow)


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("yes - no", "yes or no", "yes [---]{+or+} no"),
        ("Stop. Now", "Stop Right Now", "Stop [-.-]{+Right+} Now"),
        ("Stop Now", "Stop. Right Now", "Stop{+. Right+} Now"),
        ("Stop, Right Now", "Stop Now", "Stop[-, Right-] Now"),
        ("See all, now", "See all (or most), now", "See all {+(or most)+}, now"),
        ("one two", "one more two", "one {+more+} two"),
    ],
)
def test_punctuation_stays_where_only_b_has_words(a: str, b: str, shown: str) -> None:
    assert any(line.endswith(shown) for line in lines(a, b, 60))


def wrapped(text: str, width: int) -> list[str]:
    return list(Styled([(text, "")], width).strings({}))


@given(st.lists(any_text(), max_size=5), st.integers(2, 30))
def test_wrapping_loses_nothing_but_white_space(texts: list[str], width: int) -> None:
    text = visible(" ".join(texts)).replace("\t", "    ")
    page = wrapped(text, width)
    assert "".join("".join(page).split()) == "".join(text.split())
    assert all(columns(line) <= width for line in page)


@pytest.mark.parametrize(
    ("text", "width", "page"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one\ntwo", 7, ["one", "two"]),
        ("one\n\n\n\ntwo\n\n", 7, ["one", "", "two", ""]),
        ("  one two", 7, ["  one", "two"]),
        ("a onetwothree", 7, ["a onetw", "othree"]),
        ("abc onetwothree", 6, ["abc", "onetwo", "three"]),
        ("東京都に行く", 5, ["東京", "都に", "行く"]),
        ("a    b", 9, ["a    b"]),
        ("\u3000\u3000\u3000a", 8, ["\u3000\u3000a"]),
        ("a \u00a0 b", 2, ["a", " ", "b"]),
        ("a\u00a0b c", 4, ["a b", "c"]),
    ],
)
def test_how_lines_are_broken(text: str, width: int, page: list[str]) -> None:
    assert wrapped(text, width) == page
