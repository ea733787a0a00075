"""Help by purpose, completion, and a first look at an input without a command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from neardup.cli import help
from neardup.cli.app import app
from neardup.cli.commands import COMMANDS, ON_COLLECTIONS, PURPOSES
from neardup.cli.option import REQUIRED, options_of
from neardup.cli.options.general import MOST_SHOWN, RARE, LogOptions
from neardup.settings import FIELDS
from neardup.settings.rules import OTHER, PANELS
from support.command_line import Run
from support.messages import has_parts


@pytest.mark.parametrize("command", [name for name, one in COMMANDS.items() if len(one.options) >= help.LONG])
def test_long_help_is_by_purpose_and_ends_with_examples(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(*command.split(), "--help-all" if help.is_long(command) else "--help")
    assert result.status == 0
    headings = re.findall(r"^([A-Z][a-z ]+):$", result.out, re.MULTILINE)
    assert headings[-2 if COMMANDS[command].record.EXAMPLES else -1] == OTHER
    assert [one for one in headings if one in PANELS] == [one for one in PANELS if one in headings]
    assert "Options" not in headings
    for option in COMMANDS[command].options:
        assert (option.spelling[-1] if option.spelling else str(option.metavar)) in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())


@pytest.mark.parametrize("command", ["", "dedup", "collection add", "collection info"])
def test_the_parser_prints_the_same_help(run: Run, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Help among other options comes from the parser."""
    monkeypatch.setenv("COLUMNS", "80")
    words = command.split()
    typed = [*words, "--no-config", "--help"] if command else ["--help", "--version"]
    assert run(*typed).out == run(*words, "--help").out


@pytest.mark.parametrize("columns", [52, 80, 98])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_word_of_the_options_is_in_the_help_and_no_line_is_too_long(command: str, columns: int) -> None:
    text = help.page(command, columns, every=True)
    words = " ".join(text.split())
    for option in COMMANDS[command].options:
        assert all(spelling in words for spelling in option.spelling)
        assert re.sub(r"\s", "", option.help) in re.sub(r"\s", "", text)
    assert max(map(len, text.partition("Examples:")[0].splitlines())) <= columns


@pytest.mark.parametrize("command", [name for name in COMMANDS if help.is_long(name)])
def test_the_first_help_of_many_options_is_short(run: Run, command: str) -> None:
    text, options = run(*command.split(), "--help").out, COMMANDS[command].options
    shown = {one.name for one in options if re.search(rf"^  {re.escape(one.shown)}\b", text, re.MULTILINE)}
    assert len(re.findall(r"^  -", text, re.MULTILINE)) <= MOST_SHOWN
    assert {one.name for one in options if one.default is REQUIRED} <= shown
    assert text.count("\n") <= 100
    assert f"neardup {command} --help-all shows {len(options)} options." in text
    every = run(*command.split(), "--help-all").out
    assert every == run(*command.split(), "--no-config", "--help-all").out
    assert all(name in every for option in options for name in option.spelling)


def test_rare_options_are_options() -> None:
    names = {option.name for one in COMMANDS.values() for option in one.options}
    assert names | {one.name for one in options_of(LogOptions)} | {"no_config", "config"} >= RARE


CLASSES = "exact copies: 0 identical, 1 with the same words"


def test_the_help_lists_what_the_parser_takes() -> None:
    context = typer.Context(typer.main.get_command(app))
    for name in COMMANDS:
        command: Any = context.command
        for word in name.split():
            command = command.get_command(context, word)
        text = help.page(name, 98, every=True) + help.page(name, 98)
        for parameter in command.get_params(context):
            shown = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
            assert shown in text, (name, shown)


def test_verify_has_no_option_for_the_status_of_rejected_rows() -> None:
    """Its status 1 is a difference, which --no-strict would hide."""
    of_log = {name: {one.name for one in command.log_options} for name, command in COMMANDS.items()}
    assert of_log["dedup"] == {"log_format", "log_every", "metrics", "strict"}
    assert of_log["verify"] == of_log["dedup"] - {"strict"}
    assert of_log["compare"] == set()


