"""Labelled sets for the adviser, made by seeded rules: scans, revisions, forms, threads, excerpts, short texts.

Each set is ``(texts, families)``: two documents with the same family number are relatives. The prose is of made-up
languages, whose words have the frequencies of a real one, so that strangers have as much in common as real ones.
"""

from __future__ import annotations

import random
import textwrap
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import accumulate

Labelled = tuple[list[str], list[int]]

CONSONANTS, VOWELS = "bcdfghklmnprstvwz", "aeiou"
GREEK = str.maketrans("abcdefghiklmnoprstuvwz", "αβκδεφγηικλμνοπρστυβωζ")


class Language:
    """Words of a made-up language, drawn by Zipf's law."""

    def __init__(self, seed: int, words: int = 4000) -> None:
        drawn = random.Random(seed)
        syllables = [c + v for c in CONSONANTS for v in VOWELS] + [v + c for c in "nrst" for v in VOWELS]
        drawn.shuffle(syllables)
        self.words = []
        for rank in range(words):
            parts = 1 + (rank > 30) + (rank > 300 and drawn.random() < 0.7) + (drawn.random() < 0.2)
            self.words.append("".join(drawn.choice(syllables[:60]) for _ in range(parts)))
        self.totals = [*accumulate(1 / (rank + 3) for rank in range(words))]

    def sentence(self, drawn: random.Random) -> str:
        found = [self.drawn_word(drawn) for _ in range(drawn.randint(7, 22))]
        return " ".join(found).capitalize() + "."

    def drawn_word(self, drawn: random.Random) -> str:
        return self.words[bisect(self.totals, drawn.random() * self.totals[-1])]


class PhrasedLanguage(Language):
    """A language of longer words in phrases: after some words, few others are usual.

    Strangers share more runs of words than in :class:`Language`, as those of real prose do.
    """

    def __init__(self, seed: int, words: int = 4000) -> None:
        super().__init__(seed + 5000, words)
        drawn = random.Random(seed + 9000)
        ends = [c + v + d for c in "bdgjlmprsvy" for v in "aeiouy" for d in "klnrstx"]
        self.words = [word if rank < 40 else word + drawn.choice(ends) for rank, word in enumerate(self.words)]
        self.totals = [*accumulate(1 / (rank + 2) ** 0.9 for rank in range(words))]
        self.usual = {word: drawn.choices(self.words[:800], k=3) for word in self.words}

    def sentence(self, drawn: random.Random) -> str:
        found = [self.drawn_word(drawn)]
        for _ in range(drawn.randint(5, 25)):
            phrase = drawn.random() < 0.4
            found.append(drawn.choice(self.usual[found[-1]]) if phrase else self.drawn_word(drawn))
        return " ".join(found).capitalize() + "."


_spoken: list[type[Language]] = [Language]


@contextmanager
def spoken(kind: type[Language]) -> Iterator[None]:
    """Make the sets of languages of this kind."""
    _spoken.append(kind)
    try:
        yield
    finally:
        _spoken.pop()


@cache
def _made(kind: type[Language], seed: int, words: int) -> Language:
    return kind(seed, words)


def language(seed: int, words: int = 4000) -> Language:
    return _made(_spoken[-1], seed, words)


def sentences(drawn: random.Random, count: int, tongue: int = 1) -> list[str]:
    return [language(tongue).sentence(drawn) for _ in range(count)]


def paragraphs(found: list[str]) -> str:
    return "\n\n".join(" ".join(found[k : k + 4]) for k in range(0, len(found), 4))


def misread(text: str, share: float, drawn: random.Random) -> str:
    """Return the text as a bad scan: letters replaced, dropped, doubled or split by a space."""
    letters = sorted({char for char in text if char.isalpha()})
    seen = []
    for char in text:
        if drawn.random() >= share or not char.strip():
            seen.append(char)
            continue
        kind = drawn.random()
        seen.append(drawn.choice(letters) if kind < 0.7 else "" if kind < 0.85 else char + " ")
    return "".join(seen)


def in_column(text: str, width: int, page: int, drawn: random.Random) -> str:
    """Return the text in lines of a column, words broken at their ends, with a header on each page."""
    lines = []
    for line in textwrap.wrap(text, width):
        if len(lines) % 40 == 0:
            lines.append(f"{page + len(lines) // 40}    ANNALS")
        if drawn.random() < 0.1 and len(line) > 12:
            lines += [line[: len(line) - 4] + "-", line[len(line) - 4 :]]
        else:
            lines.append(line)
    return "\n".join(lines)


def scans(seed: int, noise: float, works: int = 40, tongue: int = 1, spread: float = 0.0) -> Labelled:
    """Return two to four scans of each work; ``spread`` varies the noise."""
    drawn, texts, families = random.Random(seed), [], []
    for work in range(works):
        original = paragraphs(sentences(drawn, drawn.randint(10, 60), tongue))
        for _ in range(drawn.randint(1, 4)):
            seen = misread(original, noise + spread * (drawn.random() - 0.5), drawn)
            texts.append(in_column(seen, drawn.randint(44, 90), drawn.randint(1, 300), drawn))
            families.append(work)
    return texts, families


def revisions(seed: int, lineages: int, versions: int, change: float, tongue: int = 2) -> Labelled:
    """Return chains of versions; each rewrites, adds and drops a share ``change`` of the sentences."""
    drawn, texts, families = random.Random(seed), [], []
    stock = sentences(drawn, 6, tongue)
    for lineage in range(lineages):
        body = sentences(drawn, drawn.randint(20, 70), tongue)
        for _ in range(drawn.randint(1, versions)):
            texts.append(paragraphs([*stock[:3], *body, *stock[3:]]))
            families.append(lineage)
            body = [one for one in body if drawn.random() >= change / 3]
            for place in range(len(body)):
                if drawn.random() < change:
                    words = body[place].split()
                    words[drawn.randrange(len(words))] = "amended"
                    body[place] = " ".join(words)
            for new in sentences(drawn, round(change * len(body) / 2), tongue):
                body.insert(drawn.randrange(len(body) + 1), new)
    return texts, families


