"""The tools for agents read files below their roots alone, and open nothing else to find that out."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from neardup.cli.agents import MOST, Roots, Tools
from neardup.collection import Collection
from neardup.errors import InputError

TEXT = "the quick brown fox jumps over the lazy dog and runs far away into the dark and quiet wood"
MAIL = f"From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: x\n\n{TEXT}\n\n"

_opened: list[str] | None = None


def _note(event: str, given: tuple[Any, ...]) -> None:
    if _opened is not None and event in ("open", "os.listdir", "os.scandir") and given:
        _opened.append(os.fsdecode(given[0]) if isinstance(given[0], str | bytes | os.PathLike) else "")


sys.addaudithook(_note)  # a hook stays; it notes only while something is watched


@contextmanager
def watched() -> Iterator[list[str]]:
    """The files and folders that are opened meanwhile, with all links followed."""
    global _opened
    _opened = found = []
    try:
        yield found
    finally:
        _opened = None
        found[:] = map(os.path.realpath, filter(None, found))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(f"secret {TEXT}")
    (folder / "secret.jsonl").write_text(json.dumps({"text": "secret"}))
    with zipfile.ZipFile(folder / "secret.zip", "w") as archive:
        archive.writestr("a.txt", f"secret {TEXT}")
    (folder / "secret.mbox").write_text(MAIL)
    with Collection(folder / "secret.neardup") as collection:
        collection.add([TEXT])
    return folder


@pytest.fixture
def tools(tmp_path: Path, outside: Path) -> Tools:
    root = tmp_path / "root"
    (root / "policies" / "old").mkdir(parents=True)
    for name in ("policies/a.txt", "policies/b.txt", "policies/old/c.txt"):
        (root / name).write_text(TEXT)
    with zipfile.ZipFile(root / "policies" / "own.zip", "w") as archive:
        archive.writestr("d[1].txt", TEXT)
    (root / "own.mbox").write_text(MAIL)
    rows = [{"id": f"m{k}", "text": text} for k, text in enumerate([TEXT, f"{TEXT} today"])]
    (root / "mails.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "inner.txt").symlink_to(root / "policies" / "a.txt")
    (root / "folder").symlink_to(outside)
    for name in ("txt", "jsonl", "zip", "mbox", "neardup"):
        (root / f"link.{name}").symlink_to(outside / f"secret.{name}")
    (root / "results").mkdir()
    (root / "results" / "run.json").symlink_to(outside / "secret.jsonl")
    return Tools(Roots.of([root], 10**6), 60)


OUT = [
    "link.txt",
    "link.jsonl",
    "link.jsonl#0",
    "link.zip",
    "link.zip!/a.txt",
    "link.mbox",
    "link.mbox!/1.eml",
    "folder",
    "folder/secret.txt",
    "folder/secret.zip!/a.txt",
    "folder/*.txt",
    "../outside/secret.txt",
    "../outside/secret.zip!/a.txt",
    "../outside/*.txt",
    "policies/../../outside/secret.txt",
    "policies/own.zip!/../../../outside/secret.txt",
    "~/secret.txt",
    "-",
    "/etc/passwd",
    "/etc/pass*",
    "file:///etc/passwd",
    "link.*",
    "*/secret.*",
    "**/secret.*",
    "policies/*/../../folder/*.txt",
    "results",
]


def test_nothing_that_leads_out_is_opened(tools: Tools, outside: Path) -> None:
    for name in OUT:
        for tool, given in ((tools.find, {"paths": [name]}), (tools.compare, {"a": TEXT, "path_b": name})):
            with watched() as opened, pytest.raises(InputError) as refused:
                tool(**given)  # type: ignore[operator]
            assert not [path for path in opened if path.startswith((str(outside), "/etc/"))], name
            assert "secret the" not in str(refused.value), name


def test_a_link_out_is_refused_alike_whether_its_target_exists_or_not(tools: Tools, outside: Path) -> None:
    def said(name: str) -> str:
        with pytest.raises(InputError) as refused:
            tools.find(paths=[name])
        return str(refused.value).replace("gone", "link")

    there = [said("link.zip!/a.txt"), said("../outside/secret.txt").replace("secret", "none")]
    (tools.roots.folders[0] / "gone.zip").symlink_to(outside / "none.zip")
    assert there == [said("gone.zip!/a.txt"), said("../outside/none.txt")]


def test_a_collection_behind_a_link_out_is_not_opened(tools: Tools, outside: Path) -> None:
    with watched() as opened, pytest.raises(InputError, match="outside the folders"):
        tools.search("link.neardup", "fox")
    assert not [path for path in opened if path.startswith(str(outside))]


def test_links_out_in_a_folder_are_left_aside_and_links_inside_are_followed(tools: Tools, outside: Path) -> None:
    (tools.roots.folders[0] / "policies" / "link.zip").symlink_to(outside / "secret.zip")
    with watched() as opened:
        found = tools.find(paths=["policies"])
    assert found["documents"] == 4
    assert not [path for path in opened if path.startswith(str(outside))]
    assert tools.find(paths=["inner.txt", "policies/a.txt"])["documents"] == 2


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("policies/*.txt", 2),
        ("policies/**/*.txt", 3),
        ("**", 7),
        ("*/*.zip", 1),
        ("[m]ails.jsonl", 2),
        ("*.txt", 1),
    ],
)
def test_a_pattern_matches_the_files_below_the_root(tools: Tools, pattern: str, count: int) -> None:
    if pattern == "**":
        (tools.roots.folders[0] / "mails.jsonl").unlink()  # a folder of documents
        count -= 1
    assert tools.find(paths=[pattern])["documents"] == count


def test_texts_are_texts_whether_files_of_their_names_exist_or_not(tools: Tools) -> None:
    there, missing = (tools.find(texts=[name, name]) for name in ("/etc/passwd", "/etc/passwt"))
    assert there["documents"] == missing["documents"] == 2
    assert there["exact_copies"] == missing["exact_copies"] == 1
    assert there["note"] == missing["note"].replace("passwt", "passwd")
    assert "note" not in tools.find(texts=[TEXT, TEXT])


@pytest.mark.parametrize(
    "paths", [["policies"], ["mails.jsonl"], ["own.mbox", "policies"], ["policies/own.zip", "policies"]]
)
def test_the_paths_in_an_answer_are_those_of_the_next_call(tools: Tools, paths: list[str]) -> None:
    (group,) = tools.find(paths=paths)["groups"]
    first, *others = (member["path"] for member in group["members"])
    assert others
    for other in others:
        measured = tools.compare(path_a=first, path_b=other)["measures"]
        assert measured["resemblance"] > 0.8
    if "mails.jsonl" in paths:
        assert {member["id"]: member["path"] for member in group["members"]} == {
            "m0": "mails.jsonl#0",
            "m1": "mails.jsonl#1",
        }
    else:
        assert [member["id"] for member in group["members"]] == [first, *others]


def test_a_text_that_is_a_path_is_refused_with_the_parameter_to_use(tools: Tools) -> None:
    for name in ("x.html", "/etc/passwd", "policies", "policies/a.txt", "mails.jsonl#0", "none.zip!/a"):
        with pytest.raises(InputError, match="path_b"):
            tools.compare(a=TEXT, b=name)


def test_a_short_text_is_compared_as_a_text(tools: Tools) -> None:
    assert tools.compare(a="and/or", b="and/or")["measures"]["resemblance"] == 1
    assert tools.compare(a="x.html ", b=".")["measures"]["resemblance"] == 0
    assert tools.compare(a="a/" * 100_000, b="a")["measures"]["resemblance"] == 0


def test_the_measures_are_few_unless_all_are_asked_for(tools: Tools) -> None:
    few, all_ = (
        tools.compare(a=TEXT, b=f"{TEXT} now", all_measures=wanted)["measures"] for wanted in (False, True)
    )
    assert set(few) < set(all_)
    assert {"resemblance", "containment_a", "containment_b"} <= set(few)
    assert "minhash" in all_


def test_a_search_has_no_limit_of_bytes(tools: Tools) -> None:
    root = tools.roots.folders[0]
    with Collection(root / "own.neardup") as collection:
        collection.add([TEXT, f"{TEXT} again"])
    small = Tools(Roots.of([root], 1_000), 60)
    assert small.search("own.neardup", "fox")["hits"]
    with pytest.raises(InputError, match="no file"):
        small.search("own.neardup!/x", "fox")


def test_an_answer_has_the_largest_groups_and_the_number_of_the_others() -> None:
    texts = [" ".join(f"{k}word{n}" for n in range(9)) for k in range(MOST + 3) for _ in range(2)]
    answer = Tools(Roots.of([], 1 << 20), 60.0).find(texts=texts)
    assert (len(answer["groups"]), answer["groups_left_out"]) == (MOST, 3)
