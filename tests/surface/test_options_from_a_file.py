"""Options from neardup.toml and pyproject.toml: names, values and errors of the options; the command line wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neardup.cli.config import find_config
from neardup.errors import InputError, SettingError
from support.command_line import Run, run_json
from support.messages import has_parts


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_settings_of_a_file_count_unless_they_are_typed(run: Run, mails: Path, here: Path) -> None:
    (here / "neardup.toml").write_text(
        'threshold = 0.7\n[dedup]\nkeep = ["max:year"]\nout = "result"\n[plan]\nsketch = "one-permutation:64"\n'
    )
    result = run("dedup", mails)
    assert result.status == 0, result.err
    assert "options from neardup.toml: out, threshold, keep" in result.err
    told = run_json(here / "result")
    assert told["settings"]["threshold"] == 0.7
    assert told["settings"]["keep"] == "max:year"
    assert told["settings"]["slots"] == 128
    assert told["config"] == {
        "file": "neardup.toml",
        "options": {"out": "result", "threshold": 0.7, "keep": ["max:year"]},
    }
    typed = run("dedup", mails, "--threshold", "0.9", "--keep", "first", "-o", here / "typed")
    assert typed.status == 0, typed.err
    assert "options from" not in typed.err
    found = run_json(here / "typed")
    assert found["settings"]["threshold"] == 0.9
    assert "config" not in found
    without = json.loads(run("dedup", mails, "--no-config", "--dry-run", "--json").out)
    assert without["settings"]["threshold"] == 0.8


def test_pyproject_is_second_and_a_named_file_first(run: Run, mails: Path, here: Path) -> None:
    (here / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert run("group", mails, "--dry-run").err.startswith("options") is False
    (here / "pyproject.toml").write_text("[tool.neardup]\nthreshold = 0.6\n")
    assert json.loads(run("group", mails, "--dry-run", "--json").out)["settings"]["threshold"] == 0.6
    (here / "neardup.toml").write_text("threshold = 0.5\n")
    assert json.loads(run("group", mails, "--dry-run", "--json").out)["settings"]["threshold"] == 0.5
    (here / "mine.toml").write_text("threshold = 0.4\n")
    named = run("group", mails, "--dry-run", "--json", "--config", here / "mine.toml")
    assert json.loads(named.out)["settings"]["threshold"] == 0.4
    (here / "below").mkdir()
    missing = run("group", mails, "--dry-run", "--config", "nothing.toml")
    assert missing.status == 2
    assert has_parts(missing.err, "nothing.toml cannot be used", "No such file")


def test_the_threshold_of_a_file_is_not_that_of_regroup(run: Run, mails: Path, here: Path) -> None:
    assert run("dedup", mails, "-o", here / "out").status == 0
    (here / "neardup.toml").write_text("threshold = 0.7\nlength = 4\n")
    stricter = run("regroup", here / "out", "--threshold", "0.9", "-o", here / "strict")
    assert stricter.status == 0, stricter.err
    refused = run("regroup", here / "out", "-o", here / "none")
    assert "Missing option '--threshold'" in refused.err


@pytest.mark.parametrize(
    ("written", "given", "do"),
    [
        ("treshold = 0.7", "there is no setting 'treshold'", "Did you mean threshold?"),
        ("annotate = true", "annotate is an option of single commands", "Move it to [dedup]"),
        ("[dedup]\nanotate = true", "[dedup]: there is no option 'anotate'", "Did you mean annotate?"),
        ("[dedpu]\nout = 'x'", "there is no command 'dedpu'", "Did you mean dedup?"),
        ("threshold = 'high'", "threshold is 'high'", ""),
        ("threshold = true", "threshold is true", ""),
        ("threshold = 7", "threshold is 7", ""),
        ("method = 'exat'", "method is 'exat'", "Did you mean 'exact'?"),
        ("audit = 1.5", "audit is 1.5", ""),
        ("within = [1]", "within is [1]", ""),
        ("keep = ['longst']", "keep is ['longst']", ""),
        ("[dedup]\nannotate = 'yes'", "[dedup]: annotate is 'yes'", ""),
        ("[dedup]\nout = 3", "[dedup]: out is 3", ""),
        ("[dedup]\nagainst = [3]", "[dedup]: against is [3]", ""),
        ("[dedup]\noverwrite = true", "[dedup]: overwrite cannot be in a file", "Type --overwrite"),
        ("[serve]\ntoken-file = 'x'", "[serve]: token-file cannot be in a file", "Type --token-file"),
        ("[dedup]\nengine = 'spark'", "[dedup]: engine cannot be in a file", "Type --engine"),
        ("[dedup]\nin = 'x'", "[dedup]: there is no option 'in'", ""),
        ("threshold = {a = 1}", "there is no command 'threshold'", ""),
    ],
)
def test_mistakes_name_the_file_and_the_key(here: Path, written: str, given: str, do: str) -> None:
    (here / "neardup.toml").write_text(written)
    with pytest.raises(SettingError) as refused:
        find_config(None)
    assert refused.value.given == f"neardup.toml{', ' if given.startswith('[') else ': '}{given}"
    assert refused.value.allowed
    assert refused.value.do == do or not do


def test_values_are_those_of_the_command_line(here: Path) -> None:
    (here / "neardup.toml").write_text(
        'memory = "2GB"\nwithin = "lang"\nignore_common = 0.1\nkeep = ["max:n", "longest"]\ntext = "body"\n'
        '[dedup]\nignore-common = 0.2\nagainst = "old.jsonl"\n[serve]\nseconds = 3\n'
    )
    config = find_config(None)
    assert config is not None
    assert config.options["dedup"] == {
        "memory": "2GB",
        "within": ["lang"],
        "ignore_common": 0.2,
        "keep": ["max:n", "longest"],
        "text": ["body"],
        "against": ["old.jsonl"],
    }
    assert config.options["compare"] == {"text": ["body"]}
    assert config.options["serve"] == {"seconds": 3}


@pytest.mark.parametrize("content", [b"x = [1", b"\xff\xfe", b"a = 1\n" * 200_000, b"[" * 5000])
def test_hostile_files_are_errors_in_words(run: Run, mails: Path, here: Path, content: bytes) -> None:
    (here / "neardup.toml").write_bytes(content)
    result = run("dedup", mails, "--dry-run")
    assert result.status == 2
    assert "neardup.toml cannot be used: " in result.err
    assert "give --no-config" in result.err
    with pytest.raises(InputError):
        find_config(here / "neardup.toml")
    assert run("dedup", mails, "--dry-run", "--no-config").status == 0
    assert run("dedup", "--help").status == 0


def test_a_byte_order_mark_is_no_part_of_a_file(run: Run, mails: Path, here: Path) -> None:
    (here / "neardup.toml").write_bytes(b"\xef\xbb\xbfthreshold = 0.7\n")
    assert find_config(None).options["dedup"] == {"threshold": 0.7}  # type: ignore[union-attr]


@pytest.mark.parametrize("content", ["threshold = " + "9" * 5_000, "[compare]\nlength = " + "9" * 4_000])
def test_an_endless_number_is_an_error_of_a_few_words(here: Path, content: str) -> None:
    (here / "neardup.toml").write_text(content)
    with pytest.raises((InputError, SettingError), match=r"neardup\.toml") as caught:
        find_config(None)
    assert len(str(caught.value)) < 1_000
    assert "set_int_max_str_digits" not in str(caught.value)
