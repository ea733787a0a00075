"""Only object stores hold outputs and results: any other URL is refused before any work, by every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import neardup
from neardup.cli.commands import COMMANDS
from neardup.cli.option import OUTPUT_AT_URL, REQUIRED, Option, options_of
from support.command_line import ROWS, Run

URLS = [
    "hdfs://host:9000/a b",
    "https://host/x",
    "memory://x",
]
STORES = ["s3://bucket/out", "gs://bucket/out", "az://box/out"]


def paths() -> Iterator[tuple[str, Option]]:
    """Yield every option that names a file or folder that is written, with its command."""
    for command, record in ((name, one.record) for name, one in COMMANDS.items()):
        types = get_type_hints(record)
        for option in options_of(record):
            kind = types.get(option.name)
            if (kind is Path or Path in get_args(kind)) and option.at_url in ("", OUTPUT_AT_URL):
                yield command, option


def typed(command: str, asked: Option, url: str) -> list[str]:
    """Return a command line with a URL in one option and a word in all required ones."""
    words = command.split()
    for option in options_of(COMMANDS[command].record):
        value = url if option.name == asked.name else "nothing"
        if not option.spelling:
            words.append(value)
        elif option.default is REQUIRED or option.name == asked.name:
            words += [option.spelling[-1], value]
    return words


@pytest.mark.parametrize(("command", "option"), list(paths()), ids=lambda value: getattr(value, "name", value))
def test_a_url_is_refused_where_a_path_is_needed(
    command: str, option: Option, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    urls = URLS if option.at_url else [*URLS, *STORES]
    url = urls[len(command + option.name) % len(urls)]
    result = run(*typed(command, option, url))
    assert result.status == 2
    assert f"{url} is a URL" in result.err
    assert not list(tmp_path.iterdir())


def test_all_kinds_of_paths_are_among_them() -> None:
    known = {(command, option.name) for command, option in paths()}
    assert {
        ("dedup", "out"),
        ("merge", "out"),
        ("collection add", "path"),
        ("report", "page"),
        ("export", "file"),
    } <= known


@pytest.mark.parametrize("url", URLS)
def test_dedup_writes_no_folder_with_the_name_of_a_url(
    url: str, run: Run, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("dedup", mails, "-o", url)
    assert result.status == 2
    assert f"{url} is a URL" in result.err
    assert [path.name for path in tmp_path.iterdir()] == [mails.name]


def test_urls_are_refused_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = neardup.find([str(row["text"]) for row in ROWS])
    with neardup.Collection(tmp_path / "a.neardup") as mails:
        for ask, url in ((found.save, "https://host"), (neardup.Collection, "s3://a"), (mails.backup, "s3://b")):
            with pytest.raises(neardup.OutputError, match=f"{url}/out is a URL"):
                ask(f"{url}/out")  # type: ignore[operator]
    assert not (tmp_path / "s3:").exists()


def test_a_drive_and_a_name_with_a_colon_are_paths() -> None:
    from neardup.io.place import require_local

    for path in ("C:/data/out", "C:\\data\\out", "./s3:/x", "/data/s3:/x", "out:1", "-", "a/http:b"):
        require_local(path)
