"""Labelled cases that are hard for the adviser, drawn by a seed: each is ``case(seed, size)``.

As in ``made_advice_sets``, two documents with the same family number are relatives.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import NamedTuple

from support.made_advice_sets import (
    CONSONANTS,
    Labelled,
    excerpts,
    forms,
    in_column,
    in_greek,
    language,
    misread,
    mixture,
    paragraphs,
    revisions,
    scans,
    sentences,
    strangers,
    threads,
    titles,
    without_spaces,
)


def misprinted(text: str, share: float, drawn: random.Random) -> str:
    """Return the text as a worse scan, in which spaces are misread too."""
    letters = "abcdefghijklmnopqrstuvwxyz "
    seen = []
    for char in text:
        kind = drawn.random() / share
        wrong = ("", char + drawn.choice(letters), drawn.choice(letters[:-1]))
        seen.append(char if kind >= 1 else wrong[0 if kind < 0.2 else 1 if kind < 0.4 else 2])
    return "".join(seen)


def mixed_scans(
    seed: int, works: int, noises: tuple[float, ...] = (0.10, 0.10, 0.02), words: int = 1000
) -> Labelled:
    """Return one scan of each work for each of the ``noises``, and two thirds as many without a relative."""
    drawn, texts, families = random.Random(seed), [], []
    for work in range(works + works * 2 // 3):
        original = paragraphs([language(seed, words).sentence(drawn) for _ in range(drawn.randint(4, 40))])
        for noise in noises if work < works else noises[:1]:
            texts.append(misprinted(original, noise, drawn))
            families.append(work)
    return texts, families


def short_titles(seed: int, count: int, words: int = 300) -> Labelled:
    """Return titles of five to nine of a few words; a third again, a letter, a word or the order changed."""
    drawn, texts, families = random.Random(seed), [], []
    known = language(seed, words)
    for number in range(count):
        title = f"{known.sentence(drawn)} {known.sentence(drawn)}".lower().replace(".", "")
        found = title.split()[: drawn.randint(5, 9)]
        texts.append(" ".join(found))
        families.append(number)
        if number % 3 == 0:
            again, place, kind = list(found), drawn.randrange(len(found)), drawn.randrange(4)
            if kind == 0:
                del again[place]
            elif kind == 1:
                again[place] = misread(again[place] + "x", 0.4, drawn)
            elif kind == 2:
                again = [*again[-1:], *again[:-1]]
            else:
                again.append(drawn.choice(known.words))
            texts.append(" ".join(again))
            families.append(number)
    return texts, families


def few_pairs(seed: int, count: int, pairs: int = 1) -> Labelled:
    """Return strangers, and ``pairs`` of them once more with every tenth word changed."""
    texts, families = strangers(seed, count)
    for k in range(pairs):
        words = texts[k].split()
        words[::10] = ["amended"] * len(words[::10])
        texts.append(" ".join(words))
        families.append(k)
    return texts, families


def languages(seed: int, lineages: int) -> Labelled:
    """Return versions in four languages, one in another script and one without spaces."""
    parts = [revisions(seed + k, lineages, 4, 0.12, seed + k) for k in range(4)]
    return mixture(parts[0], in_greek(parts[1]), without_spaces(parts[2]), parts[3], strangers(seed + 5, lineages))


def long_and_short(seed: int, count: int) -> Labelled:
    """Return books with passages of a few sentences from some of them, and short texts alone."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        body = sentences(drawn, drawn.randint(60, 240), seed)
        texts.append(paragraphs(body))
        families.append(number)
        for _ in range(drawn.randint(0, 2)):
            start = drawn.randrange(len(body) - 8)
            texts.append(paragraphs(body[start : start + drawn.randint(3, 8)]))
            families.append(number)
    alone = [paragraphs(sentences(drawn, drawn.randint(2, 8), seed)) for _ in range(count)]
    return mixture((texts, families), (alone, [*range(count)]))


_BODY = (
    "    for {a} in range(len({b})):\n        if {b}[{a}] > {c}:\n            {c} = {b}[{a}]\n",
    "    with open({a}, encoding='utf-8') as {b}:\n        {c} = json.load({b})\n",
    "    {a} = [{b} for {b} in {c} if {b} is not None]\n",
    "    if not {a}:\n        raise ValueError(f'no {b} in {{{c}}}')\n",
    "    try:\n        {a} = int({b})\n    except ValueError:\n        {a} = {c}\n",
    "    logger.info('%s of %s', {a}, {b})\n    return {c}\n",
    "    {a}.sort(key=lambda {b}: {b}.{c})\n",
    "    while {a} < {b}:\n        {a} += {c}({a})\n",
)


