"""The kinds of difference: each rule, at its edges, in both directions and in several scripts."""

import re
from dataclasses import replace

import numpy as np
import pytest

import neardup as nd
from neardup.comparison import matching
from neardup.comparison.kinds import (
    CONTAINED,
    IDENTICAL,
    INSERTED,
    KINDS,
    MOVED,
    NUMBERS,
    QUOTED,
    SIGNS,
    STYLE,
    WORDING,
)
from neardup.comparison.kinds.blocks import LONGEST, depths_of, has_quotes
from neardup.comparison.kinds.rules import (
    UNKNOWN,
    Kind,
    different_numbers,
    kind_of,
    numbers_of,
    same_but_for_numbers,
    sentence,
)
from neardup.text.units import read, words

LINES = (
    "The council met on Monday in the old hall, and the budget was discussed for two hours.",
    "Members asked about the bridge at the mill; it will be repaired in spring.",
    "The library opens at 9 and closes at 17 on weekdays.",
)
TEXT = "\n".join(LINES)
NEW = "Nobody spoke of the harbour until the clock struck noon."
MAIL = "Shall we meet on Tuesday at the mill, or is Friday better for you and the others?"
MARKED = "\n".join("> " + line for line in TEXT.split("\n"))


def judged(a: str, b: str) -> Kind:
    """Return the kind of two texts, after checking that the other order gives the same."""
    there, back = kind_of(read(a), read(b)), kind_of(read(b), read(a))
    assert there.name == back.name
    assert there.larger == back.larger == -1 or there.larger == 1 - back.larger
    assert there.numbers == back.numbers
    return there


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (TEXT, IDENTICAL),
        ("\ufeff" + TEXT.replace("\n", "\r\n"), IDENTICAL),
        (TEXT.upper(), STYLE),
        (TEXT + " ", IDENTICAL),
        (TEXT.replace("\n", " – "), STYLE),
        (TEXT.replace("17", "17.30"), NUMBERS),
        (TEXT.replace("9", "1,009.50").replace("17", "20"), NUMBERS),
        (TEXT.replace("17", "noon"), WORDING),
        (TEXT + " Bye", CONTAINED),
        ("Minutes: " + TEXT + " Bye", CONTAINED),
        (LINES[1], CONTAINED),
        (TEXT[12:-9], CONTAINED),
        (f"{LINES[0]}\n{NEW}\n{LINES[1]}\n{NEW}\n{LINES[2]}", CONTAINED),
        (f"{LINES[0]}\n{NEW}\n{LINES[1]}\n{LINES[2]}", INSERTED),
        (f"{LINES[0]}\n{LINES[2]}", INSERTED),
        (f"{LINES[0]}\nNew.\n{LINES[1]}\n{LINES[2]}", INSERTED),
        (TEXT.replace("Monday", "Monday after a very long and cold day"), INSERTED),
        (TEXT.replace("Monday", "Monday after a long day"), WORDING),
        (TEXT.replace("will be", "will not be"), WORDING),
        (TEXT.replace("will be", "be"), WORDING),
        (f"{LINES[1]}\n{LINES[0]}\n{LINES[2]}", MOVED),
        (f"{LINES[2]}\n{LINES[1]}\n{LINES[0]}", MOVED),
        (f"{LINES[1]}\n{LINES[0]}\n{NEW}\n{LINES[2]}", CONTAINED),
        (f"{LINES[1]}\n{LINES[0]}\n{LINES[2]} Bye now", CONTAINED),
        # a clause is gone where it was, and is part of a new sentence
        (
            TEXT.replace(" on Monday in the old hall", "") + " Nobody dances on Monday in the old hall of ours.",
            WORDING,
        ),
        (TEXT.replace("bridge", "tunnel"), WORDING),
        (f"{LINES[0]}\n{NEW}\n{TEXT.replace('bridge', 'tunnel')}", WORDING),
        (NEW, WORDING),
        ("", CONTAINED),
        ("… !", CONTAINED),
    ],
)
def test_each_rule(other: str, kind: str) -> None:
    assert judged(TEXT, other).name == kind


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("", "", IDENTICAL),
        ("", " \n", IDENTICAL),
        ("?", "!", STYLE),
        ("e\u0301tude", "\u00e9tude", IDENTICAL),
        ("Straße", "STRASSE", STYLE),
        ("ﬁve", "five", STYLE),
        ("ﬁve ½", "five 1⁄2", SIGNS),
        ("rate -5", "rate 5", SIGNS),
        ("if x > 3", "If x < 3", SIGNS),
        ("over 7 % of all", "over 7 of all", SIGNS),
        ("pay 1.5 now", "pay 1,5 now", SIGNS),
        # two kinds at once: a sign besides numbers, or in the text that one contains
        ("x > 900 a day", "x < 1,050 a day", WORDING),
        ("x of -900 a day", "x of 1,050 a day", NUMBERS),
        ("it is -5 now", "it is 5 now and all day long here", WORDING),
        ("a b\nc d -7\ne f", "c d 7\ne f\na b", WORDING),
        ("a", "b", WORDING),
        ("1", "2", NUMBERS),
        ("1", "x", WORDING),
        ("a", "a b", CONTAINED),
        ("a b", "b a", WORDING),
        ("a b\nc d\ne f", "c d\ne f\na b", MOVED),
        ("a b\nc d\ne f", "a b\nx\nc d\ny\ne f\nz", CONTAINED),
        ("a b\nc\nd", "a b\nx y\nc\nx z\nd", CONTAINED),
        ("a b\nx y\nc\nx z\nd", "a b\nc\nd", CONTAINED),
        ("a b\nc d\ne f", "a b\nx\ne f\nc d\n", WORDING),
        ("x y x y x y", "x y x y x y x y", CONTAINED),
    ],
)
def test_short_texts(a: str, b: str, kind: str) -> None:
    assert judged(a, b).name == kind


