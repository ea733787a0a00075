"""Archives, mailboxes and standard input from the command line: compared, kept, looked at again, and refused."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from neardup.io.containers import spools
from support.command_line import BASE, NEAR, OTHER, ROWS, Run, run_json
from support.made_archives import ARCHIVES, mbox_of
from support.made_files import eml_of, zip_of
from support.messages import has_parts

FILES = {"a.txt": BASE.encode(), "sub/b.txt": NEAR.encode(), "c.txt": OTHER.encode(), "d.txt": BASE.encode()}
MAILS = [eml_of(text, "the plan") for text in (BASE, OTHER, BASE, NEAR)]


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def test_a_zip_archive_gives_the_result_of_the_folder_in_it(run: Run, tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    (tmp_path / "in.zip").write_bytes(ARCHIVES[".zip"](FILES))
    for name in ("in", "in.zip"):
        assert run("dedup", tmp_path / name, "-o", tmp_path / f"{name}.out").status == 0
    plain, packed = tmp_path / "in.out", tmp_path / "in.zip.out"
    for table in ("groups", "pairs", "copies"):
        text = json.dumps(rows(packed / f"{table}.parquet")).replace("in.zip!/", "")
        assert text == json.dumps(rows(plain / f"{table}.parquet"))
    with zipfile.ZipFile(packed / "kept.zip") as archive:
        kept = {name: archive.read(name) for name in archive.namelist()}
    assert kept == {name: FILES[name] for name in ("a.txt", "c.txt")}
    said = run("show", packed, "in.zip!/sub/b.txt")
    assert said.status == 0
    assert BASE[:40] in said.out
    assert run("dedup", packed / "kept.zip", "-o", tmp_path / "again").status == 0
    assert run_json(tmp_path / "again")["counts"]["removed"] == 0
    said = run("dedup", packed, "-o", tmp_path / "nested")
    assert "kept.zip" in said.err  # the result itself is no input, and names the kept documents


def test_two_documents_of_archives_are_compared(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_of({"x.txt": BASE}))
    (tmp_path / "b.mbox").write_bytes(mbox_of(MAILS))
    said = run("compare", tmp_path / "a.zip!/x.txt", tmp_path / "b.mbox!/4.eml", "--json")
    assert said.status == 0
    said = run("compare", tmp_path / "a.zip", tmp_path / "b.mbox!/4.eml")
    assert said.status == 2
    assert f"{tmp_path}/a.zip!/x.txt" in " ".join(said.err.split())


def test_a_result_of_a_private_archive_is_private(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.zip").write_bytes(ARCHIVES[".zip"](FILES))
    (tmp_path / "in" / "a.zip").chmod(0o600)
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out").status == 0
    assert (tmp_path / "out" / "kept.zip").stat().st_mode & 0o077 == 0


def test_fingerprints_of_an_archive_are_merged(run: Run, tmp_path: Path) -> None:
    (tmp_path / "1.zip").write_bytes(ARCHIVES[".zip"](FILES))
    (tmp_path / "2.tar.gz").write_bytes(ARCHIVES[".tar.gz"]({"e.txt": NEAR.encode()}))
    for name in ("1.zip", "2.tar.gz"):
        assert run("fingerprint", tmp_path / name, "-o", tmp_path / f"{name}.part").status == 0
    parts = [tmp_path / f"{name}.part" for name in ("1.zip", "2.tar.gz")]
    assert run("merge", *parts, "-o", tmp_path / "out").status == 0
    ids = {row["id"] for row in rows(tmp_path / "out" / "groups.parquet")}
    assert {id.rpartition("/")[2] for id in ids} == {"a.txt", "b.txt", "d.txt", "e.txt"}


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


JSONL = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def test_standard_input_gives_the_result_of_the_file(run: Run, tmp_path: Path, piped: Any) -> None:
    (tmp_path / "in.jsonl").write_bytes(JSONL)
    assert run("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "file").status == 0
    piped(JSONL)
    assert run("dedup", "-", "-o", tmp_path / "pipe").status == 0
    for name in ("groups.parquet", "pairs.parquet", "kept.jsonl"):
        assert (tmp_path / "pipe" / name).read_bytes() == (tmp_path / "file" / name).read_bytes()
    said = run("show", tmp_path / "pipe", "b")
    assert said.status == 0
    assert "not read" not in said.out
    said = run("apply", tmp_path / "pipe", "-o", tmp_path / "final")
    assert has_parts(" ".join(said.err.split()), "in memory", "standard input")


def test_standard_input_beside_a_file_of_another_format(run: Run, tmp_path: Path, piped: Any) -> None:
    (tmp_path / "more.csv").write_text("id,text\nm,a text on its own\n")
    piped(JSONL)
    assert run("dedup", "-", tmp_path / "more.csv", "-o", tmp_path / "out", "--keep", "first").status == 0
    kept = {path.name: path.read_bytes() for path in (tmp_path / "out" / "kept").iterdir()}
    assert kept["stdin.jsonl"].splitlines() == [JSONL.splitlines()[0], JSONL.splitlines()[3]]
    assert has_parts(kept["more.csv"].decode(), "id", "m")
    refused = run("apply", tmp_path / "out", "-o", tmp_path / "final")
    assert has_parts(" ".join(refused.err.split()), "standard input")


def test_commands_that_read_standard_input(run: Run, tmp_path: Path, piped: Any) -> None:
    piped(JSONL)
    assert "4 documents added" in run("collection", "add", tmp_path / "all.neardup", "-").out
    piped(JSONL)
    assert run("group", "-", "-o", tmp_path / "out").status == 0
    piped(JSONL)
    assert run("plan", "-").status == 0
    piped(b'{"text":"no id"}\n{"text":"no id"}\n')
    assert run("dedup", "-", "-o", tmp_path / "ids").status == 0
    assert [row["id"] for row in rows(tmp_path / "ids" / "groups.parquet")] == ["stdin#0", "stdin#1"]


@pytest.mark.parametrize(
    ("typed", "content", "said"),
    [
        (["dedup", "-", "--against", "-"], JSONL, "- was given twice"),
        (["dedup", "-"], b"", "stdin has no rows"),
        (["dedup", "-"], b"<p>a page", "stdin holds no JSON object"),
        (["dedup", "-"], b"PAR1" + bytes(9) + b"\n{}\n", "another format (parquet)"),
        (["dedup", "-", "--resume"], JSONL, "standard input is gone with the command"),
        (["fingerprint", "-"], JSONL, "standard input is gone with the command"),
    ],
)
def test_refusals(run: Run, tmp_path: Path, piped: Any, typed: list[str], content: bytes, said: str) -> None:
    piped(content)
    result = run(*typed, "-o", tmp_path / "out")
    assert result.status == 2
    assert said in " ".join(result.err.split())


def test_standard_input_needs_room(run: Run, tmp_path: Path, piped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spools, "ROOM_BYTES", 1 << 80)
    piped(JSONL)
    said = run("dedup", "-", "-o", tmp_path / "out")
    assert said.status == 2
    assert "Set TMPDIR to" in " ".join(said.err.split())
