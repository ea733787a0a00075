"""The words of the adviser: traps, boilerplate, the command, the image, and text that fits a terminal."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import replace
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import neardup as nd
from neardup.corpus.advice.adviser import ADVISED, NOT_TOLD, Advice
from neardup.corpus.advice.recommend import command_line, quoted
from neardup.corpus.advice.traps import SHOWN_WORDS, boilerplate, in_words
from neardup.corpus.advice.views import HEIGHT, svg
from neardup.errors import InputError, SettingError
from neardup.settings import Settings
from support.messages import has_parts
from support.reference_advice import Naive

SVG = "{http://www.w3.org/2000/svg}"


def prose(number: int, words: int) -> str:
    return " ".join(f"word{number}x{k}" for k in range(words))


@cache
def family() -> Advice:
    """Give advice on versions of ten documents, named by hostile ids."""
    rows = []
    for number in range(10):
        words = prose(number, 90).split()
        for version in range(4):
            words[version * 20 + number] = f"changed{version}"
            rows.append({"id": f"<b>{number}\x1b[2J & {version}{'-long' * 9}", "text": " ".join(words)})
    return nd.advise(pa.Table.from_pylist(rows), id="id", threshold=0.8)


def names(advice: Advice) -> list[str]:
    return [trap.name for trap in advice.traps]


def test_ordinary_documents_have_no_trap() -> None:
    assert family().traps == ()
    assert "Traps" not in str(family())


def test_traps_of_short_documents_copies_and_figures() -> None:
    texts = [prose(k, 3) for k in range(10)] + [prose(k, 30) for k in range(10, 20)] + [prose(5, 3)] * 3
    texts += ["", "12 34.5 6,7", "١٢ ٣٤", "7 apples"]
    advice = nd.advise(texts, threshold=0.8)
    shares = {trap.name: trap.share for trap in advice.traps}
    full = len(texts) - 1
    assert shares == {
        "shorter-than-a-shingle": 15 / full,
        "short-documents": 1.0,
        "exact-copies": 3 / len(texts),
        "numbers-only": 2 / len(texts),
    }
    said = " ".join(trap.text for trap in advice.traps)
    assert "fewer than 45 shingles" in said
    assert "(n - 5) / (n + 5)" in said
    assert has_parts(said, "3 documents", "exact copies")
    assert has_parts(said, "2 documents", "numbers", "no letter")


def test_the_trap_of_characters_in_long_documents() -> None:
    drawn = random.Random(5)
    syllables = ["ba", "de", "ki", "lo", "mu"]
    texts = [" ".join("".join(drawn.choices(syllables, k=2)) for _ in range(800)) for _ in range(12)]
    advice = nd.advise(texts, unit="char", length=5)
    assert names(advice)[0] == "character-shingles"
    alike = advice.shingles[0].random_median
    naive = Naive(texts, "char", 5)
    assert alike > 0.1
    assert sum(float(j) <= alike for j in naive.pairs.values()) >= len(naive.pairs) / 2


HEADER = [f"header{k}" for k in range(14)]


def with_header(header: list[str]) -> list[str]:
    """Return 30 documents, a third of them with the header in their middle."""
    return [
        " ".join([*prose(k, 20).split(), *(header if k % 3 == 0 else []), *prose(k + 100, 10).split()])
        for k in range(30)
    ]


def as_array(texts: list[str]) -> pa.Array:
    return pa.array([text.encode() for text in texts], pa.large_binary())


@pytest.mark.parametrize("unit", ["word", "char"])
@pytest.mark.parametrize("extra", [0, 60])
def test_boilerplate_is_what_a_fifth_of_the_documents_share(unit: str, extra: int) -> None:
    header = [*HEADER, *(f"more{k}" for k in range(extra))]
    texts = with_header(header)
    found = boilerplate(as_array(texts), in_words(Settings.of(unit=unit)))
    assert found is not None
    share, most = Naive(texts).common_share(range(30), Fraction(1, 5))
    assert found.share == pytest.approx(share)
    assert (found.documents, found.length, found.passage_documents) == (30, 5, most)
    assert share > 0.05
    shown = " ".join(header[:SHOWN_WORDS]) + (" …" if len(header) > SHOWN_WORDS else "")
    assert found.passage == shown


def test_boilerplate_needs_some_documents_and_something_common() -> None:
    assert boilerplate(as_array(with_header(HEADER)[:19]), Settings()) is None
    found = boilerplate(as_array([prose(k, 20) for k in range(30)]), Settings())
    assert found is not None
    assert (found.share, found.passage, found.passage_documents) == (0.0, "", 0)


def test_versions_of_one_document_are_no_boilerplate() -> None:
    few = family().boilerplate
    assert few is not None
    assert (few.documents, few.share) == (20, 0.0)  # of the forty documents
    texts = [*with_header(HEADER), *([prose(500, 60) + f" end{k}" for k in range(30)])]
    stock = nd.advise(texts, threshold=0.6).boilerplate
    assert stock is not None
    assert (stock.documents, stock.passage) == (31, " ".join(HEADER))


# ---------------------------------------------------------------------------------------------------------
# The recommended command


HOSTILE = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=12)


@given(word=HOSTILE)
@example(word='it\'s $HOME `ls` "x"')
@example(word="a\x1b[2J'\\b\n ü\u202e\U000e0001")
def test_a_shell_reads_a_quoted_word_back(word: str) -> None:
    assert quoted(word).isprintable()
    done = subprocess.run(
        ["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"}
    )
    assert done.stdout == word.encode()


def test_the_command_names_what_differs_from_the_defaults() -> None:
    values = Settings.of(recall=0.999, length=3).as_dict()
    told = (
        "--unit word --length 3 --method auto --measure resemblance --threshold 0.8 --recall 0.999 "
        "--groups principal"
    )
    assert command_line(["mails", "--text", "body"], values) == (
        f"neardup dedup mails --text body -o cleaned {told}"
    )


# ---------------------------------------------------------------------------------------------------------
# Text, image, notebook


def test_text_fits_eighty_columns_and_cannot_rule_the_terminal() -> None:
    *lines, command = str(family()).splitlines()
    assert max(map(len, lines)) <= 79
    assert command.startswith("  neardup dedup IN -o cleaned ")
    assert all(line.isprintable() for line in lines)
    assert any("…" in line for line in lines)  # long ids are cut in their middle


def test_the_sections_tell_the_numbers_of_the_record() -> None:
    text, advice = str(family()), family()
    asked = next(step for step in advice.thresholds if step.threshold == 0.8)
    row = next(line for line in text.splitlines() if line.startswith(" 0.80 ") and line.endswith("<-"))
    assert row.split()[1:4] == [str(asked.pairs), str(asked.groups), str(asked.removed)]
    assert asked.pairs > 0
    for part in advice.histogram[:-1]:
        (found,) = [line for line in text.splitlines() if line.startswith(f" {part.low:.2f} up to")]
        assert int(found.split()[4]) == part.pairs
        assert ("#" in found) == (part.pairs > 0)
        assert found.endswith("<- threshold 0.8") == (part.low == 0.8)


def test_everything_is_plain_data() -> None:
    data = json.loads(json.dumps(family().as_dict()))
    assert set(data) == set(Advice.__dataclass_fields__)
    assert set(data["settings"]) == set(ADVISED) - set(NOT_TOLD)


def bars(image: str) -> list[list[tuple[float, str]]]:
    """Return height and classes of the bars of each panel."""
    root = ElementTree.fromstring(image)
    found = [
        (rect.get("y"), float(rect.get("height") or 0), rect.get("class") or "")
        for rect in root.iter(SVG + "rect")
    ]
    every = [(height, kind) for _, height, kind in found if "bar" in kind]
    first = len(family().histogram)
    return [every[:first], every[first:]]


def test_the_image_draws_the_counts_to_scale() -> None:
    advice = family()
    pairs, removed = bars(advice.svg())
    for drawn, counts in (
        (pairs, [part.pairs for part in advice.histogram]),
        (removed, [step.removed for step in advice.thresholds]),
    ):
        top = max(counts)
        assert [height for height, _ in drawn] == pytest.approx([HEIGHT * count / top for count in counts], abs=2)
        assert [kind for _, kind in drawn].count("bar marked") == 1
    assert [k for k, (_, kind) in enumerate(pairs) if "marked" in kind] == [10]  # .8, from .3


def test_a_bar_that_is_too_long_is_broken_and_still_numbered() -> None:
    advice = family()
    crowded = replace(advice, histogram=(replace(advice.histogram[0], pairs=123_456), *advice.histogram[1:]))
    image = crowded.svg()
    assert bars(image)[0][0][0] == HEIGHT
    root = ElementTree.fromstring(image)
    assert len([line for line in root.iter(SVG + "path") if line.get("class") == "cut"]) == 1
    assert "123,456" in [text.text for text in root.iter(SVG + "text")]
    line = next(line for line in str(crowded).splitlines() if line.startswith(" 0.30 up to"))
    assert line.endswith("#>")
    assert "A bar that ends in >" in str(crowded)


def test_the_image_is_self_contained_and_says_itself_in_words() -> None:
    image = svg(family())
    root = ElementTree.fromstring(image)
    told = {part.get("id"): part.text or "" for part in root if part.tag in (SVG + "title", SVG + "desc")}
    assert root.get("role") == "img"
    assert (root.get("aria-labelledby") or "").split() == list(told)
    title, described = told.values()
    assert title == "Near copies among 40 documents"
    for step in family().thresholds:
        assert f"{step.threshold:g}: {step.removed}" in described
    assert "prefers-color-scheme: dark" in image
    assert not [
        word for word in ("http", "href", "url(", "<script", "@import") if word in image.replace(SVG[1:-1], "")
    ]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_notebook_shows_it_escaped() -> None:
    parsed = Tags()
    parsed.feed(family()._repr_html_())
    assert "b" not in parsed.seen
    assert {"svg", "table", "pre"} <= parsed.seen
    assert any("<b>" in text for text in parsed.texts)
    assert family().recommended.command in parsed.texts


# ---------------------------------------------------------------------------------------------------------
# What cannot be


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"method": "lsh"}, "Advice cannot be asked for with method"),
        ({"kinds": True, "pairs": "all"}, "Advice cannot be asked for with kinds, pairs"),
        ({"threshold": 0.09}, "No advice is given for threshold 0.09"),
        ({"threshold": 0.2, "slots": 2}, "With 2 slots no bands reach recall 0.99"),
        ({"unit": "line"}, "unit is 'line'"),
    ],
)
def test_settings_without_advice(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        nd.advise(["a text"], **values)


def test_documents_without_a_row(tmp_path: Any) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "a"}\n', encoding="utf-8")
    advice = nd.advise(broken)
    assert (advice.sample.documents, advice.near.examples, names(advice)) == (
        1,
        (),
        ["shorter-than-a-shingle", "short-documents"],
    )
    with pytest.raises(InputError):
        nd.advise(pa.table({"text": pa.array([], pa.string())}))


@pytest.mark.parametrize("texts", [["", ""], ["x", None]])
def test_documents_without_words(texts: list[str | None]) -> None:
    advice = nd.advise(pa.table({"text": pa.array(texts, pa.string())}))
    assert advice.sample.documents == len(texts)
    assert all(step.pairs == 0 for step in advice.thresholds)
    assert all(choice.expected_recall is None for choice in advice.bands)
    assert "neardup dedup" in str(advice)
