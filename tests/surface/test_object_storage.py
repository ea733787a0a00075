"""Inputs and outputs in object stores, of moto and of an emulator of Google Cloud Storage as processes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import neardup as nd
from neardup.io.storage.systems import filesystem
from neardup.io.writers.mirrors import Mirror
from neardup.io.writers.object_stores import UNFINISHED
from support import storage_servers
from support.command_line import Run
from support.storage_servers import put_object

WORDS = "the quick brown fox jumps over the lazy dog and runs far away from the old grey house"
ROWS = [{"id": f"d{n}", "text": f"{WORDS} number {n % 7} of them"} for n in range(40)]


@pytest.fixture(params=["s3", "gs", "az"])
def box(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty folder in a bucket of a server."""
    if request.param == "gs":
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", storage_servers.gcs())
        return f"gs://box/{tmp_path.name}"
    if request.param == "az":
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", storage_servers.azure())
        return f"az://box/{tmp_path.name}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", storage_servers.s3())
    for name, value in storage_servers.S3_KEYS.items():
        monkeypatch.setenv(name, value)
    return f"s3://box/{tmp_path.name}"


def jsonl(rows: list[dict[str, str]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_files_folders_and_patterns_are_read(box: str) -> None:
    put_object(f"{box}/in/a.jsonl", jsonl(ROWS[:20]))
    put_object(f"{box}/in/b.jsonl", jsonl(ROWS[20:]))
    expected = nd.find([row["text"] for row in ROWS]).run.counts.removed
    for name in (f"{box}/in", f"{box}/in/*.jsonl"):
        assert nd.find(name).run.counts.removed == expected > 0
    assert nd.find(f"{box}/in/a.jsonl").run.counts.read == 20


def test_what_is_missing_is_said_in_words(box: str, run: Run) -> None:
    for name in (f"{box}/none.jsonl", f"{box}/none/*.jsonl"):
        result = run("dedup", name, "--dry-run")
        assert result.status == 2
        assert name in result.err
        assert "secret-of-the-test" not in result.err


def names_at(url: str) -> list[str]:
    system, path = filesystem(url)
    return sorted(name[len(path) + 1 :] for name in system.find(path))


def test_a_result_is_written_read_and_replaced_there(box: str, run: Run, tmp_path: Path) -> None:
    put_object(f"{box}/in/a.jsonl", jsonl(ROWS))
    here = run("dedup", f"{box}/in/a.jsonl", "-o", tmp_path / "here")
    there = run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out")
    assert (here.status, there.status) == (0, 0)
    assert names_at(f"{box}/out") == sorted(path.name for path in (tmp_path / "here").iterdir())
    assert f"{box}/out: copies.parquet" in there.out
    system, path = filesystem(f"{box}/out/kept.jsonl")
    assert system.cat_file(path) == (tmp_path / "here" / "kept.jsonl").read_bytes()
    again = run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out")
    assert again.status == 2
    assert f"{box}/out exists" in again.err
    assert run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out", "--overwrite").status == 0
    assert nd.load(f"{box}/out").run.counts == nd.load(tmp_path / "here").run.counts
    nd.load(tmp_path / "here").save(f"{box}/saved")
    assert nd.load(f"{box}/saved").groups == nd.load(tmp_path / "here").groups
    for words in (["show", f"{box}/out", "d0"], ["verify", f"{box}/out"], ["compare", f"{box}/out", "d0", "d7"]):
        result = run(*words)
        assert (result.status, "/fetched/" in result.out) == (3 if words[0] == "verify" else 0, False), result.err
    for command, name in (("report", "page.html"), ("export", "groups.csv")):
        assert run(command, f"{box}/out", "-o", f"{box}/{name}").status == 0
        assert names_at(box).count(name) == 1
        assert run(command, f"{box}/out", "-o", f"{box}/{name}").status == 2
    assert run("compare", f"{box}/in/a.jsonl#0", f"{box}/in/a.jsonl#1").status == 0


def test_only_results_are_replaced(box: str, run: Run) -> None:
    put_object(f"{box}/in/a.jsonl", jsonl(ROWS))
    put_object(f"{box}/out/mine.txt", b"mine")
    result = run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out", "--overwrite")
    assert result.status == 2
    assert f"error: {box}/out" in result.err
    assert names_at(f"{box}/out") == ["mine.txt"]


def test_decisions_about_a_result_are_put_beside_it(box: str, run: Run, tmp_path: Path) -> None:
    put_object(f"{box}/in/a.jsonl", jsonl(ROWS))
    assert run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out").status == 0
    (tmp_path / "tags.csv").write_text("id,tags\nd7,keep\n")
    imported = run("import", f"{box}/out", tmp_path / "tags.csv", "--by", "ann")
    assert imported.status == 0, imported.err
    assert "decisions.sqlite" in names_at(f"{box}/out")
    applied = run("apply", f"{box}/out", "-o", f"{box}/applied")
    assert applied.status == 2
    assert "recorded" in applied.err or "URL" in applied.err


def test_parts_are_fingerprinted_merged_and_grown_there(box: str, run: Run, tmp_path: Path) -> None:
    key = tmp_path / "key"
    assert run("fingerprint", "--new-key", key).status == 0
    for number in range(2):
        put_object(f"{box}/in/{number}.jsonl", jsonl(ROWS[number * 20 : number * 20 + 20]))
        words = ["fingerprint", f"{box}/in/{number}.jsonl", "-o", f"{box}/fp/part-{number}"]
        assert run(*words).status == 2
        assert run(*words, "--key", key).status == 0
    merged = run("merge", f"{box}/fp", "--key", key, "-o", f"{box}/merged", "--json")
    assert merged.status == 0, merged.err
    expected = nd.find([row["text"] for row in ROWS]).run.counts.removed
    assert json.loads(merged.out)["counts"]["removed"] == expected
    put_object(
        f"{box}/in/new.jsonl", jsonl([{"id": "n", "text": ROWS[3]["text"]}, {"id": "m", "text": "all new " * 30}])
    )
    grown = run(
        "dedup",
        f"{box}/in/new.jsonl",
        "--against",
        f"{box}/fp",
        "--update",
        f"{box}/fp",
        *("--key", key, "-o", f"{box}/day1", "--json"),
    )
    assert grown.status == 0, grown.err
    assert json.loads(grown.out)["counts"]["removed"] == 1
    assert len([name for name in names_at(f"{box}/fp") if name.endswith("fingerprints.json")]) == 3
    system, path = filesystem(f"{box}/fp")
    for name in names_at(f"{box}/fp"):
        if name.startswith("part-0/"):  # which is not retained
            system.rm_file(f"{path}/{name}")
    again = ["dedup", f"{box}/in/0.jsonl", "--against", f"{box}/fp", "--key", key, "--dry-run", "--json"]
    assert json.loads(run(*again).out)["counts"]["read"] == 20


def test_an_upload_that_fails_leaves_nothing_that_reads_as_a_result(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in storage_servers.S3_KEYS.items():
        monkeypatch.setenv(name, value)
    box = f"s3://box/{tmp_path.name}"
    with storage_servers.relaying(storage_servers.Relay(storage_servers.s3())) as relay:
        monkeypatch.setenv("AWS_ENDPOINT_URL", relay.url)
        put_object(f"{box}/in/a.jsonl", jsonl(ROWS))
        relay.refused = re.compile(r"(PUT|POST) .*/out/run\.json")
        failed = run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out", "--resume")
        assert failed.status == 2
        assert f"{box}/out" in failed.err
        assert S3_SECRET not in failed.err
        whole = re.search(r"whole in (\S+)", failed.err.replace("\n", " "))
        assert whole
        assert nd.load(whole[1]).run.counts.read == len(ROWS)
        assert UNFINISHED in names_at(f"{box}/out")
        assert not {"run.json", "manifest.json"} & {*names_at(f"{box}/out")}
        shown = run("show", f"{box}/out", "d0")
        assert shown.status == 2
        assert "whole" in shown.err
        relay.refused = re.compile("(?!)")
        relay.sent.clear()
        assert run("dedup", f"{box}/in/a.jsonl", "-o", f"{box}/out", "--resume").status == 0
        assert UNFINISHED not in names_at(f"{box}/out")
        assert run("show", f"{box}/out", "d0").status == 0


S3_SECRET = storage_servers.S3_KEYS["AWS_SECRET_ACCESS_KEY"]


def test_a_copy_is_refreshed_by_what_changed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in storage_servers.S3_KEYS.items():
        monkeypatch.setenv(name, value)
    box = f"s3://box/{tmp_path.name}"
    with storage_servers.relaying(storage_servers.Relay(storage_servers.s3())) as relay:
        monkeypatch.setenv("AWS_ENDPOINT_URL", relay.url)
        for name in ("a", "b"):
            put_object(f"{box}/fp/{name}", b"x" * 1000)
        for changed, expected in (("", 2000), ("", 0), ("a", 700)):
            if changed:
                put_object(f"{box}/fp/{changed}", b"y" * 700)
            relay.sent.clear()
            mirror = Mirror(f"{box}/fp", ())
            folder = mirror.fetch()
            assert sum(size for path, size in relay.sent.items() if path.endswith(("/a", "/b"))) == expected
            del mirror
        assert (folder / "a").read_bytes() == b"y" * 700


def test_a_result_on_the_web_is_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(jsonl(ROWS))
    assert run("dedup", tmp_path / "a.jsonl", "-o", tmp_path / "out").status == 0
    files = {f"out/{file.name}": file.read_bytes() for file in (tmp_path / "out").iterdir()}
    with storage_servers.serving(storage_servers.FileServer(files)) as server:
        for words in (
            ["show", f"{server.url}/out", "d0"],
            ["report", f"{server.url}/out", "-o", tmp_path / "a.html"],
        ):
            done = run(*words)
            assert done.status == 0, done.err
        assert server.sent["out/kept.jsonl"] == 0
        assert run("show", f"{server.url}/none", "d0").status == 2
