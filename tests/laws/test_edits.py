"""Small edits of long documents are always found: insert, delete, move and replace a word, move a paragraph.

These are the edits on which sketches that sample words by their position fail. The plan for threshold .8 misses a
pair with J = .95 with probability 6·10⁻¹¹ and one with J = .99 with less than 10⁻²⁰, so over all 400 documents of
all ten edits a correct program misses one with probability below 4000 · 6·10⁻¹¹ = 2.4·10⁻⁷.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

import neardup as nd
from support.full_run import FULL
from support.made_texts import WORDS, Writer, punctuated, resemblance, shingles

Shingles = set[tuple[str, ...]]

DOCUMENTS = 400 if FULL else 160
CERTAIN = 0.95

Edit = Callable[[list[str], Writer], list[str]]


def insert_at(share: float) -> Edit:
    def edit(words: list[str], writer: Writer) -> list[str]:
        at = round(share * len(words))
        return [*words[:at], writer.random.choice(WORDS), *words[at:]]

    return edit


def prepend_sentence(words: list[str], writer: Writer) -> list[str]:
    return [*writer.words(4), *words]


def delete_word(words: list[str], writer: Writer) -> list[str]:
    at = writer.random.randrange(len(words))
    return words[:at] + words[at + 1 :]


def delete_first_word(words: list[str], writer: Writer) -> list[str]:
    return words[1:]


def move_word(words: list[str], writer: Writer) -> list[str]:
    rest = list(words)
    word = rest.pop(writer.random.randrange(len(rest)))
    rest.insert(writer.random.randrange(len(rest)), word)
    return rest


def move_paragraph(words: list[str], writer: Writer) -> list[str]:
    begin = writer.random.randrange(len(words) // 2)
    end = begin + min(55, len(words) // 4)
    rest = words[:begin] + words[end:]
    at = writer.random.randrange(len(rest))
    return rest[:at] + words[begin:end] + rest[at:]


def replace_word(words: list[str], writer: Writer) -> list[str]:
    changed = list(words)
    changed[writer.random.randrange(len(changed))] = writer.random.choice(WORDS)
    return changed


EDITS: dict[str, Edit] = {
    "insert at the front": insert_at(0.0),
    "insert in the middle": insert_at(0.5),
    "insert at the end": insert_at(1.0),
    "insert near the start": insert_at(0.02),
    "prepend a sentence": prepend_sentence,
    "delete a word": delete_word,
    "delete the first word": delete_first_word,
    "move a word": move_word,
    "move a paragraph": move_paragraph,
    "replace a word": replace_word,
}


@pytest.mark.part(8)
@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("sketch", ["one-permutation", "classic"])
def test_an_edited_document_is_found(name: str, sketch: str) -> None:
    writer, (before, sets) = Writer(seed=len(name)), originals()
    after = [EDITS[name](words, writer) for words in before]
    edited = [shingles(words) for words in after]
    texts = [punctuated(words) for pair in zip(before, after, strict=True) for words in pair]
    found = nd.find(texts, threshold=0.8, sketch=sketch)
    pairs = {(row["id_a"], row["id_b"]): row for row in found.pairs.to_pylist()}
    exact = [len(a & b) / len(a | b) for a, b in zip(sets, edited, strict=True)]
    certain = [k for k, j in enumerate(exact) if CERTAIN <= j < 1]
    copies = [k for k, (a, b) in enumerate(zip(before, after, strict=True)) if a == b]
    # of the longer half every edit leaves J ≥ .95, but a replaced word may be replaced by itself
    assert len(certain) + len(copies) >= DOCUMENTS // 2
    assert [k for k in certain if (2 * k, 2 * k + 1) not in pairs] == []
    for k in certain:
        row, a, b = pairs[2 * k, 2 * k + 1], sets[k], edited[k]
        assert (row["shared"], row["size_a"], row["size_b"]) == (len(a & b), len(a), len(b))
    assert len(pairs) <= DOCUMENTS  # no pair of documents that have nothing to do with each other


@pytest.mark.parametrize("name", ["insert at the front", "insert at the end", "delete the first word"])
def test_an_edit_at_an_end_of_a_text_is_found_in_all_documents(name: str) -> None:
    """A word at an end touches one shingle: J ≥ .99 from 104 words on."""
    writer = Writer(seed=100 + len(name))
    before = [writer.words(max(104, n)) for n in lengths()]
    after = [EDITS[name](words, writer) for words in before]
    assert min(resemblance(*pair) for pair in zip(before, after, strict=True)) >= 0.99
    texts = [punctuated(words) for pair in zip(before, after, strict=True) for words in pair]
    found = nd.find(texts, threshold=0.99, method="lsh", recall=0.999999).pairs
    pairs = set(zip(found["id_a"].to_pylist(), found["id_b"].to_pylist(), strict=True))
    # each is missed with probability 10⁻⁶ at most: two of them with 8·10⁻⁸
    assert len(pairs & {(2 * k, 2 * k + 1) for k in range(DOCUMENTS)}) >= DOCUMENTS - 1
    found = nd.find(texts, threshold=0.8).pairs
    pairs = set(zip(found["id_a"].to_pylist(), found["id_b"].to_pylist(), strict=True))
    assert len(pairs & {(2 * k, 2 * k + 1) for k in range(DOCUMENTS)}) == DOCUMENTS


@cache
def originals() -> tuple[list[list[str]], list[Shingles]]:
    writer = Writer(seed=1)
    before = [writer.words(n) for n in lengths()]
    return before, [shingles(words) for words in before]


def lengths() -> list[int]:
    """Return 97 to 2000, as many lengths as documents."""
    return [97 + (2000 - 97) * k // (DOCUMENTS - 1) for k in range(DOCUMENTS)]