def test_a_narrow_terminal_has_its_own_help(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    result = run("dedup", "-h")
    assert result.status == 0
    assert max(map(len, result.out.splitlines())) <= 70


def test_help_loads_no_command(tmp_path: Path) -> None:
    """Within the .15 seconds that help may take there is no time for it."""
    program = (
        "import sys; from neardup.cli import main; sys.argv[1:] = ['dedup', '--help']\n"
        "try: main()\n"
        "except SystemExit as done: print(done.code, sorted({'typer', 'numba', 'pyarrow'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "0 []"


@pytest.mark.skipif(sys.platform == "win32", reason="no pipe that ends early")
def test_help_into_a_pipe_that_ends_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)  # before the command writes
    command = [sys.executable, "-m", "neardup", "dedup", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_each_setting_has_a_purpose_and_examples_are_of_commands() -> None:
    assert {field.panel for field in FIELDS.values()} <= set(PANELS)
    assert {option.panel for one in COMMANDS.values() for option in one.options} <= set(PANELS)
    listed = [name for commands in PURPOSES.values() for name in commands]
    assert sorted([*listed, "look", *(f"collection {name}" for name in ON_COLLECTIONS)]) == sorted(COMMANDS)
    for command in ("dedup", "group", "fingerprint", "merge", "plan"):
        assert len(COMMANDS[command].record.EXAMPLES) == 2
        known = {spelling for option in COMMANDS[command].options for spelling in option.spelling}
        typed = next(typed for typed, _ in COMMANDS[command].record.EXAMPLES if f"neardup {command} " in typed)
        assert set(re.findall(r"(?<=\s)--?[a-z-]+", typed.partition("|")[0])) - {"-"} <= known


def test_inputs_without_a_command_show_their_largest_groups(
    run: Run, mails: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("mails.jsonl")
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert lines[0] == "3 documents"
    assert lines[1].startswith("  kept   a  word0 word1")
    assert lines[2].startswith("  0.979  b  word0 word1")
    assert lines[3].startswith("  copy   c  WORD0")
    assert all(len(line) <= 80 for line in lines)
    assert "4 documents: 1 group with 1 exact copy and 1 near copy; 2 (50.0 %) can go" in lines
    assert CLASSES in lines
    assert lines[-1] == "Next: neardup dedup mails.jsonl -o mails-dedup"
    assert list(tmp_path.iterdir()) == [mails]
    strict = run("mails.jsonl", "--threshold", "1", "--text", "text")
    assert "1 group with 1 exact copy and 0 near copies" in strict.out
    assert strict.out.splitlines()[-1] == "Next: neardup dedup mails.jsonl --text text -o mails-dedup"
    (tmp_path / "mails-dedup").mkdir()
    assert run(f".{'/'}mails.jsonl").out.splitlines()[-1].endswith("-o mails-dedup-2")


def test_a_hostile_text_is_shown_escaped(run: Run, tmp_path: Path) -> None:
    text = "\\u001b[31mred " * 20
    (tmp_path / "a.jsonl").write_text("".join(f'{{"id": "\\u001b]0;{i}", "text": "{text}"}}\n' for i in range(2)))
    result = run(tmp_path / "a.jsonl")
    assert result.status == 0, result.err
    assert "\x1b" not in result.out


def test_a_word_that_is_neither_a_command_nor_an_input(run: Run) -> None:
    typo = run("dedpu", "x")
    assert typo.status == 2
    assert has_parts(typo.err, "'dedpu'", "Did you mean 'dedup'?")
    missing = run("missing.jsonl")
    assert missing.status == 2
    assert "no file or folder missing.jsonl" in missing.err


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("neardup ded", {"dedup"}),
        ("neardup dedup --file-s", {"--file-size"}),
        ("neardup dedup --measure chunk", {"chunk-longest", "chunk-union"}),
    ],
)
def test_a_shell_completes_commands_options_and_values(words: str, wanted: set[str]) -> None:
    environment = {"_NEARDUP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-m", "neardup"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == wanted


@pytest.mark.parametrize("name", ON_COLLECTIONS)
def test_an_old_spelling_names_the_command_of_a_collection(run: Run, name: str) -> None:
    said = run(name, "mail.neardup", "it's")
    assert said.status == 2
    assert f"neardup collection {name} mail.neardup 'it'\"'\"'s'" in said.err


def test_commands_of_a_collection_are_listed_and_suggested(run: Run) -> None:
    for words in (("collection",), ("collection", "--help")):
        said = run(*words)
        assert all(f"\n  {name} " in said.out + said.err for name in ON_COLLECTIONS)
    said = run("collection", "serch", "mail.neardup")
    assert (said.status, "'search'" in said.err) == (2, True)


def test_an_unknown_option_names_the_one_that_is_meant(run: Run) -> None:
    said = run("dedup", "x.jsonl", "--num-perm=256", "-o", "out")
    assert said.status == 2
    assert "There is no option --num-perm. Did you mean --sketch SKETCH?" in said.err


@pytest.mark.parametrize("words", [("--mask", "--num-perm"), ("--", "--num-perm")])
def test_values_and_words_after_two_dashes_are_no_options(run: Run, words: tuple[str, str]) -> None:
    assert "There is no option" not in run("dedup", "x.jsonl", "--dry-run", *words).err
