"""Messages of errors: the command line names options, Python keywords."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import neardup as nd
from neardup.errors import NeardupError, in_python
from neardup.io.decisions.tag_files import read_rows
from support.messages import has_parts


def test_python_names_keywords_and_the_command_line_options() -> None:
    error = NeardupError(
        "--method is 'fast'", "exact or lsh", "Raise --ignore-common, or give --id (id= in Python)"
    )
    assert str(error) == "method is 'fast'. Allowed: exact or lsh. Try: Raise ignore_common, or give id=."
    assert "--method" in error.lines()
    assert "--ignore-common" in error.lines()
    rows = [{"key": "a", "text": "some words"}]
    with pytest.raises(nd.InputError) as caught:
        nd.find(rows, text="body")
    assert "--" not in str(caught.value)
    assert "--text" in caught.value.lines()


@pytest.mark.parametrize("package", ["numpy", "pyarrow"])
def test_a_missing_core_package_is_named_with_the_platforms(package: str) -> None:
    """On Windows on ARM, for example, pip finds no wheel of pyarrow."""
    code = f"import sys; sys.modules[{package!r}] = None; "
    door = subprocess.run(
        [sys.executable, "-c", code + "import neardup; neardup.find(['a'])"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert has_parts(door.stderr.splitlines()[-1], "ImportError", package, "glibc", "pip install")
    command = code + "sys.argv = ['neardup', 'demo']; from neardup.cli import main; main()"
    typed = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert typed.returncode == 2
    assert has_parts(typed.stderr, "error: The package", package, "glibc", "pip install")


@pytest.mark.parametrize(
    "text", ["Run neardup apply OUT -o DIR, and look", "a--b", "pages --- and --", "pip install x--y"]
)
def test_commands_and_dashes_stay(text: str) -> None:
    assert in_python(text) == text


def test_a_nested_tag_is_an_error_in_words(tmp_path: Path) -> None:
    path = tmp_path / "tags.jsonl"
    path.write_text('{"id": "a", "tags": ' + "[" * 50_000 + "]" * 50_000 + "}\n")
    with pytest.raises(nd.InputError, match="as jsonl"):
        list(read_rows(path, "jsonl"))


@pytest.mark.parametrize(
    ("given", "public"),
    [
        ("There is no document 'a/1' in /srv/mails/c.neardup", "There is no document 'a/1' in …"),
        ("/srv/my mails/c.neardup: it is damaged", "…: it is damaged"),
        ('There is no column "text/plain" in C:\\data\\a b.csv', 'There is no column "text/plain" in …'),
        ("Cannot read s3://bucket/secret/key.parquet: denied", "Cannot read …: denied"),
        ("It is not '/home/ann/in.jsonl' but another", "It is not '…' but another"),
        ("out/kept.jsonl and ~/notes exist (both)", "… and … (both)"),
        ("Text and/or ids, 1/2 of all", "Text and/or ids, 1/2 of all"),
        ("No shard at postgresql://ann@db:5432/mails", "No shard at …"),
    ],
)
def test_public_words_hold_no_path(given: str, public: str) -> None:
    error = NeardupError(given, "Not /etc/passwd", "neardup collection check /srv/c.neardup")
    assert error.public() == {"given": public, "allowed": "Not …", "do": "neardup collection check …"}
