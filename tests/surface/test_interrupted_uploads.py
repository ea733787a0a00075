"""Uploads to an object store that are killed, or that meet another one: no reader sees half a result."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import neardup as nd
from neardup.errors import InputError, OutputError
from neardup.io.storage.systems import filesystem
from neardup.io.writers.object_stores import UNFINISHED, RemoteOutput
from support import storage_servers
from support.command_line import BASE, NEAR, ROWS, Run, run_json, write_rows
from support.messages import has_parts
from support.served import ask, running

COMMAND = [sys.executable, "-c", "from neardup.cli import main; main()"]


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[storage_servers.Relay]:
    for name, value in storage_servers.S3_KEYS.items():
        monkeypatch.setenv(name, value)
    with storage_servers.relaying(storage_servers.Relay(storage_servers.s3())) as relay:
        monkeypatch.setenv("AWS_ENDPOINT_URL", relay.url)
        yield relay
        relay.passing.set()


def names_at(url: str) -> set[str]:
    return set(RemoteOutput(url).names())


BIG = [{"id": f"d{number}", "text": random.Random(number).randbytes(8000).hex()} for number in range(1500)]
"""Rows whose kept file has more than one part of a multipart upload: 24 MB."""


@pytest.mark.parametrize("options", [(), ("--resume",)])
@pytest.mark.parametrize(
    ("rows", "moment"),
    [
        (ROWS, re.compile(r"(PUT|POST) .*/out/(texts\.parquet|kept/b\.jsonl)")),
        (BIG, re.compile(r"PUT .*/out/kept\.jsonl\?.*partNumber=2")),
    ],
    ids=["between two files", "amid the parts of a file"],
)
def test_a_run_that_is_killed_while_it_uploads(
    options: tuple[str, ...],
    rows: list[dict[str, Any]],
    moment: re.Pattern[str],
    relay: storage_servers.Relay,
    run: Run,
    tmp_path: Path,
) -> None:
    given, out = write_rows(tmp_path / "in.jsonl", rows), f"s3://box/{tmp_path.name}/out"
    relay.delayed = moment
    command = subprocess.Popen([*COMMAND, "dedup", str(given), "-o", out, *options], stderr=subprocess.DEVNULL)
    assert relay.reached.wait(120)
    command.kill()
    command.wait()
    relay.passing.set()
    assert UNFINISHED in names_at(out)
    assert "manifest.json" not in names_at(out)
    assert ("kept.jsonl" in names_at(out)) == (rows is ROWS)
    with pytest.raises(InputError, match="not whole"):
        nd.load(out)
    assert has_parts(run("show", out, "a").err, out, "not whole")
    again = run("dedup", given, "-o", out, *options)
    assert again.status == 0, again.err
    assert UNFINISHED not in names_at(out)
    assert nd.load(out).run.counts.removed == (2 if rows is ROWS else 0)
    system, path = filesystem(f"{out}/kept.jsonl")
    assert set(system.cat_file(path).splitlines()) <= set(given.read_bytes().splitlines())
    assert run("verify", out).status == 0


def test_a_file_is_the_old_one_until_all_parts_of_the_new_one_are_there(
    relay: storage_servers.Relay, tmp_path: Path
) -> None:
    url = f"s3://box/{tmp_path.name}/groups.csv"
    RemoteOutput(url).put(write_rows(tmp_path / "old", ROWS))
    old, new = (tmp_path / "old").read_bytes(), write_rows(tmp_path / "new", BIG)
    code = "from neardup.io.writers.object_stores import RemoteOutput\n"
    code += "import pathlib, sys; RemoteOutput(sys.argv[1]).put(pathlib.Path(sys.argv[2]))"
    words = [sys.executable, "-c", code, url, str(new)]
    system, path = filesystem(url)
    relay.delayed = re.compile(r"PUT .*partNumber=2")
    upload = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    assert relay.reached.wait(120)
    upload.kill()
    upload.wait()
    relay.passing.set()
    assert system.cat_file(path) == old
    subprocess.run(words, check=True)
    assert system.cat_file(path) == new.read_bytes()


def made_result(folder: Path, text: str) -> Path:
    rows = [{"id": name, "text": f"{one} {text}"} for name, one in zip("ab", (BASE, NEAR), strict=True)]
    found = nd.find(write_rows(folder / f"{text}.jsonl", rows))
    found.save(folder / text)
    return folder / text


def test_two_uploads_to_one_place(relay: storage_servers.Relay, tmp_path: Path) -> None:
    """The first is delayed before its last table, while the second puts all files and ends."""
    first, second = made_result(tmp_path, "first"), made_result(tmp_path, "second")
    out = f"s3://box/{tmp_path.name}/out"
    relay.delayed = re.compile(rf"(GET|HEAD) .*/out/{UNFINISHED}")
    with ThreadPoolExecutor() as pool:
        delayed = pool.submit(RemoteOutput(out, 0).put, first)
        assert relay.reached.wait(60)
        RemoteOutput(out).put(second)
        relay.passing.set()
        with pytest.raises(OutputError, match="another run"):
            delayed.result()
    system, path = filesystem(out)
    for file in second.iterdir():
        assert system.cat_file(f"{path}/{file.name}") == file.read_bytes()
    assert nd.load(out).groups == nd.load(second).groups


def test_a_result_that_is_being_replaced_is_absent(relay: storage_servers.Relay, tmp_path: Path) -> None:
    first, second = made_result(tmp_path, "first"), made_result(tmp_path, "second")
    out = f"s3://box/{tmp_path.name}/out"
    RemoteOutput(out).put(first)
    relay.delayed = re.compile(r"(PUT|POST) .*/out/ranks\.parquet")
    with ThreadPoolExecutor() as pool:
        later = pool.submit(RemoteOutput(out, 0).put, second)
        assert relay.reached.wait(60)
        with pytest.raises(InputError, match="not whole"):  # the earlier one is gone, the later not there
            nd.load(out)
        relay.passing.set()
        later.result()
    assert run_json(second)["inputs"] == nd.load(out).run.inputs


KEEP_BOTH = {"asked": "pair", "a": 1, "b": 0, "seen": 0, "verdict": "keep both"}


def test_a_review_at_a_url_puts_its_decisions_there(relay: storage_servers.Relay, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra service is not installed")
    out = f"s3://box/{tmp_path.name}/out"
    RemoteOutput(out).put(made_result(tmp_path, "reviewed"))
    with running("review", out, "--by", "Eve") as (host, lines):
        assert ask(host, "POST", "/decide", KEEP_BOTH)[0] == 303
        assert "decisions.sqlite" not in names_at(out)  # they are put at the end
    assert has_parts(lines[-1], "1 action", f"neardup apply {out}")
    assert "decisions.sqlite" in names_at(out)
    machine = tmp_path / "other machine"
    machine.mkdir()
    words = [*COMMAND, "export", out, "-o", "-", "--format", "jsonl", "--what", "decisions"]
    exported = subprocess.run(words, env={**os.environ, "TMPDIR": str(machine)}, capture_output=True, check=True)
    assert json.loads(exported.stdout)["by"] == "Eve"


def test_decisions_of_a_review_that_was_killed_are_put_by_the_next_command(
    relay: storage_servers.Relay, run: Run, tmp_path: Path
) -> None:
    pytest.importorskip("uvicorn", reason="the extra service is not installed")
    out = f"s3://box/{tmp_path.name}/out"
    RemoteOutput(out).put(made_result(tmp_path, "reviewed"))
    with running("review", out, "--by", "Eve", ending=signal.SIGKILL) as (host, _):
        assert ask(host, "POST", "/decide", KEEP_BOTH)[0] == 303
    assert "decisions.sqlite" not in names_at(out)
    assert run("show", out, "a").status == 0
    assert "decisions.sqlite" in names_at(out)
