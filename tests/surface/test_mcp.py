"""``neardup mcp``, asked by the client of the official SDK over standard input and output."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

import neardup as nd
from neardup.collection import Collection
from neardup.settings.measures import MEASURES
from support.command_line import Run
from support.messages import has_parts

TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark and quiet wood"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, a collection, and links that lead out."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("nobody may read this")
    folder = tmp_path_factory.mktemp("root")
    lines = [{"id": k, "text": text} for k, text in enumerate([TEXT, f"{TEXT} today", "something else"])]
    (folder / "three.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "a.txt").write_text(TEXT)
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    linked = folder / "linked"
    linked.mkdir()
    (linked / "b.txt").write_text(TEXT)
    (linked / "c.txt").symlink_to(outside / "secret.txt")
    with Collection(folder / "mail.neardup") as collection:
        collection.add([TEXT, f"{TEXT} again", "nothing of that"])
        collection.tag("again", ["#2"])
    return folder


Call = tuple[str, dict[str, Any]]


def answers(folder: Path, calls: list[Call], *options: str) -> tuple[dict[str, Any], list[tuple[bool, Any]]]:
    """The tools by name, and for each call: whether it failed, and its answer or the words of its error."""

    async def ask() -> tuple[dict[str, Any], list[tuple[bool, Any]]]:
        command = ["-m", "neardup", "mcp", "--root", str(folder), *options]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with Client(server) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            found = []
            for name, given in calls:
                answer = await client.call_tool(name, given)
                said: Any = answer.structured_content if not answer.is_error else answer.content[0].text
                found.append((bool(answer.is_error), said))
            return tools, found

    return anyio.run(ask)


def test_an_agent_finds_compares_and_searches_and_is_told_its_mistakes(folder: Path) -> None:
    tools, found = answers(
        folder,
        [
            ("compare", {"a": TEXT, "path_b": "a.txt"}),
            ("find", {"paths": ["three.jsonl"], "column": "text"}),
            ("find", {"texts": [TEXT, TEXT, "else"]}),
            ("search", {"collection": "mail.neardup", "query": "FINGERPRINT:#1_20_80 AND tag:again"}),
            ("find", {"paths": ["linked"]}),
            ("passages", {"collection": "mail.neardup", "id": "#1", "length": 10}),
            ("compare", {"a": TEXT, "path_b": "../outside/secret.txt"}),
            ("compare", {"a": TEXT, "path_b": "link.txt"}),
            ("find", {"paths": ["link.txt"]}),
            ("find", {"paths": ["https://example.org/a.jsonl"]}),
            ("find", {"texts": [TEXT], "threshold": 7}),
            ("find", {}),
            ("search", {"collection": "mail.neardup", "query": "(harbour"}),
            ("search", {"collection": "mail.neardup", "query": "FILE:/etc/passwd_20_80"}),
            ("search", {"collection": "none.neardup", "query": "a"}),
        ],
    )
    assert set(tools) == {"compare", "find", "search", "passages"}
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    parameters = {name: tool.input_schema["properties"] for name, tool in tools.items()}
    assert all(one["description"] for every in parameters.values() for one in every.values())
    assert parameters["find"]["measure"]["enum"] == list(MEASURES)
    (_, same), (_, pairs), (_, copies), (_, hits), (_, linked), (_, quoted) = found[:6]
    assert not any(failed for failed, _ in found[:6])
    assert same["measures"]["resemblance"] == 1
    assert [len(pairs["groups"]), pairs["documents"], pairs["pairs"]] == [1, 3, 1]
    members = pairs["groups"][0]["members"]
    assert [member["similarity"] for member in members] == [1.0, pytest.approx(15 / 16)]
    assert members[0]["first_words"].startswith("the quick brown fox")
    assert (copies["exact_copies"], copies["identical_copies"]) == (1, 1)
    assert [hit["id"] for hit in hits["hits"]] == ["#2"]
    assert linked["documents"] == 1  # the link out of the folder is not followed
    assert [(one["id"], one["tokens"]) for one in quoted["passages"]] == [("#2", 19)]
    refused = found[6:]
    assert all(failed for failed, _ in refused)
    for (_, said), words in zip(
        refused,
        [
            "outside the folders",
            "outside the folders",
            "outside the folders",
            "not a local path",
            "threshold is 7",
            "Neither",
            "bracket is not closed",
            "cannot be read from here",
            "There is no file",
        ],
        strict=True,
    ):
        assert words in said, said
        assert "nobody may read" not in said


def test_a_comparison_says_the_differences_of_characters_and_the_parts_that_differ(folder: Path) -> None:
    for name, sign, image in (("minus", "-5", "one.png"), ("plus", "5", "two.png")):
        (folder / f"{name}.html").write_text(f"<p>The balance is {sign} today<img src={image}>", encoding="utf-8")
    paths = {"path_a": "minus.html", "path_b": "plus.html"}
    _, [(failed, found)] = answers(folder, [("compare", paths)])
    assert not failed
    assert found["not_compared"] == ["images"]
    assert has_parts(found["difference"], "not compared", "images")
    wanted = nd.compare(folder / "minus.html", folder / "plus.html").as_dict()["differences"]
    assert found["differences"] == wanted
    assert [one["kind"] for one in wanted["characters"]] == ["sign or operator"]
    assert found["differences_left_out"] == 0


def test_only_with_write_does_an_agent_change_a_collection(folder: Path) -> None:
    call = ("add", {"collection": "mail.neardup", "id": "new", "text": f"{TEXT} indeed"})
    _, [(failed, said)] = answers(folder, [call])
    assert failed
    assert "add" in said
    tools, [(failed, said)] = answers(folder, [call], "--write")
    assert not failed
    assert tools["add"].annotations.destructive_hint
    assert said["added"] == 1
    assert said["repeats"][0]["of"] in {"#1", "#2"}
    with Collection(folder / "mail.neardup") as collection:
        assert collection.get("new").text == f"{TEXT} indeed"


def test_a_call_has_a_limit_of_bytes(folder: Path) -> None:
    call = ("find", {"texts": ["x" * 2_000, "y"]})
    _, [(failed, said)] = answers(folder, [call], "--largest", "0.001")
    assert failed
    assert "At most 1,000 bytes" in said


def test_wrong_options_are_refused(run: Run, tmp_path: Path) -> None:
    for options, words in (
        (("--root", tmp_path / "none"), "is not a folder"),
        (("--seconds", "0"), "--seconds is 0"),
        (("--largest", "-1"), "--largest is -1"),
    ):
        refused = run("mcp", *options)
        assert refused.status == 2
        assert words in refused.err


def test_a_call_with_a_parameter_that_a_tool_lacks_does_nothing_and_names_the_nearest(folder: Path) -> None:
    known = {
        "compare": {"a": TEXT, "b": TEXT},
        "find": {"texts": [TEXT, TEXT]},
        "search": {"collection": "mail.neardup", "query": "fox"},
        "passages": {"collection": "mail.neardup", "id": "#1"},
        "add": {"collection": "mail.neardup", "id": "with near", "text": TEXT},
    }
    wrong = {"compare": "lenght", "find": "treshold", "search": "limits", "passages": "len", "add": "near"}
    calls = [(name, {**given, wrong[name]: 1}) for name, given in known.items()]
    tools, found = answers(folder, calls, "--write")
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
    for (name, _), (failed, said) in zip(calls, found, strict=True):
        assert failed
        assert has_parts(said, name, wrong[name], "Allowed: ", *tools[name].input_schema["properties"])
    assert ["Did you mean" in said for _, said in found] == [True, True, True, False, False]
    with Collection(folder / "mail.neardup", readonly=True) as collection:
        assert "with near" not in collection


def test_errors_name_the_parameters_of_the_tool_and_none_of_the_command_line(folder: Path) -> None:
    with Collection(folder / "own.neardup") as collection:
        collection.add({"id": ["a"], "text": [TEXT]})
    calls: list[Call] = [
        ("find", {"paths": ["three.jsonl"], "column": "none"}),
        ("find", {"texts": [TEXT], "threshold": "high"}),
        ("find", {"texts": [TEXT], "threshold": 30}),
        ("find", {"texts": [TEXT], "measure": "euclidean"}),
        ("compare", {"a": TEXT, "b": TEXT, "length": 0}),
        ("compare", {"path_a": "three.jsonl#0", "path_b": "a.txt", "column": "none"}),
        ("passages", {"collection": "own.neardup", "id": "a", "length": 0}),
        ("search", {"collection": "own.neardup", "query": "fox", "limit": 0}),
        ("add", {"collection": "own.neardup", "id": "a", "text": "another text"}),
    ]
    _, found = answers(folder, calls, "--write")
    for (name, given), (failed, said) in zip(calls, found, strict=True):
        assert failed, (name, given)
        assert "--" not in said
        assert any(parameter in said for parameter in [*given, "replace"]), said
        assert "errors.pydantic.dev" not in said
    assert "replace" in found[-1][1]
