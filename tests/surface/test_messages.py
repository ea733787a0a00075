"""Messages of errors: the given value, the allowed ones, the remedy; never a traceback."""

from pathlib import Path

import pytest

from neardup.cli import messages
from neardup.deduplication import pairs
from support.command_line import Run, write_rows
from support.messages import has_parts

BODY = {"id": "a", "subject": "x", "body": "y"}
NUMBERS = {"one": 1, "two": 2}


@pytest.mark.parametrize(
    ("row", "options", "said"),
    [
        (
            BODY,
            "--dry-run --threshold 2 --length 0 --unit line",
            "unit is 'line'. Allowed: one of word, char.\n"
            "       length is 0. Allowed: a number from 1 to 64 tokens or characters.\n"
            "       threshold is 2.0. Allowed: a number above 0 and at most 1, with at most six decimals, "
            "or a percentage such as 80%.",
        ),
        (
            BODY,
            "",
            "No folder for the results was given\n"
            "       Try: Give -o DIR, -o - for the kept rows on standard output, or --dry-run to write nothing",
        ),
        (
            BODY,
            "-o .",
            ". exists already\n       Allowed: A folder that does not exist yet\n"
            "       Try: Choose another one, or give --overwrite to replace it",
        ),
        (
            BODY,
            "--dry-run --unit words",
            "unit is 'words'\n       Allowed: one of word, char\n       Did you mean 'word'?",
        ),
        (
            BODY,
            "--dry-run --text bodi",
            'There is no column "bodi"\n       Allowed: One of id, subject, body\n       Did you mean "body"?',
        ),
        (
            BODY,
            "--dry-run --text xyzzy",
            'There is no column "xyzzy"\n       Allowed: One of id, subject, body\n'
            "       Try: Choose one with --text",
        ),
        (
            NUMBERS,
            "--dry-run",
            "rows.jsonl has no column of strings: one, two\n       Allowed: A column that holds the texts\n"
            "       Try: Check that this is the right file",
        ),
    ],
)
def test_each_part_of_a_mistake_is_on_a_line_of_its_own(
    run: Run, tmp_path: Path, row: dict[str, object], options: str, said: str
) -> None:
    result = run("dedup", write_rows(tmp_path / "rows.jsonl", [row]), *options.split())
    assert (result.status, result.out) == (2, "")
    assert result.err.replace(f"{tmp_path}/", "") == f"error: {said}\n"


def test_the_aliases_of_measures_are_accepted(run: Run, mails: Path) -> None:
    for alias in ("jaccard", "vocabulary"):
        assert run("dedup", mails, "--dry-run", "--measure", alias).status == 0


def test_missing_input(run: Run, tmp_path: Path) -> None:
    result = run("dedup", tmp_path / "absent.jsonl", "--dry-run")
    assert result.status == 2
    assert result.err.startswith("error: ")
    assert "absent.jsonl" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["dedup", "x", "--frobnicate"],
            "There is no option --frobnicate. neardup dedup --help-all shows those there are.",
        ),
        (["compare"], "Missing argument"),
        (["dedpu"], "There is no command, file or folder 'dedpu'"),
        (["plan", "--threshold", "0.9", "--documents", "high"], "Invalid value for '--documents'"),
        (["group", "x", "--only-contained", "1"], "There is no option --only-contained"),
    ],
)
def test_what_cannot_be_parsed(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.status == 2
    assert said in result.err
    assert "neardup" in result.err.splitlines()[0]


def failing(failure: BaseException, run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    def broken(**settings: object) -> None:
        raise failure

    monkeypatch.setattr(pairs, "plan", broken)
    result = run("plan")
    assert result.status == messages.ERROR
    return result.err


def test_an_error_of_the_system_is_said_in_its_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = PermissionError(13, "Permission denied", "/locked")
    lines = failing(failure, run, monkeypatch)
    assert lines.startswith("error: /locked: Permission denied\n")
    assert has_parts(lines, "Allowed: ", "read", "Try: ", "rights")


def test_a_lack_of_memory_says_the_way_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fewer --threads" in failing(MemoryError(), run, monkeypatch)


def test_a_mistake_of_ours_is_called_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    said = failing(ZeroDivisionError("division by zero"), run, monkeypatch)
    assert said == (
        "error: ZeroDivisionError: division by zero\n"
        "       This is an error in neardup, not in your documents. "
        "Set NEARDUP_TRACEBACK=1 to see where it happened, and report it.\n"
    )


def test_the_place_of_a_mistake_is_shown_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(messages.TRACEBACK, "1")
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError(), run, monkeypatch)
