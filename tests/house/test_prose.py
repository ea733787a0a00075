"""The sentences of pages are short, and their words are those of the glossary.

A sentence has at most 30 words, and a cell of a table 40; a name in code counts as one word. Pages that
``scripts/docs`` writes from the tables in the source are not counted.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache

import pytest

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import make_site

DOCS = ROOT / "docs"
MADE = {"reference/cli.md", "reference/settings.md"}
LONGEST, LARGEST_CELL = 30, 40
SEMICOLONS = {"paths": 8, "others": 9}
"""Most semicolons in 1,000 words, on the pages of the readers' paths with the index, and on the others."""
PRIVATE = {
    r"base texts?": 0,
    r"crowds?": 0,
    r"fates?": 2,
    r"hubs?": 3,
    r"relatives": 0,
    r"stay(?:s|ed|ing)?": 0,
    r"strangers?": 0,
}
"""Words of the code that the glossary replaces, and how often user pages may have them outside of code. The column
*Fate* of a review has that name in exports, too; every hub is the one of Hugging Face."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z*`\"“\[(])")


def paths() -> set[str]:
    return {f"{page}.md" for _, pages in list(make_site.parts_of_index())[:4] for page in pages} | {"index.md"}


def plain(text: str) -> str:
    return re.sub(r"`[^`]*`", "CODE", re.sub(r"\]\([^)]*\)", "]", text))


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and the items of lists; no headings, tables, blocks of code or images."""
    for part in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE):
        lines = [line.strip() for line in part.splitlines()]
        yield " ".join(line for line in lines if line and not line.startswith(("#", "|", "!")))


def words(text: str) -> int:
    return sum(bool(re.search(r"\w", word)) for word in text.split())


@cache
def counted(on_paths: bool) -> tuple[list[str], list[str], float]:
    """The long sentences, the large cells, and the semicolons in 1,000 words."""
    long, large, semicolons, total = [], [], 0, 0
    for path in sorted(DOCS.rglob("*.md")):
        name = path.relative_to(DOCS).as_posix()
        if name in MADE or (name in paths()) != on_paths:
            continue
        text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for paragraph in map(plain, paragraphs(text)):
            semicolons, total = semicolons + paragraph.count(";"), total + words(paragraph)
            long += [f"{name}: {one}" for one in SENTENCE_END.split(paragraph) if words(one) > LONGEST]
        rows = [re.split(r"(?<!\\)\|", plain(line)) for line in text.splitlines() if line.startswith("|")]
        large += [f"{name}: {cell}" for row in rows for cell in row if words(cell) > LARGEST_CELL]
    return long, large, 1000 * semicolons / total


@pytest.mark.parametrize("part", SEMICOLONS)
def test_sentences_and_cells_are_short(part: str) -> None:
    long, large, semicolons = counted(part == "paths")
    assert not long
    assert not large
    assert semicolons <= SEMICOLONS[part]


@pytest.mark.parametrize("word", PRIVATE)
def test_words_of_the_code_are_not_those_of_pages(word: str) -> None:
    found = []
    for path in (*sorted(DOCS.rglob("*.md")), ROOT / "README.md"):
        if "contributing" not in path.relative_to(ROOT).parts:
            text = plain(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL))
            found += [path.name for _ in re.finditer(rf"\b{word}\b", text, re.IGNORECASE)]
    assert len(found) <= PRIVATE[word], found


def test_a_long_sentence_and_a_large_cell_are_seen() -> None:
    [first, second] = [part for part in paragraphs("One. Two\nthree.\n\n- four; `a b c`\n") if part]
    assert SENTENCE_END.split(first) == ["One.", "Two three."]
    assert words(plain(second)) == 2
