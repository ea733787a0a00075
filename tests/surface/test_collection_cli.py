"""Collections from the command line."""

import json
from pathlib import Path

import pytest

from neardup.cli.commands import COMMANDS
from neardup.collection import Collection
from neardup.collection.settings import CollectionSettings
from support.command_line import BASE, ROWS, Run, write_rows
from support.messages import has_parts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.neardup"


def test_add_says_what_was_added(run: Run, mails: Path, path: Path) -> None:
    result = run("collection", "add", path, mails, "--text", "text", "--id", "id", "--meta", "year")
    assert (result.status, result.err) == (0, "")
    assert result.out == f"4 documents added; {path} holds 4\n"
    with Collection(path) as collection:
        assert collection.get("a").text == BASE
        assert collection.get("c").metadata == {"year": 2002}


def test_what_was_guessed_is_said(run: Run, mails: Path, path: Path) -> None:
    assert has_parts(run("collection", "add", path, mails).out, 'id column: "id"', "guessed", "--id)")


def test_adding_the_same_again_changes_nothing(run: Run, mails: Path, path: Path) -> None:
    run("collection", "add", path, mails)
    result = run("collection", "add", path, mails)
    assert result.status == 0
    assert result.out.endswith(f"0 documents added, 4 unchanged; {path} holds 4\n")


def test_adding_other_texts_is_an_error_unless_they_replace(
    run: Run, mails: Path, path: Path, tmp_path: Path
) -> None:
    run("collection", "add", path, mails)
    changed = write_rows(
        tmp_path / "changed.jsonl", [{"id": "a", "text": "other words"}, {"id": "e", "text": "new"}]
    )
    result = run("collection", "add", path, changed)
    assert (result.status, result.out) == (2, "")
    assert has_parts(result.err, "error: ", "'a'", "already")
    assert "--replace" in result.err
    result = run("collection", "add", path, changed, "--replace", "--json")
    known = json.loads(result.out)
    assert (known["added"], known["replaced"], known["documents"]) == (1, 1, 5)
    with Collection(path) as collection:
        assert collection.get("a").text == "other words"


def test_rejected_rows_are_told(run: Run, path: Path, tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"id": "a", "text": "x"}\n{"id": "\\u001b[31m\n{"id": "", "text": "y"}\n', encoding="utf-8")
    result = run("collection", "add", path, lines, "--text", "text", "--id", "id")
    assert result.status == 1
    assert result.out.startswith("1 document added")
    assert "2 rows rejected" in result.err
    assert "id is empty" in result.err
    assert "\x1b[31m\n" not in result.err
    known = json.loads(run("collection", "add", path, lines, "--replace", "--json").out)
    assert [problem["row"] for problem in known["problems"]] == [1, 2]


def test_remove_takes_all_or_none(run: Run, mails: Path, path: Path) -> None:
    run("collection", "add", path, mails)
    result = run("collection", "remove", path, "a", "nobody\x1b[2J")
    assert result.status == 2
    assert "no document 'nobody\\x1b[2J'" in result.err
    result = run("collection", "remove", path, "a", "d")
    assert (result.status, result.out) == (0, f"2 documents removed; {path} holds 2\n")
    assert json.loads(run("collection", "remove", path, "b", "--json").out) == {"removed": 1, "documents": 1}


def test_info_shows_what_there_is(run: Run, mails: Path, path: Path) -> None:
    run("collection", "add", path, mails)
    said = dict(line.split("  ", 1) for line in run("collection", "info", path).out.splitlines())
    assert said["documents"].strip() == "4"
    known = json.loads(run("collection", "info", path, "--json").out)
    with Collection(path) as collection:
        assert known == collection.info()
    assert known["bytes"]["text"] == sum(len(row["text"]) for row in ROWS)


def test_check_finds_what_is_wrong(run: Run, mails: Path, path: Path) -> None:
    run("collection", "add", path, mails)
    result = run("collection", "check", path)
    assert result.status == 0
    assert has_parts(result.out, "4 documents", "no fault")
    data = bytearray(path.read_bytes())
    place = data.index(b'{"year"' if b'{"year"' in data else b"{}")
    data[place] ^= 1
    path.write_bytes(data)
    result = run("collection", "check", path, "--json")
    assert result.status == 2
    [fault] = json.loads(result.out)["faults"]
    assert has_parts(fault, f"{path} is damaged: ", "document '")
    assert "was changed" in result.err


@pytest.mark.parametrize("command", [("info",), ("check",), ("remove", "x")])
def test_a_collection_that_is_not_there_is_not_made(run: Run, path: Path, command: tuple[str, ...]) -> None:
    name, *ids = command
    result = run("collection", name, path, *ids)
    assert result.status == 2
    assert f"no collection {path}" in result.err
    assert not path.exists()


def test_another_file_is_left_alone(run: Run, mails: Path) -> None:
    before = mails.read_bytes()
    copy = mails.with_name("copy.jsonl")
    copy.write_bytes(before)
    for command in (("add", mails, copy), ("info", mails), ("remove", mails, "x")):
        result = run("collection", *command)
        assert result.status == 2
        assert has_parts(result.err, "not a neardup collection", "SQLite")
    assert mails.read_bytes() == before


@pytest.mark.parametrize("name", ["length", "slots", "scale", "floor"])
def test_the_help_says_what_a_collection_has_without_the_option(name: str) -> None:
    option = next(option for option in COMMANDS["collection add"].options if option.spelling == (f"--{name}",))
    assert option.default == CollectionSettings().as_dict()[name]
    assert "Fixed when" in option.help


@pytest.mark.parametrize("wrong", ["an id that comes twice", "--meta", "an unreadable file after it"])
def test_an_add_that_fails_before_anything_is_stored_leaves_no_collection(
    run: Run, path: Path, tmp_path: Path, wrong: str
) -> None:
    rows = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}])
    options = {"--meta": ["--meta", "none"]}.get(wrong, [])
    if wrong == "an id that comes twice":
        write_rows(rows, [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}])
    elif wrong == "an unreadable file after it":
        options = [str(tmp_path / "none.jsonl")]
    assert run("collection", "add", path, rows, *options).status == 2
    assert [file.name for file in tmp_path.iterdir()] == [rows.name]
    with Collection(path) as collection:
        collection.add(["one"])
    assert run("collection", "add", path, rows, *options).status == 2
    with Collection(path, readonly=True) as collection:  # one that was there stays as it is
        assert list(collection) == ["#1"]
