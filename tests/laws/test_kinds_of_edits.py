"""Kinds of difference: right on pairs made by known edits, and as naive twins count them."""

import re
from collections import Counter
from functools import cache

import pytest

import neardup as nd
from neardup.comparison.kinds import CONTAINED, INSERTED, KINDS, MOVED, NUMBERS, STYLE
from neardup.comparison.kinds.rules import kind_of, sentence
from neardup.text.keys import new_key
from neardup.text.units import read
from neardup.unicode import tokens
from support import shared_data
from support.full_run import FULL
from support.known_edits import EDITS, Edited, edited_pairs
from support.paths import ROOT

LEAST_RIGHT = 0.98
PAGE = ROOT / "docs" / "explanation" / "kinds.md"


@cache
def judged() -> tuple[tuple[Edited, str | None], ...]:
    return tuple((pair, kind_of(read(pair.a), read(pair.b)).name) for pair in edited_pairs())


def test_known_edits_are_recognised() -> None:
    right = sum(pair.kind == name for pair, name in judged())
    assert right >= LEAST_RIGHT * len(judged())
    for kind in KINDS:
        of_kind = [name == kind for pair, name in judged() if pair.kind == kind]
        assert len(of_kind) >= 24
        assert sum(of_kind) >= LEAST_RIGHT * len(of_kind)
    assert set(EDITS) == set(KINDS)


def test_the_page_shows_the_confusion_matrix() -> None:
    counts = Counter((pair.kind, name) for pair, name in judged())
    rows = [
        f"| {made} | " + " | ".join(str(counts[made, found] or "") for found in KINDS) + " |" for made in KINDS
    ]
    shown = re.sub(" +", " ", PAGE.read_text(encoding="utf-8"))
    for row in rows:
        assert re.sub(" +", " ", row) in shown


def test_the_examples_of_the_page() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Examples")[2].partition("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in section.splitlines() if ": " in row]
    assert len(rows) == 8
    for a, b, said in rows:
        assert nd.compare(a.replace("⏎", "\n"), b.replace("⏎", "\n")).difference == said


def test_the_order_of_the_texts_does_not_matter() -> None:
    for pair, name in judged():
        assert kind_of(read(pair.b), read(pair.a)).name == name


def test_the_key_of_the_hashes_does_not_matter() -> None:
    key = new_key()
    for pair, _ in judged()[::5]:
        one, other = kind_of(read(pair.a), read(pair.b)), kind_of(read(pair.a, key=key), read(pair.b, key=key))
        assert (one.name, one.larger, sentence(one)) == (other.name, other.larger, sentence(other))


def test_words_and_numbers_are_those_of_a_naive_twin() -> None:
    for pair, name in judged():
        same = tokens(pair.a) == tokens(pair.b)
        assert (name in KINDS[:3]) == same
        assert (name == NUMBERS) == (not same and without_numbers(pair.a) == without_numbers(pair.b))


@pytest.mark.parametrize("name", ["law_de", "django_docs"])
def test_what_a_kind_promises_holds_on_real_pairs(name: str) -> None:
    texts = shared_data.documents(shared_data.or_own(name))
    found = nd.find(list(texts.values()), threshold=0.7, kinds=True).pairs.to_pylist()
    documents = list(texts.values())
    assert len(found) > 40
    for pair in found[:: 1 if FULL else 4]:
        promise(documents[pair["id_a"]], documents[pair["id_b"]], pair["kind"])


def test_what_a_kind_promises_holds_on_known_edits() -> None:
    for pair, name in judged():
        promise(pair.a, pair.b, name)


def promise(a: str, b: str, name: str | None) -> None:
    """Check what a kind says about the words of two texts."""
    few, many = sorted((tokens(a), tokens(b)), key=len)
    if name == STYLE:
        assert few == many
    if name == NUMBERS:
        assert without_numbers(a) == without_numbers(b)
    if name == MOVED:
        assert few != many
        assert Counter(few) == Counter(many)
    if name in (CONTAINED, INSERTED):
        assert len(few) < len(many)
        assert not Counter(few) - Counter(many)
    if name == INSERTED:
        more = len(many) - len(few)
        assert any(few == many[:at] + many[at + more :] for at in range(1, len(few)))


def without_numbers(text: str) -> list[str]:
    """Return the tokens with # for each run of digits; those of digits alone, in one line, are one."""
    found = []
    for line in text.splitlines():
        last = ""
        for token in tokens(line):
            said = re.sub(r"\d+", "#", token)
            if said != "#" or last != "#":
                found.append(said)
            last = said
    return found
