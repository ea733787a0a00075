"""Documentation is tested: the pages list everything the program offers, and everything they list exists."""

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import neardup
from neardup.cli.commands import COMMANDS
from neardup.cli.help import page as help_page
from neardup.cli.option import REQUIRED
from neardup.collection import arrivals, documents, pages, search
from neardup.collection import records as collection_records
from neardup.comparison.alignment import Alignment
from neardup.comparison.walkthrough.explanation import Explanation
from neardup.deduplication.run import records as run_groups
from neardup.deduplication.run.findings import Found
from neardup.deduplication.run.places import Outside
from neardup.display.view import PlainData, Public
from neardup.settings import FIELDS
from neardup.settings.measures import MEASURES
from neardup.text.lsh.hamming import HammingPairs
from neardup.text.lsh.hamming_tables import Design, HammingPlan
from neardup.text.sketch.families import Signature
from neardup.text.sketch.minhash import MinHashSketch
from neardup.text.sketch.provenance import Estimate
from neardup.text.sketch.samples import Sample, Samples
from neardup.text.sketch.signatures import Signatures
from neardup.text.units import Units
from support.command_line import split_command
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import make_site

REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "neardup"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

CLASSES = [name for name in neardup.__all__ if isinstance(getattr(neardup, name), type)]
RETURNED: dict[str, tuple[type, ...]] = {
    "Groups and decisions of a run": (
        run_groups.Group,
        run_groups.Member,
        run_groups.Shared,
        run_groups.Decision,
        run_groups.NotJudged,
        run_groups.Looked,
        Outside,
    ),
    "Units": (Units,),
    "Alignment": (Alignment,),
    "Documents added and stored": (
        collection_records.Added,
        collection_records.GroupedPending,
        arrivals.NearCopy,
        documents.Document,
        documents.DocumentPage,
        documents.ListedDocument,
    ),
    "Pages of hits": (pages.Page, pages.Hit, pages.HitEvidence, pages.Passage, search.WhyNot, search.Cause),
    "Groups and decisions of a collection": (
        collection_records.GroupPage,
        collection_records.StoredGroup,
        collection_records.StoredMember,
        collection_records.PairDecision,
        collection_records.Change,
    ),
    "Explanation": (Explanation,),
    "MinHashSketch and Estimate": (MinHashSketch, Estimate),
    "Samples and Sample": (Samples, Sample),
    "Signature": (Signature,),
    "Signatures": (Signatures,),
    "hamming_pairs": (HammingPairs,),
    "hamming_plan": (HammingPlan, Design),
}
"""Types that calls return, by the section of the page that lists their members."""


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def found() -> Found:
    text = " ".join(f"word{number}" for number in range(60))
    return neardup.find([text, text + " more", text], audit=2)


def test_made_pages_are_up_to_date() -> None:
    script = ROOT / "scripts" / "make_reference_pages.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_is_documented(name: str) -> None:
    assert f"| `{name}` |" in page("settings.md")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(command: str) -> None:
    section = page("cli.md").partition(f"## neardup {command}\n")[2].partition("\n## ")[0]
    shared = page("cli.md").partition("## Options of several commands\n")[2]
    for option in COMMANDS[command].options:
        if f"| `{option.shown}` |" not in section:
            assert f"`{option.spelling[-1]}`" in section
            described = f"| `{option.name}` |" in page("settings.md"), f"| `{option.shown}` |" in shared
            assert any(described), option.shown
        assert option.help
    for name, reason in COMMANDS[command].record.WITHOUT.items():
        assert f"No `--{name}`: {reason}" in section


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_documented_option(command: str) -> None:
    named = set(re.findall(r"--?[\w-]+", help_page(command, 78, every=True)))
    assert {name for option in COMMANDS[command].options for name in option.spelling} <= named


