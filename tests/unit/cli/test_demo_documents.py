"""The sample collection is what its golden file says, recomputed here without the package's own code."""

import json
import re
import unicodedata
from datetime import date
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import pytest
import regex

from neardup.cli.demo_documents import documents_path
from support.paths import GOLDEN

GOLDEN = GOLDEN / "demo_expected.json"
EXPECTED: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
NEAR = Fraction(4, 5)
# a grapheme cluster of an unspaced script is a token; elsewhere a run of word characters is
UNSPACED = r"[\p{Han}\p{Thai}]"
TOKEN = regex.compile(rf"(?={UNSPACED})\X|(?:(?!{UNSPACED})\w)+")

Shingles = frozenset[tuple[str, ...]]


@cache
def documents() -> list[dict[str, Any]]:
    return [json.loads(line) for line in documents_path().read_text(encoding="utf-8").split("\n") if line]


@cache
def texts() -> dict[str, str]:
    return {document["id"]: document["text"] for document in documents()}


@cache
def tokens(name: str) -> tuple[str, ...]:
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", texts()[name]).casefold())
    if regex.search(UNSPACED, text):
        return tuple(TOKEN.findall(text))
    return tuple(re.findall(r"\w+", text))


@cache
def shingles(name: str) -> Shingles:
    words = tokens(name)
    if len(words) < 5:
        return frozenset([words])
    return frozenset(words[i : i + 5] for i in range(len(words) - 4))


def resemblance(one: str, other: str) -> Fraction:
    return Fraction(len(shingles(one) & shingles(other)), len(shingles(one) | shingles(other)))


def containment(part: str, whole: str) -> Fraction:
    return Fraction(len(shingles(part) & shingles(whole)), len(shingles(part)))


def exact_copies() -> list[list[str]]:
    first: dict[tuple[str, ...], str] = {}
    for name in texts():
        first.setdefault(tokens(name), name)
    return [[first[tokens(name)], name] for name in texts() if tokens(name) and first[tokens(name)] != name]


def case(name: str) -> list[str]:
    ids: list[str] = EXPECTED["cases"][name]["ids"]
    return ids


def test_count_and_unique_ids() -> None:
    assert len(documents()) == EXPECTED["count"]
    assert len(texts()) == EXPECTED["count"]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in texts())


def test_every_document_has_its_four_fields_in_order() -> None:
    for document in documents():
        assert list(document) == ["id", "date", "kind", "text"]
        assert all(isinstance(value, str) for value in document.values())
        assert document["kind"]


def test_dates_are_iso_and_sorted() -> None:
    dates = [document["date"] for document in documents()]
    assert [date.fromisoformat(day).isoformat() for day in dates] == dates
    assert dates == sorted(dates)


def test_the_file_itself_survives_editors() -> None:
    raw = documents_path().read_bytes()
    assert b"\r" not in raw
    assert raw.endswith(b"}\n")
    decoded = raw.decode("utf-8")
    # decomposed letters and soft hyphens stand as \u escapes: no editor can compose or drop them
    assert unicodedata.is_normalized("NFC", decoded)
    assert "\u00ad" not in decoded


def test_empty_documents() -> None:
    assert [name for name in texts() if not tokens(name)] == EXPECTED["empty"]


def test_exact_copies() -> None:
    assert exact_copies() == EXPECTED["exact_copies"]


def test_near_pairs() -> None:
    dropped = {copy for _, copy in exact_copies()} | set(EXPECTED["empty"])
    kept = [name for name in texts() if name not in dropped]
    found = [
        [a, b, len(shingles(a) & shingles(b)), len(shingles(a)), len(shingles(b))]
        for a, b in combinations(kept, 2)
        if resemblance(a, b) >= NEAR
    ]
    assert found == EXPECTED["near"]


def test_cases_name_known_documents() -> None:
    for content in EXPECTED["cases"].values():
        assert set(content) == {"ids", "what"}
        assert set(content["ids"]) <= set(texts())


def test_every_near_or_exact_pair_belongs_to_a_case() -> None:
    ids = [set(content["ids"]) for content in EXPECTED["cases"].values()]
    pairs = [set(pair[:2]) for pair in EXPECTED["exact_copies"] + EXPECTED["near"]]
    assert all(any(pair <= members for members in ids) for pair in pairs)


def test_documents_outside_the_cases_are_unlike_everything() -> None:
    in_cases = {name for content in EXPECTED["cases"].values() for name in content["ids"]}
    others = [name for name in texts() if name not in in_cases]
    assert len(others) >= 35
    assert all(resemblance(a, b) < Fraction(1, 20) for a in others for b in texts() if a != b)


