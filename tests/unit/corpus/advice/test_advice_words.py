"""The words of the adviser: traps, boilerplate, the command, the image, and text that fits a terminal."""

from __future__ import annotations

import json
import subprocess
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
from neardup.corpus.advice.views import HEIGHT, svg
from neardup.errors import InputError, SettingError
from neardup.settings import Settings

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
    title, rule, command, *lines = str(family()).splitlines()
    assert (title, set(rule)) == ("Recommended", {"-"})
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
    for step in advice.thresholds:
        (found,) = [line for line in text.splitlines() if line.startswith(f" {step.threshold:.2f} ")]
        assert int(found.split()[1]) == step.pairs
        assert found.endswith("<-") == (step.threshold == 0.8)


def test_everything_is_plain_data() -> None:
    data = json.loads(json.dumps(family().as_dict()))
    assert set(data) == set(Advice.__dataclass_fields__)
    assert set(data["settings"]) == set(ADVISED) - set(NOT_TOLD)


def test_the_image_draws_the_counts_to_scale() -> None:
    advice = family()
    rects = [*ElementTree.fromstring(advice.svg()).iter(SVG + "rect")]
    bars = [(float(one.get("height") or 0), one.get("class") or "") for one in rects]
    every = [bar for bar in bars if "bar" in bar[1]]
    n = len(advice.thresholds)
    for drawn, counts in (
        (every[:n], [step.pairs for step in advice.thresholds]),
        (every[n:], [step.removed for step in advice.thresholds]),
    ):
        top = max(counts)
        assert [height for height, _ in drawn] == pytest.approx([HEIGHT * count / top for count in counts], abs=2)
        assert [kind for _, kind in drawn].count("bar marked") == 1
    assert [k for k, (_, kind) in enumerate(every[:n]) if "marked" in kind] == [6]  # .8, from .5


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
    assert (advice.sample.documents, advice.around.above, advice.around.below) == (1, (), ())
    with pytest.raises(InputError):
        nd.advise(pa.table({"text": pa.array([], pa.string())}))


@pytest.mark.parametrize("texts", [["", ""], ["x", None]])
def test_documents_without_words(texts: list[str | None]) -> None:
    advice = nd.advise(pa.table({"text": pa.array(texts, pa.string())}))
    assert advice.sample.documents == len(texts)
    assert all(step.pairs == 0 for step in advice.thresholds)
    assert "neardup dedup" in str(advice)