@pytest.mark.parametrize("name", neardup.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert (
        f"`{name}`" in page("python.md") or f"## {name}" in page("python.md") or f" {name}\n" in page("python.md")
    )


def sections() -> dict[str, str]:
    """The sections of the page on Python by their headings, each up to the next heading."""
    parts = re.split(r"^#{2,3} ", page("python.md"), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part for part in parts}


def listed(section: str) -> set[str]:
    """The names in the first column of the tables: `name`, `.name(…)`, `Class.name` or `object.name`."""
    names: set[str] = set()
    for row in re.findall(r"^\| (`.*)$", section, flags=re.MULTILINE):
        cell = re.split(r"(?<!\\)\|", row)[0]
        for code in re.findall(r"`([^`]+)`", cell):
            names |= set(re.findall(r"(?:^|\.)(\w+)", code))
    return names


def public_members(kind: type) -> set[str]:
    """Methods, properties, fields, and attributes that a method assigns, those of base classes included."""
    names: set[str] = set()
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "neardup" and base.__module__ != Public.__module__:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
            attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
            assigned = [node for node in attributes if isinstance(node.ctx, ast.Store)]
            names |= {node.attr for node in assigned if ast.unparse(node.value) == "self"}
            names |= {*vars(base), *inspect.get_annotations(base)}
    return {name for name in names if not name.startswith("_")} - {*dir(ValueError)}


@pytest.mark.parametrize(
    "kind",
    [kind for kind in (getattr(neardup, name) for name in CLASSES) if not issubclass(kind, neardup.NeardupError)]
    + [kind for kinds in RETURNED.values() for kind in kinds],
    ids=lambda kind: kind.__name__,
)
def test_every_public_class_has_a_text_a_view_and_a_record_plain_data(kind: type) -> None:
    assert kind.__repr__ is not object.__repr__
    assert issubclass(kind, Public)
    assert not dataclasses.is_dataclass(kind) or issubclass(kind, PlainData)


@pytest.mark.parametrize("name", CLASSES)
def test_every_member_of_a_public_class_is_documented(name: str) -> None:
    kind = getattr(neardup, name)
    title = "Errors" if issubclass(kind, neardup.NeardupError) else name
    [section] = [text for heading, text in sections().items() if re.search(rf"\b{title}\b", heading)]
    assert not public_members(kind) - listed(section)


@pytest.mark.parametrize("heading", RETURNED)
def test_every_member_of_a_returned_type_is_documented(heading: str) -> None:
    members = {name for kind in RETURNED[heading] for name in public_members(kind)}
    assert not members - listed(sections()[heading])


def test_keys_of_the_run_are_documented(found: Found) -> None:
    text = page("files.md").partition("## run.json")[2]
    plain = found.run.as_dict()
    parts = ("counts", "bytes", "large_buckets", "chaining", "recall", "audit")
    keys = [*plain, *(key for part in parts for key in plain[part])]
    assert not [key for key in keys if f"`{key}`" not in text]
    json.dumps(plain)


@pytest.mark.parametrize("name", ["pairs", "groups", "copies", "ranks"])
def test_columns_of_the_tables_are_documented(found: Found, name: str) -> None:
    section = page("files.md").partition(f"## {name}.parquet")[2].partition("\n## ")[0]
    table: Any = getattr(found, name)
    assert isinstance(table, pa.Table)
    assert not [column for column in table.column_names if f"`{column}`" not in section]


@pytest.mark.parametrize("measure", MEASURES)
def test_columns_of_every_measure_are_documented(measure: str) -> None:
    section = page("files.md").partition("## pairs.parquet")[2].partition("\n## ")[0]
    names = neardup.find(["one text"], measure=measure).pairs.column_names
    assert not [column for column in names if f"`{column}`" not in section]


def test_commands_of_the_readme_exist() -> None:
    for line in re.findall(r"^(?:\$ )?neardup (.*)$", read("README.md"), flags=re.MULTILINE):
        words = line.partition("  #")[0].split()
        command, _ = split_command(words)
        command = command if command in COMMANDS else "look"  # inputs without a command
        known = {name for option in COMMANDS[command].options for name in option.spelling}
        assert {word for word in words if word.startswith("-")} <= known, line


def blocks_of(path: Path) -> str:
    """The fenced blocks of a page or of the texts of a notebook, a command on one line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    blocks = re.findall(r"^ *```[a-z]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return re.sub(r"\\\n\s*", " ", "\n".join(blocks))


def test_commands_on_all_pages_have_what_they_require_and_nothing_unknown() -> None:
    seen = 0
    for path in [*PAGES, *(ROOT / "docs" / "notebooks").glob("*.ipynb")]:
        for line in re.findall(r"^(?:\$ )?neardup (.*)$", blocks_of(path), flags=re.MULTILINE):
            command, words = split_command(line.partition("  #")[0].split())
            if command in COMMANDS:
                seen += 1
                given = {word.partition("=")[0] for word in words if word.startswith("-")}
                every = [*COMMANDS[command].options, *COMMANDS[command].log_options]
                options = [set(option.spelling) for option in every if option.spelling]
                required = [
                    set(o.spelling) for o in COMMANDS[command].options if o.spelling and o.default is REQUIRED
                ]
                assert {name for name in given if name.startswith("--")} <= set().union(*options), (path, line)
                assert all(names & given for names in required), (path, line)
    assert seen > 100


def test_changelog_has_the_version() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert f"## [{version}]" in read("CHANGELOG.md")


def test_every_room_is_on_the_map() -> None:
    rooms = {path.name + "/" * path.is_dir() for path in SOURCE.iterdir() if not path.name.startswith(("_", "."))}
    rooms = {room for room in rooms if room.endswith((".py", "/"))}
    on_map = set(re.findall(r"^\*\*(\S+)\*\*", read("ARCHITECTURE.md"), flags=re.MULTILINE))
    assert rooms == on_map


READERS = ("Reviewer", "Engineer", "Store owner", "Learner")


def test_the_sidebar_begins_with_the_paths_of_four_readers_and_has_every_page() -> None:
    found = dict(make_site.parts_of_index())
    assert tuple(found)[:4] == READERS
    assert all(2 <= len(found[reader]) <= 5 for reader in READERS)
    assert found["Reviewer"][0] == "tutorial/first-dedup"
    listed = [page for pages in found.values() for page in pages]
    folders = ("tutorial", "howto", "reference", "explanation")
    pages = [f"{name}/{path.stem}" for name in folders for path in (ROOT / "docs" / name).glob("*.md")]
    assert sorted(listed) == sorted(pages)


@cache
def anchors(path: Path) -> set[str]:
    """The names of the headings of a page in links, as the site and the pages of a repository make them."""
    prose = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    )
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_a_page_and_a_heading(path: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            name, _, heading = target.partition("#")
            page = path.parent / name if name else path
            assert page.exists(), target
            assert not heading or page.suffix != ".md" or heading in anchors(page), target