def test_identical_copies_are_identical_and_the_others_are_not() -> None:
    assert len({texts()[name] for name in case("byte-identical copies")}) == 1
    for name in ("copy after normalisation", "French, NFC and NFD", "Czech, NFC and NFD", "full width"):
        one, other = case(name)
        assert texts()[one] != texts()[other]
        assert [one, other] in EXPECTED["exact_copies"]


@pytest.mark.parametrize("name", ["French, NFC and NFD", "Czech, NFC and NFD"])
def test_normal_forms(name: str) -> None:
    composed, decomposed = (texts()[member] for member in case(name))
    assert unicodedata.is_normalized("NFC", composed)
    assert decomposed == unicodedata.normalize("NFD", composed) != composed


def test_one_word_edits_are_one_word_edits() -> None:
    first, *edited = case("one-word edits")
    assert len(tokens(first)) >= 80
    for name in edited:
        assert sum(a != b for a, b in zip(tokens(first), tokens(name), strict=True)) == 1


def test_only_neighbours_in_the_chain_are_near() -> None:
    chain = case("chain of revisions")
    for (i, a), (j, b) in combinations(enumerate(chain), 2):
        assert (resemblance(a, b) >= NEAR) == (j == i + 1)
    assert resemblance(chain[0], chain[-1]) < Fraction(1, 2)


def test_replies_contain_the_mail_they_quote() -> None:
    mail, short = case("reply with one line")
    same_mail, long = case("long reply")
    assert mail == same_mail
    assert containment(mail, short) == containment(mail, long) == 1
    assert resemblance(mail, short) >= NEAR
    assert resemblance(mail, long) < Fraction(1, 2)


def test_scans() -> None:
    assert resemblance(*case("light OCR errors")) >= NEAR
    assert Fraction(3, 10) <= resemblance(*case("heavy OCR errors")) <= Fraction(6, 10)


def test_pasting_twice_adds_only_the_seam() -> None:
    once, twice = case("pasted twice")
    assert tokens(twice) == tokens(once) * 2
    assert shingles(once) < shingles(twice)
    assert len(shingles(twice) - shingles(once)) == 4


def test_a_shared_footer_does_not_make_near_copies() -> None:
    for a, b in combinations(case("shared footer"), 2):
        assert Fraction(3, 10) <= resemblance(a, b) <= Fraction(6, 10)


def test_contracts() -> None:
    assert resemblance(*case("contracts from one template")) >= NEAR
    assert Fraction(1, 2) < resemblance(*case("contract with a replaced clause")) < NEAR


def test_texts_without_tokens() -> None:
    assert case("no tokens") == EXPECTED["empty"]
    nothing, blank, dots = (texts()[name] for name in case("no tokens"))
    assert nothing == ""
    assert blank
    assert not blank.strip()
    assert dots == "..."


def test_tiny_documents() -> None:
    ann, finn, noted = case("two words")
    assert tokens(ann) == tokens(finn) == ("thank", "you")
    assert len(tokens(noted)) == 2
    assert resemblance(ann, noted) == 0
    assert resemblance(*case("five words and six")) == Fraction(1, 2)
    assert all(token.isdigit() for token in tokens(*case("numbers only")))


def test_one_chinese_character_differs() -> None:
    one, other = case("Chinese")
    assert sum(a != b for a, b in zip(texts()[one], texts()[other], strict=True)) == 1
    assert all(len(token) == 1 for token in tokens(one))
    assert len(tokens(one)) >= 50


def test_thai_clusters_keep_their_marks() -> None:
    one, _ = case("Thai")
    assert not any(unicodedata.category(token[0]) == "Mn" for token in tokens(one))
    assert any(len(token) > 1 for token in tokens(one))


def test_soft_hyphens_split_two_words() -> None:
    plain, hyphenated = case("soft hyphens")
    assert texts()[hyphenated].replace("\u00ad", "") == texts()[plain]
    assert len(tokens(hyphenated)) == len(tokens(plain)) + 2


def test_moved_and_inserted_paragraphs() -> None:
    one, other = case("moved paragraph")
    assert sorted(texts()[one].split("\n\n")) == sorted(texts()[other].split("\n\n"))
    before, after = (texts()[name].split("\n\n") for name in case("inserted paragraph"))
    assert len(after) == len(before) + 1
    assert [paragraph for paragraph in after if paragraph in before] == before