def source_code(seed: int, programs: int) -> Labelled:
    """Return programs of functions in the same idioms; copies have renamed variables and other functions."""
    drawn, texts, families = random.Random(seed), [], []
    words = [word for word in language(seed).words if len(word) > 3]
    head = "from __future__ import annotations\n\nimport json\nimport logging\n\nlogger = logging.getLogger()\n"
    for program in range(programs):
        names = drawn.sample(words, 14)
        functions = [_function(names, drawn) for _ in range(drawn.randint(3, 9))]
        for copy in range(drawn.randint(1, 3)):
            changed = list(functions)
            if copy:
                old, new = drawn.choice(names), drawn.choice(words)
                changed = [function.replace(old, new) for function in changed]
                changed[drawn.randrange(len(changed))] = _function(names, drawn)
                drawn.shuffle(changed)
            texts.append("\n\n".join([head, *changed]))
            families.append(program)
    return texts, families


def _function(names: list[str], drawn: random.Random) -> str:
    body = "".join(
        drawn.choice(_BODY).format(a=drawn.choice(names), b=drawn.choice(names), c=drawn.choice(names))
        for _ in range(drawn.randint(2, 6))
    )
    return (
        f"def {drawn.choice(names)}_{drawn.choice(names)}({drawn.choice(names)}, {drawn.choice(names)}):\n{body}"
    )


