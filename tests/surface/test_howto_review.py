"""The page on reviews: its commands have the options it names, and its keys are those of the module."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

from markupsafe import escape

import neardup.review.live as room
from neardup.cli.commands import COMMANDS
from neardup.review.desk.desk import Desk
from neardup.review.live.app import served_file
from neardup.review.source import Reviewed
from support.command_line import split_command
from support.live_pages import live
from support.made_reviews import make_result
from support.paths import DOCS

PAGE = (DOCS / "howto" / "review.md").read_text(encoding="utf-8")
ROOM = Path(room.__file__).parent
MODULE = (ROOM / "review.js").read_text(encoding="utf-8")
TEMPLATES = "".join(file.read_text(encoding="utf-8") for file in sorted((ROOM / "templates").glob("*.html")))

NAMES = {"ArrowDown": "↓", "ArrowUp": "↑", "Escape": "Esc"}


def test_every_command_has_the_options_it_is_shown_with() -> None:
    shown = re.findall(r"^\$ neardup (.*)$", PAGE, re.MULTILINE)
    assert len(shown) == 5
    for line in shown:
        name, words = split_command(line.split())
        known = {name for option in COMMANDS[name].options for name in option.spelling}
        assert {word for word in words if word.startswith("-")} <= known, line


def commands() -> dict[str, dict[str, Any]]:
    """The table of keys that the module reads."""
    served = served_file("keys.js").decode()
    table: dict[str, dict[str, Any]] = json.loads(
        served.removeprefix("export const COMMANDS = ").removesuffix(";")
    )
    return table


def test_the_page_names_every_key() -> None:
    assert len(commands()) > 20
    for command in commands().values():
        for key in command["on"]:
            assert f"`{NAMES.get(key, key)}`" in PAGE, key


def test_every_command_has_keys_of_its_own_an_act_and_words_for_nothing() -> None:
    keys = [key for command in commands().values() for key in command["on"]]
    assert len(keys) == len(set(keys))
    named = MODULE.partition("const ACTS = {")[2].partition("\n};")[0]
    acts = set(re.findall(r'"?([a-z-]+)"?(?:: \(|[,:])', named))
    verdicts = {verdict.replace(" ", "-") for verdict in Reviewed("", "", 0.0, False, 0, 0).verdicts}
    pressed = set(re.findall(r'(?:commands\.does\(|data-do=)"([a-z-]+)"', TEMPLATES))
    assert {"note", "tag", "next-line"} <= acts
    assert {"undo", "back", "next-undecided"} <= pressed
    assert pressed <= set(commands())
    for name, command in commands().items():
        assert name in acts | pressed | verdicts or command.get("own"), name
        assert command.get("own") or name == "leave" or command["nothing"].endswith("."), name


def test_the_page_about_keys_has_every_command(tmp_path: Path) -> None:
    assert 'import { COMMANDS } from "./keys.js";' in MODULE
    made = make_result(tmp_path, {"a": "one two three four", "b": "one two three four five"})
    with closing(Desk.open(made)) as desk, live(desk) as pages:
        page = pages.get("/keys").text
    for command in commands().values():
        assert str(escape(command["does"])) in page
