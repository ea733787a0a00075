"""The page on reviews: its commands have the options it names, and its keys are those of the module."""

import re
from pathlib import Path

import neardup.review.live as room
from neardup.cli.commands import COMMANDS
from support.command_line import split_command
from support.paths import DOCS

PAGE = (DOCS / "howto" / "review.md").read_text(encoding="utf-8")
MODULE = (Path(room.__file__).parent / "review.js").read_text(encoding="utf-8")
HELP = (Path(room.__file__).parent / "templates" / "keys.html").read_text(encoding="utf-8")


def test_every_command_has_the_options_it_is_shown_with() -> None:
    shown = re.findall(r"^\$ neardup (.*)$", PAGE, re.MULTILINE)
    assert len(shown) == 5
    for line in shown:
        name, words = split_command(line.split())
        known = {name for option in COMMANDS[name].options for name in option.spelling}
        assert {word for word in words if word.startswith("-")} <= known, line


def test_the_page_and_the_help_name_every_key_of_the_module() -> None:
    table = MODULE.partition("const SINGLE = {")[2].partition("};")[0]
    keys = set(re.findall(r'^  "?([^\s":]+)"?: ', table, re.MULTILINE)) | set("1234") | {"F7"}
    assert {"j", "k", "u", "/", "?", "]", "["} <= keys
    for key in keys:
        assert f"`{key}`" in PAGE
        assert f'"{key}"' in HELP