@pytest.mark.parametrize(
    ("a", "b", "differ", "count"),
    [
        ("on 3 May", "on 14 May", 1, 1),
        ("on 2020-01-31 at 12:30", "on 2020-02-01 at 12:30", 1, 2),
        ("pay 1,000.50 or 7", "pay 999 or 7", 1, 2),
        ("version 2", "version 2.1.7", 1, 1),
        ("v2 of 3rd", "v10 of 4rd", 2, 2),
        ("page 3, 4", "page 3, 4, 7", 1, 1),
        ("วันที่ 12 มีนาคม 2564", "วันที่ 13 มีนาคม 2564", 1, 2),
        ("第8895条", "第11条", 1, 1),
        ("رقم ٥٨٨٨", "رقم ٤", 1, 1),
        ("पृष्ठ १२", "पृष्ठ 12", 1, 1),
        ("x² and ½", "x3 and 7⁄2", 2, 2),
    ],
)
def test_numbers_of_any_form_and_script(a: str, b: str, differ: int, count: int) -> None:
    found = judged(a, b)
    assert found.name == NUMBERS
    assert found.numbers == (differ, count)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1\n2", "1\n2\n3"),  # a line more is more than a changed number
        ("page 3", "page"),
        ("page 3", "3 page"),
        ("1st", "2nd"),
        ("May 3", "June 3"),
        ("第三条", "第四条"),  # words in these scripts, not decimal digits
        ("IV", "V"),
    ],
)
def test_what_is_more_than_numbers(a: str, b: str) -> None:
    assert judged(a, b).name != NUMBERS


def test_numbers_without_a_difference() -> None:
    one, two = numbers_of(read("Pay 12, at 1.5 or 7x8")), numbers_of(read("pay 12 at 1 5 or 7x8"))
    assert same_but_for_numbers(one, two)
    assert different_numbers(one, two) == (0, 4)