def forms(seed: int, count: int, stock: int, content: int, resent: int = 0, templates: int = 1) -> Labelled:
    """Return different contents in long templates, and ``resent`` of them once more, with one word changed."""
    drawn, texts, families = random.Random(seed), [], []
    bodies = [sentences(drawn, stock, 3) for _ in range(templates)]
    for number in range(count):
        body, own = bodies[number % templates], sentences(drawn, content, 3)
        texts.append(paragraphs([*body[: stock // 2], *own, *body[stock // 2 :]]))
        families.append(number)
        if number < resent:
            again = own[0].split()
            again[1] = "corrected"
            own[0] = " ".join(again)
            texts.append(paragraphs([*body[: stock // 2], *own, *body[stock // 2 :]]))
            families.append(number)
    return texts, families


def threads(seed: int, count: int, answers: int = 5) -> Labelled:
    """Return threads of mails: each answer quotes the mails before it."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        quoted: list[str] = []
        for _ in range(drawn.randint(1, answers)):
            new = textwrap.wrap(" ".join(sentences(drawn, drawn.randint(2, 6), 4)), 68)
            lines = [*new, "", *("> " + line for line in quoted)]
            texts.append("\n".join(lines))
            families.append(number)
            quoted = lines
    return texts, families


def excerpts(seed: int, count: int) -> Labelled:
    """Return long texts with one excerpt of a tenth to a half of them each, and texts alone."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        body = sentences(drawn, drawn.randint(40, 90), 5)
        texts.append(paragraphs(body))
        families.append(number)
        if number % 2:
            part = drawn.randint(len(body) // 10, len(body) // 2)
            start = drawn.randrange(len(body) - part)
            texts.append(paragraphs([*sentences(drawn, 2, 5), *body[start : start + part]]))
            families.append(number)
    return texts, families


def titles(seed: int, count: int) -> Labelled:
    """Return titles of six to twelve words; a third comes again with a letter changed or a word left out."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        words = " ".join(sentences(drawn, 2, 6)).split()[: drawn.randint(6, 12)]
        texts.append(" ".join(words))
        families.append(number)
        if number % 3 == 0:
            again = list(words)
            place = drawn.randrange(len(again))
            if drawn.random() < 0.5:
                del again[place]
            else:
                again[place] = misread(again[place] + "x", 0.3, drawn)
            texts.append(" ".join(again))
            families.append(number)
    return texts, families


def strangers(seed: int, count: int) -> Labelled:
    """Return texts without relatives."""
    drawn = random.Random(seed)
    return [paragraphs(sentences(drawn, drawn.randint(5, 60), 7)) for _ in range(count)], list(range(count))


def mixture(*parts: Labelled) -> Labelled:
    """Return several sets as one, in a mixed order."""
    rows, first = [], 0
    for texts, families in parts:
        rows += [(text, first + family) for text, family in zip(texts, families, strict=True)]
        first += max(families) + 1
    random.Random(len(rows)).shuffle(rows)
    return [text for text, _ in rows], [family for _, family in rows]


def in_greek(found: Labelled) -> Labelled:
    """Return the set in another script."""
    return [text.lower().translate(GREEK) for text in found[0]], found[1]


def without_spaces(found: Labelled) -> Labelled:
    """Return the set in Chinese characters without spaces: each syllable is one."""
    return [
        "".join(
            chr(0x4E00 + sum(ord(c) * 31**k for k, c in enumerate(word)) % 3000) + ("。" if "." in word else "")
            for word in text.split()
        )
        for text in found[0]
    ], found[1]


MADE: dict[str, Callable[[], Labelled]] = {
    "scans_5": lambda: scans(11, 0.05),
    "scans_10": lambda: scans(12, 0.10),
    "scans_15": lambda: scans(13, 0.15),
    "terms": lambda: revisions(14, 20, 12, 0.10),
    "acts": lambda: revisions(15, 40, 6, 0.3),
    "form_60": lambda: forms(16, 60, 40, 2),
    "form_resent": lambda: forms(17, 60, 24, 5, resent=15),
    "threads": lambda: threads(18, 40),
    "excerpts": lambda: excerpts(19, 50),
    "titles": lambda: titles(20, 200),
    "strangers": lambda: strangers(21, 120),
}
"""The sets the rule was made on."""

UNSEEN: dict[str, Callable[[], Labelled]] = {
    "scans_12_greek": lambda: in_greek(scans(31, 0.12, 50, 8, 0.1)),
    "scans_8_few": lambda: scans(32, 0.08, 5, 9),
    "terms_quick": lambda: revisions(33, 12, 20, 0.18, 10),
    "terms_slow": lambda: revisions(34, 60, 5, 0.03, 11),
    "forms_mixed": lambda: mixture(forms(35, 80, 30, 4, 12, 4), strangers(36, 40)),
    "threads_and_terms": lambda: mixture(threads(37, 30), revisions(38, 15, 8, 0.12, 4)),
    "scans_and_titles": lambda: mixture(scans(39, 0.1, 25, 12), titles(40, 60)),
    "spaceless_terms": lambda: without_spaces(revisions(41, 20, 8, 0.15, 13)),
    "eight": lambda: mixture(revisions(42, 2, 4, 0.2, 14), strangers(43, 3)),
}
"""The sets kept apart until the rule was finished."""
