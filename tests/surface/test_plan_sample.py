"""``neardup plan SAMPLE`` from outside: its output, files and errors."""

import json
import shlex
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from neardup.cli.demo_documents import documents_path
from neardup.corpus.advice import Advice
from neardup.corpus.advice.record import (
    Apart,
    Around,
    Look,
    Recommendation,
    Seen,
    Step,
    Taken,
)
from support.command_line import ROWS, Run, write_rows
from support.messages import has_parts
from support.paths import DOCS, ROOT

PAGES = DOCS

SECTIONS = [
    "Recommended",
    "Why",
    "The documents",
    "Versions and unrelated documents",
    "Pairs around the recommended line",
    "The effect of each threshold",
]


def test_advice_has_its_sections_and_fits_eighty_columns(run: Run, mails: Path) -> None:
    result = run("plan", mails, "--threshold", "0.95")
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    command = lines.pop(2)
    assert [line for line, rule in pairwise(lines) if rule and set(rule) == {"-"}] == SECTIONS
    assert max(map(len, lines)) < 80
    assert "4 documents, " in result.out
    assert "1 is an exact copy" in result.out
    assert any(line.endswith("  a and b") for line in lines)
    assert command.startswith("  neardup dedup ")


def test_the_recommended_command_does_what_the_table_says(
    run: Run, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named = mails.rename(tmp_path / "it's my mail.jsonl")
    advice = json.loads(run("plan", named.name, "--text", "text", "--json").out)
    typed = shlex.split(advice["recommended"]["command"])
    assert typed[:2] == ["neardup", "dedup"]
    assert run(*typed[1:]).status == 0
    removed = pq.read_table(tmp_path / "cleaned" / "groups.parquet").to_pylist()
    asked = next(step for step in advice["thresholds"] if step["threshold"] == 0.8)
    assert sum(not row["kept"] for row in removed) == asked["removed"] == 2


def test_json_is_all_there_is_on_standard_output(run: Run, mails: Path) -> None:
    data = json.loads(run("plan", mails, "--json", "--unit", "char", "--length", "9").out)
    assert data["settings"]["unit"] == "char"
    assert [step["pairs"] for step in data["thresholds"] if step["threshold"] in (0.5, 1)] == [1, 0]
    assert data["sample"]["complete"] is True


def test_looks_with_a_gap_are_json(run: Run) -> None:
    looks = json.loads(run("plan", documents_path(), "--json").out)["seen"]["looks"]
    assert {look["clear"] for look in looks if look["expected_f1"] > 0.9} == {False}
    assert sum(look["expected_f1"] > 0.9 for look in looks) == 3


def test_the_bands_alone_are_drawn_as_in_the_readme(run: Run, tmp_path: Path) -> None:
    image = tmp_path / "plan.svg"
    for _ in range(2):  # an image of ours is replaced
        assert run("plan", "--threshold", "0.8", "--recall", "0.9", "--svg", image).status == 0
    assert image.read_bytes() == (ROOT / "docs" / "images" / "plan.svg").read_bytes()


def test_svg_is_written_beside_the_text(run: Run, mails: Path, tmp_path: Path) -> None:
    image = tmp_path / "plot.svg"
    for _ in range(2):  # that of an earlier run is replaced
        result = run("plan", mails, "--svg", image)
        assert (result.status, result.err) == (0, "")
        assert "Recommended" in result.out
    assert ElementTree.parse(image).getroot().tag.endswith("svg")


def test_an_image_never_replaces_documents(run: Run, mails: Path, tmp_path: Path) -> None:
    before = mails.read_bytes()
    result = run("plan", mails, "--svg", mails)
    assert (result.status, result.out) == (2, "")
    said = f"error: {mails} cannot be the name of an image\n       Allowed: A name that ends in .svg\n"
    assert result.err.startswith(said)
    assert mails.read_bytes() == before
    drawing = tmp_path / "drawing.svg"
    drawing.write_text("<svg></svg>", encoding="utf-8")
    assert f"{drawing} is not an image" in run("plan", mails, "--svg", drawing).err
    assert drawing.read_text(encoding="utf-8") == "<svg></svg>"
    assert f"no folder {tmp_path / 'absent'}" in run("plan", mails, "--svg", tmp_path / "absent/a.svg").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.jsonl"], "absent.jsonl"),
        (["--unit", "char"], "--unit was given without documents"),
        (["--id", "a"], "--id was given without documents"),
        (["MAILS", "--text", "txet"], 'There is no column "txet"'),
        (["MAILS", "--threshold", "0.01"], "No advice is given for threshold 0.01"),
        (
            ["MAILS", "--sketch", "one-permutation:2", "--threshold", "0.2"],
            "With 2 slots no bands reach recall 0.99",
        ),
    ],
)
def test_what_cannot_be_advised_on(run: Run, mails: Path, arguments: list[str], said: str) -> None:
    result = run("plan", *(str(mails) if word == "MAILS" else word for word in arguments))
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert said in result.err