@pytest.mark.parametrize(
    "reply",
    [
        f"{MAIL}\n\n{MARKED}\n",
        f"{MARKED}\n\n{MAIL}\n",
        f"{MAIL}\n\nOn Mon, 3 May 2010, An Other wrote:\n\n{TEXT}\n",
        f"{MAIL}\n\nAm 03.05.2010 schrieb An Other\n<an@example.org>:\n{MARKED}\n",
        f"{MAIL}\n\n-----Original Message-----\nFrom: An\nSent: 3 May 2010\nTo: Bo\nSubject: Hall\n\n{TEXT}",
        f"{MAIL}\n\n________________\nVon: An\nGesendet: 3.5.2010\nAn: Bo\nBetreff: Saal\n\n{TEXT}",
        f"{MAIL}\n\n差出人： an@example.org\n日時： 今日\n宛先： bo\n\n{TEXT}",
        f"{MAIL}\n" + "\n".join("＞" + line for line in LINES[:2]),
    ],
)
def test_a_reply_quotes_the_mail(reply: str) -> None:
    found = judged(TEXT, reply)
    assert found.name == QUOTED
    assert found.larger == 1
    answered = f"{NEW}\n" + "\n".join("> " + line for line in reply.split("\n"))
    assert judged(reply, answered).name == QUOTED


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (f"{MAIL}\n{MARKED}", f"{NEW}\n{MARKED}"),  # two answers to one mail do not quote each other
        (TEXT, MARKED),  # marks alone are punctuation
        (TEXT, f"{TEXT}\n> {MAIL}"),  # the quoted text is not that of the other
        (f"From: An\nTo: Bo\nDate: 3 May\n{TEXT}", f"{TEXT}"),  # the header of a mail itself
        (TEXT, f"{TEXT}\nHe wrote:\n{NEW}"),
    ],
)
def test_what_is_no_quoted_reply(a: str, b: str) -> None:
    assert judged(a, b).name != QUOTED


def test_the_quoted_tokens_are_those_of_the_match_and_no_words_beside_it() -> None:
    """The subject and the greeting, which both have, come before the quotation."""
    subject = "The hall\n\nDear Bo,\n\n"
    asked, answered = f"{subject}{TEXT}", f"Re: {subject}{NEW}\n{MARKED}"
    compared = nd.compare(asked, answered)
    quoted = judged(asked, answered).quoted
    assert quoted == len(words(TEXT)) < len(words(asked))
    assert compared.measures["common_literal"] == quoted
    for view in (str(compared), compared.html()):
        assert set(re.findall(r"(\d+) of \d+ tokens of A", view)) == {str(quoted)}


def test_depths_by_marks_and_headers() -> None:
    text = "No\n> one\n>> two\n> > deep\nnone\nAn wrote:\nall\n> more"
    assert depths_of(words(text)).tolist() == [0, 1, 2, 2, 0, 0, 0, 1, 2]
    assert not has_quotes("a > b\nde: x\nen: y\nfr: z\n")
    assert not has_quotes("> a\n" * LONGEST)
    assert depths_of(words("")).tolist() == []


