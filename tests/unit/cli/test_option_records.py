"""The records that commands receive, and the table of options made from them."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from neardup.cli.commands import COMMANDS, OF_LONG_WORK
from neardup.cli.config import MOST_BYTES, find_config
from neardup.cli.option import REQUIRED, SettingOptions, fill_record, options_of, typed_path
from neardup.cli.options.general import RESULT_OR_COLLECTION
from neardup.cli.options.on_files import DedupOptions, GroupOptions
from neardup.errors import InputError, SettingError
from neardup.io.place import DatabaseURL, place_of
from neardup.settings import COLLECTION_FIELDS, FIELDS, Settings
from neardup.settings.rules import as_tuple


def fits(value: Any, declared: Any) -> bool:
    """Whether a value is of a type as a record declares it."""
    if get_origin(declared) is list:
        return isinstance(value, list) and all(fits(item, *get_args(declared)) for item in value)
    return any(type(value) is kind for kind in get_args(declared) or (declared,))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_a_field_and_every_field_an_option(command: str) -> None:
    record = COMMANDS[command].record
    options = {option.name: option for option in COMMANDS[command].options}
    assert len(options) == len(COMMANDS[command].options)
    fields: set[str] = set()
    for field in dataclasses.fields(record):
        fields |= field.metadata["settings"].keys() if "settings" in field.metadata else {field.name}
    assert fields - {"explicit"} == options.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_types_and_defaults_of_record_and_table_agree(command: str) -> None:
    record = COMMANDS[command].record
    types = get_type_hints(SettingOptions) | get_type_hints(record)
    required = {option.name: "given" for option in COMMANDS[command].options if option.default is REQUIRED}
    made = record(**required)
    for option in COMMANDS[command].options:
        if option.name in required:
            continue
        if not hasattr(made, option.name):  # the option of a setting, whose default is that of its field
            assert option.name in FIELDS | COLLECTION_FIELDS
            continue
        value = getattr(made, option.name)
        own = (command, option.name) == ("passages", "keep")  # one policy, for places and not for documents
        if option.name in FIELDS and FIELDS[option.name].many and not own:  # a list on the command line
            assert as_tuple(value) == as_tuple(option.default), option.name
            assert option.type == list[str]
            continue
        assert value == ([] if option.default == () else option.default), option.name
        if option.read is not None:  # a size or a share, which the command line passes on as text
            assert option.type in (str, str | None)
            if option.name == "stop_words":  # a text, read where settings are checked
                assert option.read("") == ""
                continue
            if option.read in (typed_path, place_of):
                assert option.read("out") == Path("out")
                continue
            assert option.read("80%" if option.name != "memory" else "800MB") == 0.8
            continue
        assert option.type == types[option.name]
        assert fits(value, option.type), option.name


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_settings_have_their_types(command: str) -> None:
    for option in COMMANDS[command].options:
        field = FIELDS.get(option.name)
        if field is not None and option.spelling == (field.option,) and option.help.startswith(field.help):
            assert option.type == (list[str] if field.many else field.written)


def test_a_record_is_frozen_and_filled_from_what_typer_read() -> None:
    values: dict[str, Any] = {option.name: option.default for option in options_of(GroupOptions)}
    values |= {"inputs": ["a"], "against": ("b",), "out": Path("c"), "threshold": 0.7}
    made = fill_record(GroupOptions, values, frozenset({"threshold"}))
    assert (made.inputs, made.against, made.out) == (["a"], ["b"], Path("c"))
    assert made.settings.threshold == 0.7
    assert made.explicit == {"threshold"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.json = True  # type: ignore[misc]


def test_settings_are_checked_when_the_command_asks() -> None:
    assert DedupOptions(inputs=[]).settings.to_settings() == Settings()
    wrong = dataclasses.replace(SettingOptions(), threshold=2.0, length=0)
    with pytest.raises(SettingError):
        wrong.to_settings()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_function_receives_the_record_of_its_command(command: str) -> None:
    function = COMMANDS[command].load()
    assert get_type_hints(function, vars(sys.modules[function.__module__])) == {
        "options": COMMANDS[command].record,
        "return": int,
    }


AT_ONCE = {
    *("compare", "explain", "demo", "show", "report", "export", "import", "look"),
    *("review", "serve", "mcp"),  # servers
    *(f"collection {name}" for name in ("remove", "list", "search", "decide", "tag", "info")),
}
"""The commands that answer at once, or serve until they are stopped."""


@pytest.mark.parametrize("command", COMMANDS)
def test_long_work_has_its_options_or_says_why_not(command: str) -> None:
    one = COMMANDS[command]
    given = {option.spelling[-1].removeprefix("--") for option in one.options if option.spelling}
    assert not given & one.record.WITHOUT.keys()
    assert one.record.WITHOUT.keys() <= set(OF_LONG_WORK)
    if command in AT_ONCE:
        assert not one.record.WITHOUT
    else:
        assert {*OF_LONG_WORK} <= given | one.record.WITHOUT.keys()


def test_a_result_may_be_at_a_url_and_a_collection_in_a_database() -> None:
    read = RESULT_OR_COLLECTION.read
    assert read is not None
    assert (read("s3://box/out"), read("out")) == (Path("s3://box/out"), Path("out"))
    assert isinstance(read("postgresql://host/mail"), DatabaseURL)


def test_a_file_of_options_has_at_most_a_megabyte(tmp_path: Path) -> None:
    file = tmp_path / "neardup.toml"
    file.write_bytes(b"threshold = 0.7\n".ljust(MOST_BYTES))
    assert find_config(file) is not None
    file.write_bytes(b"threshold = 0.7\n".ljust(MOST_BYTES + 1))
    with pytest.raises(InputError) as refused:
        find_config(file)
    assert f"{MOST_BYTES:,} bytes" in str(refused.value)
