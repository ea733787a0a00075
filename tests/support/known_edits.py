"""Pairs of texts made by a known edit of one text, each with the kind of difference that the edit is.

The texts are those of ``tests/data`` in ten languages. An edit has several sizes; every second pair is exchanged.
Nothing here knows how ``comparison.kinds`` decides.
"""

from __future__ import annotations

import random
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support import shared_data

TEXTS_PER_EDIT = 12
"""Texts that each edit is made to."""

NUMBER = re.compile(r"\d+")
SENTENCE = re.compile(r"(?<=[.!?。])\s*")


@dataclass(frozen=True)
class Edited:
    """A pair, the edit that made it, and the kind of difference that it is."""

    kind: str
    edit: str
    a: str
    b: str


class Editor:
    """Edits a text; ``other`` is another text in the same language, whose parts are put in."""

    def __init__(self, seed: int, text: str, other: str) -> None:
        self._random = random.Random(seed)
        self.text, self.other = text, other
        self.parts, self.others = text.split("\n\n"), other.split("\n\n")

    def below(self, n: int) -> int:
        return int(self._random.random() * n)

    def identical_ends(self) -> str:
        return self.text.replace("\n", "\r\n")

    def identical_accents(self) -> str:
        return "\ufeff" + unicodedata.normalize("NFD", self.text)

    def style_case(self) -> str:
        return self.text.upper() if self.text.upper() != self.text else self.text.replace(" ", "  ") + "!"

    def style_punctuation(self) -> str:
        return re.sub("[.,。、]", "", self.text.replace(" ", "; ")) + "…"

    def sign_plus(self) -> str:
        return NUMBER.sub(lambda found: f"+{found[0]}", self.text)

    def sign_percent(self) -> str:
        return NUMBER.sub(lambda found: f"{found[0]}%", self.text, count=1)

    def style_layout(self) -> str:
        return "\n".join(textwrap.wrap(self.text, 40, break_long_words=False, break_on_hyphens=False)) + "\n"

    def numbers_one(self) -> str:
        found = list(NUMBER.finditer(self.text))
        one = found[self.below(len(found))]
        return f"{self.text[: one.start()]}{int(one[0]) + 1}{self.text[one.end() :]}"

    def numbers_all(self) -> str:
        return NUMBER.sub(lambda found: str(self.below(10**6)), self.text) + " "

    def numbers_written(self) -> str:
        return NUMBER.sub(lambda found: f"{self.below(31)}.{self.below(12)}.20{10 + self.below(80)}", self.text)

    def numbers_script(self) -> str:
        return self.text.translate({ord("0") + k: chr(0x0966 + k) for k in range(10)})

    def quoted_marks(self) -> str:
        marked = "\n".join("> " + line for line in self.text.split("\n"))
        return f"{self.others[0]}\n\n{self._said()}\n{marked}\n\n{self.others[1]}\n"

    def quoted_part(self) -> str:
        lines = self.text.split("\n")
        marked = "\n".join(">" + line for line in lines[: max(1, len(lines) // 2)])
        return f"{marked}\n\n{self.others[0]}\n"

    def quoted_header(self) -> str:
        names = [
            ("From", "Sent", "To"),
            ("Von", "Gesendet", "An"),
            ("De", "Envoyé", "À"),
            ("差出人", "日時", "宛先"),
        ]
        head = "\n".join(f"{name}: an@example.org" for name in names[self.below(len(names))])
        return f"{self.others[0]}\n\n-----\n{head}\n\n{self.text}"

    def quoted_wrote(self) -> str:
        return f"{self.others[0]}\n\n{self._said()}\n\n{self.text}"

    def contained_more(self) -> str:
        return f"{self.text}\n\n{self.others[0]}"

    def contained_around(self) -> str:
        return f"{self.others[0]}\n\n{self.text}\n\n{self.others[1]}"

    def contained_excerpt(self) -> str:
        sentences = SENTENCE.split(self.text)
        return " ".join(sentences[1 : max(2, len(sentences) - 1 - self.below(3))])

    def contained_words(self) -> str:
        return self.text + " " + SENTENCE.split(self.others[0])[0][:12]

    def contained_parts(self) -> str:
        places = [*self.parts]
        for at in range(len(places) - 1, 0, -1):
            places.insert(at, self.others[at % len(self.others)])
        return "\n\n".join(["***", *places]) if len(self.parts) > 2 else self.contained_around()

    def contained_lines(self) -> str:
        """A list of short lines with more lines; its pair is the list, see ``lines``."""
        lines = self.lines().split("\n")
        for at in range(len(lines) - 2, 0, -3):
            lines.insert(at, f"zz {at}")
        return "\n".join(lines)

    def lines(self) -> str:
        """The first part as a list of lines of three words, or of three characters."""
        part = self.parts[0].replace("\n", " ")
        words, by = (part.split(" "), " ") if part.count(" ") > 9 else (list(part), "")
        return "\n".join(by.join(words[at : at + 3]) for at in range(0, len(words), 3))

    def inserted_part(self) -> str:
        at = 1 + self.below(len(self.parts) - 1)
        return "\n\n".join([*self.parts[:at], self.others[0], *self.parts[at:]])

    def inserted_sentence(self) -> str:
        sentences = SENTENCE.split(self.parts[0])
        sentences.insert(1, SENTENCE.split(self.others[0])[0])
        return "\n\n".join([" ".join(sentences), *self.parts[1:]])

    def inserted_line(self) -> str:
        at = 1 + self.below(len(self.parts) - 1)
        word = self.others[0].split()[0][:3]
        return "\n\n".join([*self.parts[:at], word, *self.parts[at:]])

    def removed_part(self) -> str:
        if len(self.parts) < 3:
            return self.inserted_part()
        at = 1 + self.below(len(self.parts) - 2)
        return "\n\n".join([*self.parts[:at], *self.parts[at + 1 :]])

    def moved_part(self) -> str:
        return "\n\n".join([*self.parts[1:], self.parts[0]])

    def moved_all(self) -> str:
        return "\n\n".join(reversed(self.parts))

    def moved_sentence(self) -> str:
        sentences = SENTENCE.split(self.parts[0])
        return "\n\n".join([*self.parts[1:], " ".join(sentences[1:]), sentences[0]])

    def moved_lines(self) -> str:
        """A list of short lines in another order; its pair is the list, see ``lines``."""
        lines = self.lines().split("\n")
        return "\n".join([*lines[2:], *lines[:2]])

    def wording_word(self) -> str:
        return self._words(lambda words, at: words.__setitem__(slice(at, at + 1), ["Xyzzy"]), 1)

    def wording_words(self) -> str:
        return self._words(lambda words, at: words.__setitem__(slice(at, at + 1), ["plugh"]), 3)

    def wording_added_word(self) -> str:
        return self._words(lambda words, at: words.insert(at, "kein"), 1)

    def wording_sentence(self) -> str:
        sentences = SENTENCE.split(self.parts[0])
        sentences[0] = SENTENCE.split(self.others[0])[0]
        return "\n\n".join([" ".join(sentences), *self.parts[1:]])

    def wording_and_part(self) -> str:
        return f"{self.wording_word()}\n\n{self.others[0]}"

    def wording_and_numbers(self) -> str:
        return NUMBER.sub("77", self.wording_word())

    def _words(self, change: Callable[[list[str], int], object], times: int) -> str:
        """Change some words inside of the first part, not its first or last one."""
        step = 1 if " " not in self.parts[0].strip() or len(self.parts[0].split(" ")) < 9 else 0
        words = list(self.parts[0]) if step else self.parts[0].split(" ")
        for _ in range(times):
            change(words, 2 + self.below(len(words) - 4))
        return "\n\n".join([("" if step else " ").join(words), *self.parts[1:]])

    def _said(self) -> str:
        return (
            "On Mon, 3 May 2010, An Other <an@example.org> wrote:",
            "Am 03.05.2010 um 09:10 schrieb An Other:",
            "Le 3 mai 2010, An Other a écrit :",
            "2010年5月3日 An Other 写道：",
        )[self.below(4)]


EDITS: dict[str, tuple[Callable[[Editor], str], ...]] = {
    "identical text": (Editor.identical_ends, Editor.identical_accents, Editor.style_layout),
    "sign or operator": (Editor.sign_plus, Editor.sign_percent),
    "case or punctuation only": (Editor.style_case, Editor.style_punctuation),
    "numbers only": (Editor.numbers_one, Editor.numbers_all, Editor.numbers_written, Editor.numbers_script),
    "quoted reply": (Editor.quoted_marks, Editor.quoted_part, Editor.quoted_header, Editor.quoted_wrote),
    "one is contained": (
        Editor.contained_more,
        Editor.contained_around,
        Editor.contained_excerpt,
        Editor.contained_words,
        Editor.contained_parts,
        Editor.contained_lines,
    ),
    "one passage inserted/removed": (
        Editor.inserted_part,
        Editor.inserted_sentence,
        Editor.inserted_line,
        Editor.removed_part,
    ),
    "moved": (Editor.moved_part, Editor.moved_all, Editor.moved_sentence, Editor.moved_lines),
    "wording": (
        Editor.wording_word,
        Editor.wording_words,
        Editor.wording_added_word,
        Editor.wording_sentence,
        Editor.wording_and_part,
        Editor.wording_and_numbers,
    ),
}
"""The edits of each kind."""


def edited_pairs() -> Iterator[Edited]:
    """Yield every edit of some texts; the same ones in every run."""
    texts = _texts()
    number = 0
    for kind, edits in EDITS.items():
        for edit in edits:
            for k in range(TEXTS_PER_EDIT):
                text, other = texts[(7 * number + k) % len(texts)]
                editor = Editor(number, text, other)
                made = edit(editor)
                whole = editor.lines() if edit.__name__.endswith("_lines") else text
                a, b = (made, whole) if number % 2 else (whole, made)
                yield Edited(kind, edit.__name__, a, b)
                number += 1


def _texts() -> list[tuple[str, str]]:
    """Return revisions with paragraphs and numbers, each with another text of its language; languages in turns."""
    by_language: dict[str, list[str]] = {}
    for name in shared_data.OWN:
        for id, text in sorted(shared_data.documents(name).items()):
            parts = text.split("\n\n")
            if id.startswith("revision/") and len(parts) > 2 and len(NUMBER.findall(text)) > 2:
                by_language.setdefault(_language(text), []).append(text)
    found = []
    for k in range(8):
        for texts in by_language.values():
            text = texts[k % len(texts)]
            found.append((text, max(texts, key=lambda other: (_unlike(text, other), texts.index(other) > k))))
    return found


def _language(text: str) -> str:
    """Return a name of the script, or the commonest short word of a text in Latin letters."""
    script = unicodedata.name(next(char for char in text if char.isalpha())).split()[0]
    words = re.findall(r"\b(?:the|der|die|das|le|la|el|los|les)\b", text.casefold())
    return f"{script} {max(sorted(set(words)), key=words.count) if words else ''}"


def _unlike(text: str, other: str) -> int:
    """Return the number of sentences and paragraphs of a text that another one lacks."""
    found = ({*SENTENCE.split(whole), *whole.split("\n\n")} for whole in (text, other))
    return len(next(found) - next(found))