def test_rejected_rows_are_told_and_change_the_status(run: Run, mails: Path) -> None:
    with mails.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    result = run("plan", mails)
    assert result.status == 1
    assert has_parts(result.out.replace("\n", " "), "1 row", "not be read.")
    assert result.err.startswith("warning: 1 row rejected.\n         The first: ")
    assert f"{mails} row 4: " in result.err


def test_hostile_ids_and_names_do_not_rule_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{**row, "id": f"\x1b[2J{row['id']}"} for row in ROWS]
    name = "-\x1b[31m.jsonl"
    write_rows(tmp_path / name, rows)
    result = run("plan", "--threshold", "0.95", "--", name)
    assert result.status == 0
    assert "\x1b" not in result.out + result.err
    assert "  \\x1b[2Ja and \\x1b[2Jb\n" in result.out
    assert "  neardup dedup $'./-\\x1b[31m.jsonl' -o cleaned " in result.out


def test_the_page_on_thresholds_shows_what_is_printed(run: Run) -> None:
    page = (PAGES / "explanation" / "thresholds.md").read_text(encoding="utf-8")
    blocks = [block.partition("\n```")[0] for block in page.split("```\n")[1::2]]
    shown = [
        line
        for block in blocks
        for line in block.splitlines()
        if line and not line.startswith(("neardup ", "..."))
    ]
    printed = run("plan", documents_path()).out.splitlines()
    assert len(shown) > 20
    assert not [line for line in shown if line not in printed]


def test_every_part_of_the_advice_is_documented() -> None:
    text = (PAGES / "reference" / "python.md").read_text(encoding="utf-8").partition("## advise and Advice")[2]
    section = text.partition("\n## ")[0]
    parts = (Advice, Taken, Step, Recommendation, Seen, Look, Around, Apart)
    names = {name for part in parts for name in part.__dataclass_fields__}
    assert not [name for name in names if f"`{name}`" not in section and name not in ("slots", "recall")]


def test_the_options_of_a_run_are_repeated(run: Run, mails: Path, tmp_path: Path) -> None:
    footer = tmp_path / "a footer.txt"
    footer.write_text("a footer of seven words in all", encoding="utf-8")
    options = ["--ignore", footer, "--within", "id", "--keep", "first", "--lose", "0.5", "--ignore-common", "0.9"]
    done = run("plan", mails, *map(str, options), "--json")
    assert done.status == 0, done.err
    advice = json.loads(done.out)
    assert f"--ignore '{footer}'" in advice["recommended"]["command"]
    assert "--within id --keep first --lose 0.5" in advice["recommended"]["command"]
    assert all(step["pairs"] == 0 for step in advice["thresholds"])  # each id is unique


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--within", "lang"], "--within was given without documents"),
        (["--sketch", "simhash", "--lose", "0.1"], "--lose cannot be given together with --sketch simhash"),
    ],
)
def test_options_of_a_run_need_documents(run: Run, arguments: list[str], said: str) -> None:
    refused = run("plan", *arguments)
    assert refused.status == 2
    assert said in refused.err
