"""Write the collections of ``tests/data``: invented texts of ten languages, in families of near-duplicates.

``python tests/support/make_own_collection.py`` writes both again; the same bytes each time, with any Python.
``own`` has languages with spaces between words, ``own_scripts`` Thai, Chinese and Japanese. There are families
of revisions, filled-in forms, mails with quotes, scans with misread letters, copies in another layout, and short
texts.
"""

from __future__ import annotations

import json
import random
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.own_phrases import LANGUAGES

FOLDER = Path(__file__).parents[1] / "data"
SPACED = ("en", "de", "fr", "es", "el", "ru", "ar")
SPACELESS = ("th", "zh", "ja")
MISREAD = {"e": "c", "n": "u", "m": "rn", "l": "1", "o": "0", "a": "o", "h": "b", "i": "j"}
"""Letters that text recognition confuses."""
Item = TypeVar("Item")
Paragraphs = list[list[str]]


class Author:
    """Writes and revises texts; ``random()`` is the one number source that all versions of Python share."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, n: int) -> int:
        return int(self.random.random() * n)

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def choose(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def sentence(self, language: str) -> str:
        found = LANGUAGES[language]
        filled = {role: self.choose(phrases) for role, phrases in found.roles.items()}
        made = self.choose(found.patterns).format(number=self.between(100, 9999), **filled)
        return made[0].upper() + made[1:]

    def text(self, language: str, sentences: int) -> Paragraphs:
        """Return paragraphs of two to four sentences."""
        made: Paragraphs = []
        while sentences > 0:
            size = min(sentences, self.between(2, 4))
            made.append([self.sentence(language) for _ in range(size)])
            sentences -= size
        return made

    def with_words_changed(self, text: Paragraphs, language: str, changes: int) -> Paragraphs:
        """Return the text with some phrases replaced by others."""
        revised = [list(paragraph) for paragraph in text]
        for _ in range(changes):
            paragraph = self.choose(revised)
            place = self.below(len(paragraph))
            paragraph[place] = self.changed(paragraph[place], language)
        return revised

    def changed(self, sentence: str, language: str) -> str:
        """Return the sentence with one phrase of it replaced by another of the same role."""
        roles = LANGUAGES[language].roles
        within = [(role, phrase) for role in roles for phrase in roles[role] if phrase in sentence]
        role, phrase = self.choose(within)
        other = self.choose([one for one in roles[role] if one != phrase])
        return sentence.replace(phrase, other, 1)

    def revised(self, text: Paragraphs, language: str) -> Paragraphs:
        """Return a revision: words changed, and sometimes a paragraph moved, or a sentence inserted or removed."""
        made = self.with_words_changed(text, language, self.between(0, 5))
        kind = self.below(5)
        if kind == 0 and len(made) > 1:
            made.insert(self.below(len(made)), made.pop(self.below(len(made))))
        elif kind == 1:
            self.choose(made).append(self.sentence(language))
        elif kind == 2:
            self.choose(made).pop()
        return [paragraph for paragraph in made if paragraph]


def written(text: Paragraphs, language: str) -> str:
    """Return paragraphs as text, with an empty line between them."""
    return "\n\n".join(LANGUAGES[language].space.join(paragraph) for paragraph in text)


def families(author: Author, languages: Sequence[str], count: int, low: int, high: int) -> Iterator[str]:
    """Yield families of three: a text, a revision, and a light revision of that or another one of the first."""
    for k in range(count):
        language = languages[k % len(languages)]
        first = author.text(language, author.between(low, high))
        second = author.revised(first, language)
        if k % 4:
            third = author.with_words_changed(second, language, author.between(1, 2))
        else:
            third = author.revised(first, language)
        for text in (first, second, third):
            yield written(text, language)


def forms(author: Author) -> Iterator[str]:
    """Yield letters from two forms: the body is the same, the name, the sum and a remark are not."""
    for language in ("en", "de"):
        body = author.text(language, 8)
        for _ in range(14):
            subject, other = author.choose(LANGUAGES[language].roles["subject"]), author.sentence(language)
            head = (
                f"{author.between(1, 28)}.{author.between(1, 12)}.2031 – {subject}, {author.between(10, 999)},50"
            )
            yield f"{head}\n\n{written(body, language)}\n\n{other} {author.sentence(language)}"


def mails(author: Author) -> Iterator[str]:
    """Yield mails, an answer to each that quotes it, and an answer to that which quotes both."""
    for k in range(14):
        language = SPACED[k % 4]
        thread = ""
        for answer in range(3):
            new = written(author.text(language, author.between(3, 5)), language)
            lines = textwrap.wrap(new, 68)
            quoted = ["> " + line for line in thread.split("\n")] if answer else []
            thread = "\n".join([*lines, "", *quoted] if quoted else lines)
            yield thread


def scans(author: Author) -> Iterator[str]:
    """Yield texts, each with a scan of it: lines of a column, words cut at their ends, some letters misread."""
    for k in range(10):
        language = SPACED[k % 4]
        text = written(author.text(language, 14), language)
        yield text
        noise = (0.004, 0.01, 0.02, 0.03)[k % 4]
        seen = (MISREAD.get(c, c) if author.random.random() < noise else c for c in text)
        yield "\n".join(textwrap.wrap("".join(seen), 52))


def copies(author: Author) -> Iterator[str]:
    """Yield texts, each with an exact copy in another layout."""
    layouts: tuple[Callable[[str], str], ...] = (
        str.upper,
        lambda text: "\n".join(textwrap.wrap(text, 40)),
        lambda text: text.replace(" ", "  ").replace("\n\n", "\r\n\r\n"),
        lambda text: "* " + text.replace(". ", "; ") + "\n",
    )
    for k in range(12):
        language = SPACED[k % len(SPACED)]
        text = written(author.text(language, 7), language)
        yield text
        yield layouts[k % len(layouts)](text)


def short(author: Author, languages: Sequence[str]) -> Iterator[str]:
    """Yield texts of a few words, some of them twice."""
    for k in range(12):
        roles = LANGUAGES[languages[k % len(languages)]].roles
        text = LANGUAGES[languages[k % len(languages)]].space.join(
            author.choose(roles[role]) for role in ("subject", "verb", "object")[: 1 + k % 3]
        )
        yield text
        if k % 4 == 0:
            yield text + "!"


def long(author: Author) -> Iterator[str]:
    """Yield a long text, a revision, and the first half alone."""
    for language in ("en", "fr"):
        text = author.text(language, 90)
        yield written(text, language)
        yield written(author.with_words_changed(text, language, 20), language)
        yield written(text[: len(text) // 2], language)


def own() -> Iterator[tuple[str, str]]:
    """Yield the ids and texts of ``own``."""
    author = Author(2031)
    parts = {
        "revision": families(author, SPACED, 126, 10, 16),
        "form": forms(author),
        "mail": mails(author),
        "scan": scans(author),
        "copy": copies(author),
        "short": short(author, SPACED),
        "long": long(author),
    }
    for kind, texts in parts.items():
        for number, text in enumerate(texts):
            yield f"{kind}/{number:03}", text


def own_scripts() -> Iterator[tuple[str, str]]:
    """Yield the ids and texts of ``own_scripts``."""
    author = Author(2032)
    parts = {"revision": families(author, SPACELESS, 30, 6, 12), "short": short(author, SPACELESS)}
    for kind, texts in parts.items():
        for number, text in enumerate(texts):
            yield f"{kind}/{number:03}", text


COLLECTIONS = {"own": own, "own_scripts": own_scripts}


def content(name: str) -> bytes:
    """Return the file of a collection: JSONL with an id and a text a line, in a mixed but fixed order."""
    rows = list(COLLECTIONS[name]())
    author = Author(len(rows))
    for k in range(len(rows) - 1, 0, -1):  # Fisher and Yates
        other = author.below(k + 1)
        rows[k], rows[other] = rows[other], rows[k]
    lines = (json.dumps({"id": id, "text": text}, ensure_ascii=False) + "\n" for id, text in rows)
    return "".join(lines).encode()


def main() -> None:
    """Write both files."""
    for name in COLLECTIONS:
        target = FOLDER / name / "documents.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content(name))


if __name__ == "__main__":
    main()