def filled_forms(seed: int, count: int) -> Labelled:
    """Return filled forms in three templates, a quarter sent again with a word changed, and other texts."""
    return mixture(forms(seed, count, 24, 5, count // 4, 3), strangers(seed + 1, count // 2))


def mail(seed: int, count: int) -> Labelled:
    """Return threads of mails with quotes, greetings, and one disclaimer under half of them."""
    drawn, texts, families = random.Random(seed), [], []
    notice = textwrap.wrap(" ".join(sentences(drawn, 4, seed)), 68)
    for number in range(count):
        quoted: list[str] = []
        for _ in range(drawn.randint(1, 4)):
            new = textwrap.wrap(" ".join(sentences(drawn, drawn.randint(2, 9), seed)), 68)
            lines = ["Dear all,", "", *new, "", "Kind regards", drawn.choice(language(seed).words)]
            lines += [*(notice if drawn.random() < 0.5 else []), "", *("> " + line for line in quoted)]
            texts.append("\n".join(lines))
            families.append(number)
            quoted = lines
    return texts, families


def bulletin(seed: int, count: int) -> Labelled:
    """Return the issues of one bulletin, hardly changed, among versions of other texts and texts alone."""
    parts = (
        revisions(seed, 1, count, 0.02),
        revisions(seed + 1, count // 4, 3, 0.3),
        strangers(seed + 2, count // 2),
    )
    return mixture(*parts)


def everything(seed: int, count: int) -> Labelled:
    """Return scans, titles, mails, excerpts and revisions together."""
    return mixture(
        scans(seed, 0.1, count),
        titles(seed, 4 * count),
        threads(seed, count),
        excerpts(seed, count),
        revisions(seed, count, 5, 0.15),
    )


def letters(seed: int, count: int, change: float = 0.12) -> Labelled:
    """Return letters, a quarter of them in one or two later versions."""
    return mixture(revisions(seed, count // 4, 3, change, 12), strangers(seed + 1, count - count // 4))


def forms_and_letters(seed: int, count: int) -> Labelled:
    """Return one form, a fifth of it sent again, and as many letters."""
    return mixture(forms(seed, count, 30, 6, count // 5), letters(seed + 1, count))


def many_templates(seed: int, templates: int, each: int) -> Labelled:
    """Return contents in many templates, a fifth of them sent again, and as many letters, much revised."""
    count = templates * each
    return mixture(forms(seed, count, 20, 4, count // 5, templates), letters(seed + 1, count, 0.3))


def near_copies(seed: int, count: int) -> Labelled:
    """Return texts and one copy of each with a few words changed."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        words = paragraphs(sentences(drawn, drawn.randint(8, 50), 8)).split(" ")
        texts.append(" ".join(words))
        for place in drawn.sample(range(len(words)), max(1, len(words) // 60)):
            words[place] = drawn.choice(language(8).words)
        texts.append(" ".join(words))
        families += [number, number]
    return texts, families


def scanned_twice(seed: int, count: int) -> Labelled:
    """Return texts and one bad scan of each."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        original = paragraphs(sentences(drawn, drawn.randint(6, 40), 9))
        texts += [original, in_column(misread(original, drawn.uniform(0.18, 0.26), drawn), 60, 1, drawn)]
        families += [number, number]
    return texts, families


def three_kinds(seed: int, count: int) -> Labelled:
    """Return near copies, excerpts and scans, as many pairs of each, and texts alone."""
    parts = near_copies(seed, count), excerpts(seed + 1, 2 * count), scanned_twice(seed + 2, count)
    return mixture(*parts, strangers(seed + 3, count))


def title_typos(seed: int, count: int) -> Labelled:
    """Return titles of three to fourteen words; two fifths again, with one to three letters changed."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        title = " ".join(sentences(drawn, 2, 10)).split()[: drawn.randint(3, 14)]
        texts.append(" ".join(title))
        families.append(number)
        if drawn.random() < 0.4:
            letters = list(texts[-1])
            for place in drawn.sample(range(len(letters)), drawn.randint(1, 3)):
                letters[place] = drawn.choice(CONSONANTS)
            texts.append("".join(letters))
            families.append(number)
    return texts, families


def contracts(seed: int, count: int) -> Labelled:
    """Return contracts of twelve clauses of a stock and a text of their own; a third in later versions."""
    drawn, texts, families = random.Random(seed), [], []
    stock = [sentences(drawn, drawn.randint(2, 4), 11) for _ in range(80)]
    for number in range(count):
        clauses = [drawn.choice(stock) for _ in range(12)]
        own = sentences(drawn, drawn.randint(10, 24), 11)
        for _ in range(1 if number % 3 else drawn.randint(2, 3)):
            texts.append(paragraphs([*own, *(one for clause in clauses for one in clause)]))
            families.append(number)
            own = [*own]
            own[drawn.randrange(len(own))] = sentences(drawn, 1, 11)[0]
    return texts, families


def web_pages(seed: int, count: int) -> Labelled:
    """Return pages of twelve sites, each with its own head and foot; a quarter is on another site, too."""
    drawn, texts, families = random.Random(seed), [], []
    sites = [(sentences(drawn, 4, 13), sentences(drawn, 8, 13)) for _ in range(12)]
    for number in range(count):
        body = sentences(drawn, drawn.randint(5, 30), 13)
        for head, foot in drawn.sample(sites, 1 if number % 4 else 2):
            texts.append(paragraphs([*head, *body, *foot]))
            families.append(number)
    return texts, families


def reports(seed: int, count: int) -> Labelled:
    """Return monthly reports in one form, half of it figures; a fifth comes again, corrected."""
    drawn, texts, families = random.Random(seed), [], []
    lines = sentences(drawn, 24, 14)
    for number in range(count):
        own = sentences(drawn, drawn.randint(6, 12), 14)
        figures = [f"{line} {drawn.randint(10, 9999)} of {drawn.randint(10, 9999)}." for line in lines]
        for _ in range(1 if number % 5 else 2):
            texts.append(paragraphs([*figures[:12], *own, *figures[12:]]))
            families.append(number)
            figures[drawn.randrange(24)] = f"{lines[0]} {drawn.randint(10, 9999)}."
    return mixture((texts, families), strangers(seed + 1, count // 2))


def catalogue(seed: int, count: int) -> Labelled:
    """Return entries of a catalogue with the same field names; a third again, with a field left out or misread."""
    drawn, texts, families = random.Random(seed), [], []
    for number in range(count):
        words = " ".join(sentences(drawn, 6, 15)).split()
        fields = [
            f"Author: {' '.join(words[:3])}",
            f"Title: {' '.join(words[3:11])}",
            f"Publisher: {drawn.choice(words)} {drawn.randint(1900, 2020)}",
            f"Subject: {' '.join(words[12:16])}",
            f"Notes: {' '.join(words[16 : 16 + drawn.randint(4, 20)])}",
        ]
        texts.append("\n".join(fields))
        families.append(number)
        if number % 3 == 0:
            place = drawn.randrange(5)
            fields[place] = "" if drawn.random() < 0.5 else misread(fields[place], 0.1, drawn)
            texts.append("\n".join(filter(None, fields)))
            families.append(number)
    return texts, families


class Case(NamedTuple):
    """``made(seed, size)`` returns the documents; ``small`` and ``full`` are sizes."""

    made: Callable[[int, int], Labelled]
    small: int
    full: int


CASES = {
    "mixed scans": Case(mixed_scans, 14, 60),
    "short titles": Case(short_titles, 90, 600),
    "one pair": Case(few_pairs, 20, 150),
    "strangers": Case(strangers, 24, 150),
    "languages": Case(languages, 5, 40),
    "long and short": Case(long_and_short, 10, 80),
    "source code": Case(source_code, 26, 120),
    "forms": Case(filled_forms, 32, 160),
    "mail": Case(mail, 26, 90),
    "bulletin": Case(bulletin, 16, 80),
    "everything": Case(everything, 8, 24),
    "forms and letters": Case(forms_and_letters, 30, 150),
    "15 templates": Case(lambda seed, each: many_templates(seed, 15, each), 6, 12),
    "40 templates": Case(lambda seed, each: many_templates(seed, 40, each), 5, 10),
    "three kinds": Case(three_kinds, 14, 60),
    "title typos": Case(title_typos, 60, 400),
    "forms, scans, titles": Case(
        lambda seed, count: mixture(
            forms(seed, 2 * count, 24, 6, count // 2, 3), scans(seed + 1, 0.08, count), titles(seed + 2, 2 * count)
        ),
        12,
        50,
    ),
    "contracts": Case(contracts, 30, 120),
    "web pages": Case(web_pages, 40, 240),
    "templates and threads": Case(
        lambda seed, count: mixture(forms(seed, 2 * count, 20, 6, count // 2, 8), threads(seed + 1, count)), 24, 60
    ),
    "reports": Case(reports, 30, 120),
    "articles and abstracts": Case(
        lambda seed, count: mixture(excerpts(seed, count), revisions(seed + 1, count, 3, 0.08, 16)), 16, 60
    ),
    "catalogue": Case(catalogue, 60, 300),
}
"""The cases by name."""