def test_kinds_are_the_same_whatever_the_settings_of_a_comparison() -> None:
    other = TEXT.replace("17", "18")
    for settings in ({}, {"unit": "char"}, {"ignore_numbers": True}, {"length": 2, "min_chunk": 9}):
        assert nd.compare(TEXT, other, **settings).kind == NUMBERS  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (TEXT, "identical text: character by character"),
        (TEXT.upper(), "case or punctuation only: the same 42 tokens; case 40"),
        (TEXT.replace("17", "18"), "numbers only: 1 of 2 numbers differs"),
        (f"{NEW} {TEXT} {NEW}", "one is contained: all of A is in B; B adds 20 tokens in 2 places"),
        (
            f"{LINES[1]}\n{LINES[0]}\n{LINES[2]} Bye",
            "one is contained: all of A is in B; B adds 1 token in 1 place; 1 passage moved (14 tokens)",
        ),
        (LINES[0], "one is contained: all of B is in A; A adds 25 tokens in 1 place"),
        (
            f"{LINES[0]}\n{NEW}\n{LINES[1]}\n{LINES[2]}",
            "one passage inserted/removed: B has one more passage, of 10 tokens",
        ),
        (f"{LINES[0]}\n{LINES[2]}", "one passage inserted/removed: A has one more passage, of 14 tokens"),
        (
            f"{LINES[1]}\n{LINES[0]}\n{LINES[2]}",
            "moved: the same 42 tokens in another order; 1 passage moved (14 tokens)",
        ),
        (f"{MAIL}\n{MARKED}", "quoted reply: B quotes 42 of 42 tokens of A and has 17 of its own"),
        (TEXT.replace("bridge", "iron tunnel"), "wording: 1 token only in A, 2 only in B, in 1 place"),
        (
            f"{LINES[1]}\n{LINES[0]}\n{LINES[2].replace(' 9', ' -9')}",
            "wording: the same 42 tokens in another order; 1 passage moved (14 tokens); "
            "in equal text 1 sign or operator differs",
        ),
        (
            f"{LINES[1]}\n{LINES[0]}\n{LINES[2].replace('17', 'noon')}",
            "wording: 1 token only in A, 1 only in B, in 1 place; 1 passage moved (14 tokens)",
        ),
    ],
)
def test_the_sentence(other: str, said: str) -> None:
    found = nd.compare(TEXT, other)
    assert found.difference == said
    assert found.as_dict()["difference"] == said
    assert found.as_dict()["kind"] == found.kind
    assert f"kind         {said[:20]}" in found.text()
    assert f"<dt>Kind</dt><dd>{said}</dd>" in found.html()


def test_texts_that_cannot_be_aligned_have_no_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    real = matching.literal

    def capped(pair: matching.TokenPair, length: int) -> matching.Literal:
        return replace(real(pair, length), capped=True)

    monkeypatch.setattr(matching, "literal", capped)
    other = TEXT.replace("council", "board").replace("library", "hall")
    found = judged(TEXT, other)
    assert found.name is None
    assert sentence(found) == UNKNOWN
    assert nd.compare(TEXT, other).kind is None
    assert nd.compare(TEXT, other).difference == UNKNOWN
    assert kind_of(read(TEXT), read(TEXT.upper())).name == STYLE  # needs no alignment
    assert kind_of(read(TEXT), read(f"{LINES[0]}\n{LINES[2]}")).name == INSERTED


def test_long_rewritten_stretches_are_wording_with_an_upper_bound() -> None:
    a = " ".join(f"a{'bcdefghij'[k % 9]}{'xyz'[k % 3]}" for k in range(3000))
    b = " ".join(f"q{'bcdefghij'[k % 7]}{'xyz'[k % 3]}" for k in range(2900))
    found = judged(f"begin {a} end", f"begin {b} end")
    assert found.name == WORDING
    assert found.blocks is not None
    assert sentence(found).startswith("at most ") == found.blocks.at_most


def test_hostile_texts_have_one_kind_each() -> None:
    hostile = [
        "\ud800",
        "a\x00b",
        "\u202e abc",
        ">" * 999,
        "wrote:\n" * 99,
        "From: 1\nx: y\nz: w\n" * 50,
        "1 " * 999,
        "#" * 9,
    ]
    for a in hostile:
        for b in hostile:
            found = judged(a, b)
            assert found.name in KINDS
            assert (found.name == IDENTICAL) == (a == b)
            assert sentence(found)


def test_blocks_and_the_rest_make_up_both_texts() -> None:
    found = judged(TEXT, f"{LINES[2]}\n{NEW}\n{LINES[0]}").blocks
    assert found is not None
    for side in (0, 1):
        covered = np.zeros(found.sizes[side], np.int64)
        for block in found.blocks.tolist():
            covered[block[side] : block[side] + block[2]] += 1
        for begin, end in found.rest[side].tolist():
            covered[begin:end] += 1
        assert (covered == 1).all()
