"""Archives: members, limits, hostile names and contents; the kept documents in an archive of the same kind."""

from __future__ import annotations

import gzip
import json
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError
from neardup.io.containers import addresses, base
from neardup.io.readers import choose_columns, open_documents, read_document
from support.kept_documents import keep, read
from support.made_archives import (
    ARCHIVES,
    encrypted_zip,
    special,
    tar_of,
    zip_that_claims,
    zip_with_link,
)
from support.made_files import docx_of, html_of, zip_of
from support.messages import has_parts
from support.reading import read_all

FILES = {
    "b/two.txt": b"the second document of the archive",
    "a.md": b"# a page\nof two lines",
    "a/one.txt": b"the first document",
    "c": b"a letter",
    "d.txt": "Grüße".encode("latin-1"),
}
every_archive = pytest.mark.parametrize("suffix", ARCHIVES)


@every_archive
def test_the_members_are_the_documents_of_the_unpacked_folder(tmp_path: Path, suffix: str) -> None:
    for name, content in FILES.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    (tmp_path / f"in{suffix}").write_bytes(ARCHIVES[suffix](FILES))
    unpacked, no_problems, _ = read(tmp_path / "in")
    packed, problems, aside = read(tmp_path / f"in{suffix}")
    assert list(packed) == [f"in{suffix}!/{name}" for name in unpacked]
    assert list(packed.values()) == list(unpacked.values())
    assert (problems, no_problems, aside) == ([], [], [])


@every_archive
def test_kept_members_are_in_an_archive_of_the_same_kind(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"in{suffix}"
    path.write_bytes(ARCHIVES[suffix](FILES | {"z.png": b"\x89PNG\r\n\x1a\n\0\0"}))
    kept = keep(path, tmp_path / "out", {f"in{suffix}!/a/one.txt", f"in{suffix}!/c"})
    assert kept.name == f"kept{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(kept) as archive:
            found = {name: archive.read(name) for name in archive.namelist()}
            dates = [info.date_time for info in archive.infolist()]
        with zipfile.ZipFile(path) as archive:
            assert dates == [archive.getinfo(name).date_time for name in found]
    else:
        with tarfile.open(kept) as archive:
            members = archive.getmembers()
            found = {info.name: archive.extractfile(info).read() for info in members}  # type: ignore[union-attr]
        assert {(info.mtime, info.mode) for info in members} == {(1_600_000_000, 0o640)}
    assert found == {"a/one.txt": FILES["a/one.txt"], "c": FILES["c"], "z.png": b"\x89PNG\r\n\x1a\n\0\0"}
    again = keep(path, tmp_path / "again", {f"in{suffix}!/a/one.txt", f"in{suffix}!/c"})
    assert again.read_bytes() == kept.read_bytes()
    assert list(read(kept)[0]) == [f"kept{suffix}!/a/one.txt", f"kept{suffix}!/c"]


def test_members_of_all_formats_are_read_as_files_are(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_of({"1.html": html_of("a page"), "2.docx": docx_of("a letter")}))
    documents = open_documents(tmp_path / "a.zip")
    choose_columns(documents, None, None)
    (chunk,) = documents.chunks()
    assert chunk.read(["text"]).table["text"].to_pylist() == [b"a page", b"a letter"]


def test_a_folder_of_archives_and_files_is_one_folder_of_documents(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.zip").write_bytes(zip_of({"x.txt": "x of a", "inner.zip": zip_of({"deep.txt": "deep"})}))
    (folder / "sub" / "b.tar").write_bytes(tar_of({"x.txt": b"x of b"}))
    (folder / "plain.txt").write_bytes(b"plain")
    (folder / "torn.zip").write_bytes(zip_of({"x.txt": "lost"})[:40])
    texts, problems, _ = read(folder)
    assert texts == {"a.zip!/x.txt": "x of a", "plain.txt": "plain", "sub/b.tar!/x.txt": "x of b"}
    assert [(one.file, one.kind) for one in problems] == [("a.zip!/inner.zip", "zip"), ("torn.zip", "unreadable")]
    assert has_parts(problems[1].reason, "not a zip archive", "damaged")
    kept = keep(folder, tmp_path / "out", {"plain.txt", "sub/b.tar!/x.txt"})
    names = {path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()}
    assert names == {"a.zip", "plain.txt", "sub/b.tar", "torn.zip"}
    assert (kept / "torn.zip").read_bytes() == (folder / "torn.zip").read_bytes()
    with zipfile.ZipFile(kept / "a.zip") as archive:
        assert archive.namelist() == ["inner.zip"]


def test_several_archives_by_name_and_by_pattern(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.zip").write_bytes(zip_of({"x.txt": f"x of {name}"}))
    wanted = {str(tmp_path / f"{name}.zip!/x.txt"): f"x of {name}" for name in ("a", "b")}
    for inputs in ([tmp_path / "a.zip", tmp_path / "b.zip"], f"{tmp_path}/*.zip"):
        documents = open_documents(inputs)
        choose_columns(documents, None, None)
        rows, _, _ = read_all(documents, ["id", "text"])
        assert {row["id"].decode(): row["text"].decode() for row in rows} == wanted


@every_archive
@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "parquet"])
def test_data_files_in_an_archive_are_rows(tmp_path: Path, suffix: str, kind: str) -> None:
    def data(first: int) -> bytes:
        rows = [{"id": i, "text": f"text {i}"} for i in range(first, first + 50)]
        if kind == "parquet":
            made = BytesIO()
            pq.write_table(pa.Table.from_pylist(rows), made, row_group_size=20)
            return made.getvalue()
        lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        return gzip.compress(lines) if kind.endswith("gz") else lines

    parts = {f"lang=en/1.{kind}": data(0), f"lang=de/2.{kind}": data(50), "README.md": b"about the data"}
    path = tmp_path / f"in{suffix}"
    path.write_bytes(ARCHIVES[suffix](parts))
    documents = open_documents(path)
    choose_columns(documents, "text", "id")
    rows, _, problems = read_all(documents, ["id", "text"])
    assert problems == []
    assert [row["id"] for row in rows] == [*range(50, 100), *range(50)]
    assert documents.names == tuple(f"{path}!/lang={k}/{n}.{kind}" for k, n in (("de", 2), ("en", 1)))
    assert [one.name for one in documents.findings.aside] == [f"in{suffix}!/README.md"]
    natives = [chunk.read_native() for chunk in documents.chunks()]
    found: Any = natives[0]
    shown = found.table["lang"].to_pylist() if kind == "parquet" else [b'"lang":"de"' in found.data]
    assert set(shown) == ({"de"} if kind == "parquet" else {True})


NAMES = {
    "../../evil.txt": "out",
    "/etc/evil.txt": "out",
    "a/../../evil.txt": "out",
    "..\\evil.txt": "out",
    "C:\\evil.txt": "out",
    "x" * 2000 + ".txt": "out",
    ".hidden/a.txt": "hidden",
    "__MACOSX/._a.txt": "hidden",
    "./good.txt": "good",
}


@pytest.mark.parametrize("suffix", [".zip", ".tar"])
def test_names_that_lead_out_are_left_aside_and_never_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "in" / f"a{suffix}"
    path.parent.mkdir()
    path.write_bytes(ARCHIVES[suffix](dict.fromkeys(NAMES, b"a text")))
    texts, problems, aside = read(path)
    assert (texts, problems) == ({f"a{suffix}!/good.txt": "a text"}, [])
    assert len(aside) == len(NAMES) - 1
    assert sum("leads out of" in why for _, why in aside) == 6
    keep(path.parent, tmp_path / "out", set(texts))
    assert not list(tmp_path.rglob("evil*"))


def test_links_devices_and_replaced_members_are_left_aside(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_with_link("passwd.txt", "/etc/passwd"))
    texts, _, aside = read(tmp_path / "a.zip")
    assert texts == {"a.zip!/a.txt": "the only file of it"}
    assert [(name, "link" in why) for name, why in aside] == [("a.zip!/passwd.txt", True)]
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    links = [special(f"{number}.txt", kind, "/etc/passwd") for number, kind in enumerate(kinds)]
    twice = tar_of({"a.txt": b"old"})[:1024] + tar_of({"a.txt": b"new"}, links)
    (tmp_path / "a.tar").write_bytes(twice)
    texts, problems, aside = read(tmp_path / "a.tar")
    assert (texts, problems) == ({"a.tar!/a.txt": "new"}, [])
    assert len(aside) == 5
    assert (aside[0][0], has_parts(aside[0][1], "later file", "same name")) == ("a.tar!/a.txt", True)


def test_an_encrypted_member_is_a_problem_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(encrypted_zip({"a.txt": b"open", "b.txt": b"closed"}, "b.txt"))
    texts, problems, _ = read(tmp_path / "a.zip")
    assert texts == {"a.zip!/a.txt": "open"}
    assert [one.file for one in problems] == ["a.zip!/b.txt"]
    assert "is encrypted" in problems[0].reason
    assert zipfile.is_zipfile(keep(tmp_path / "a.zip", tmp_path / "out", set(texts)))


def test_a_damaged_member_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    data = bytearray(zip_of({"a.txt": b"whole", "b.txt": bytes(range(256)) * 40}))
    data[data.find(b"b.txt") + 40] ^= 255
    (tmp_path / "a.zip").write_bytes(data)
    texts, problems, _ = read(tmp_path / "a.zip")
    assert list(texts) == ["a.zip!/a.txt"]
    assert [one.file for one in problems] == ["a.zip!/b.txt"]
    assert "cannot be unpacked" in problems[0].reason


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.xz"])
def test_a_cut_off_tar_archive_has_the_members_before_the_cut(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(1)
    parts = {f"{i:02}.txt": rng.bytes(3000).hex().encode() for i in range(20)}
    whole = ARCHIVES[suffix](parts)
    (tmp_path / f"a{suffix}").write_bytes(whole[: len(whole) // 2])
    texts, problems, _ = read(tmp_path / f"a{suffix}")
    assert 5 <= len(texts) < 15
    assert all(texts[f"a{suffix}!/{name}"] == parts[name].decode() for name in list(parts)[: len(texts)])
    assert [(one.file, one.kind) for one in problems] == [(f"a{suffix}", None)]
    assert "is lost" in problems[0].reason
    kept = keep(tmp_path / f"a{suffix}", tmp_path / "out", {f"a{suffix}!/00.txt"})
    assert list(read(kept)[0]) == [f"kept{suffix}!/00.txt"]


def test_a_damaged_header_within_a_tar_archive_is_not_its_end(tmp_path: Path) -> None:
    data = bytearray(tar_of({"a.txt": b"a", "b.txt": b"b", "c.txt": b"c"}))
    data[1024 + 10] ^= 255  # within the second header
    (tmp_path / "a.tar").write_bytes(data)
    texts, problems, _ = read(tmp_path / "a.tar")
    assert list(texts) == ["a.tar!/a.txt"]
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.zip", b"not a zip file"),
        ("a.zip", b""),
        ("a.zip", tar_of({"a.txt": b"a"})),
        ("a.tar", zip_of({"a.txt": b"a"})),
        ("a.tar", b"short"),
        ("a.tar.gz", b"not gzip"),
        ("a.tar.gz", gzip.compress(b"no tar archive " * 100, mtime=0)),
        ("a.tar.gz", gzip.compress(tar_of({"a.txt": b"a"}), mtime=0)[:15]),
        ("a.mbox", b"no mailbox"),
    ],
    ids=range(9),
)
def test_wrong_bytes_under_the_suffix(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(content)
    with pytest.raises(InputError, match=r"cannot be read: .*not a"):
        open_documents(tmp_path / "in" / name)
    (tmp_path / "in" / "b.txt").write_bytes(b"beside it")
    texts, problems, _ = read(tmp_path / "in")
    assert texts == {"b.txt": "beside it"}
    assert [(one.file, one.kind) for one in problems] == [(name, "unreadable")]


@every_archive
def test_a_bomb_is_cut_at_the_limit(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "UNPACKED_BYTES", 100_000)
    monkeypatch.setattr(base, "UNPACKED_RATIO", 2)
    parts = {f"{i}.txt": bytes([97 + i]) * 60_000 for i in range(6)}
    stored = ARCHIVES[suffix](parts)
    (tmp_path / f"a{suffix}").write_bytes(stored)
    texts, problems, _ = read(tmp_path / f"a{suffix}")
    if suffix == ".tar":  # it is as large as its files
        assert (len(texts), problems) == (6, [])
        return
    assert [len(text) for text in texts.values()] == [60_000]
    assert [one.file for one in problems] == [f"a{suffix}"]
    assert "unpack" in problems[0].reason


def test_a_member_is_unpacked_no_further_than_it_claims(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_that_claims(10, b"x" * 1_000_000))
    assert read(tmp_path / "a.zip")[0] == {}
    (tmp_path / "b.zip").write_bytes(zip_that_claims(300 << 20, b"x" * 1000))
    _, problems, _ = read(tmp_path / "b.zip")
    assert "It has 300 MB" in problems[0].reason


def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {f"{i}.txt": b"x" for i in range(20)}
    (tmp_path / "a.zip").write_bytes(zip_of(parts))
    (tmp_path / "a.tar").write_bytes(tar_of(parts))
    monkeypatch.setattr(base, "MEMBERS", 10)
    with pytest.raises(InputError):
        open_documents(tmp_path / "a.zip")
    texts, problems, _ = read(tmp_path / "a.tar")
    assert len(texts) == 11
    assert len(problems) == 1


def test_a_list_of_files_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(zip_of({f"{i}.txt": b"x" for i in range(50)}))
    monkeypatch.setattr(base, "DIRECTORY_BYTES", 1000)
    with pytest.raises(InputError, match="more than 1,000,000 files"):
        open_documents(tmp_path / "a.zip")


def test_a_header_of_a_tar_archive_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    long = tarfile.TarInfo("x" * (2 << 20))
    (tmp_path / "a.tar").write_bytes(tar_of({"a.txt": b"before"}, [long]))
    texts, problems, _ = read(tmp_path / "a.tar")
    assert texts == {"a.tar!/a.txt": "before"}
    assert len(problems) == 1


def test_an_archive_that_changes_ends_the_run(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of({"a.txt": "one text"}))
    documents = open_documents(path)
    (chunk,) = documents.chunks()
    chunk.read(["text"])
    path.write_bytes(zip_of({"a.txt": "two texts", "b.txt": "more"}))
    with pytest.raises(InputError):
        chunk.read(["text"])


def test_one_document_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of({"x/a.html": b"<p>a page</p>"}))
    assert read_document(f"{path}!/x/a.html") == "a page"
    with pytest.raises(InputError, match="archive or mailbox") as caught:
        read_document(path)
    assert has_parts(caught.value.do, f"{path}!/x/a.html")
    with pytest.raises(InputError, match="no member"):
        read_document(f"{path}!/b.html")
    (tmp_path / "b.zip!").mkdir()  # a folder may have such a name
    (tmp_path / "b.zip!" / "c.txt").write_bytes(b"plain")
    assert read_document(tmp_path / "b.zip!" / "c.txt") == "plain"


def test_few_archives_are_open_at_a_time(tmp_path: Path) -> None:
    for number in range(base.OPEN + 4):
        (tmp_path / f"{number:02}.zip").write_bytes(zip_of({"a.txt": f"text {number}"}))
    texts, _, _ = read(tmp_path)
    assert list(texts.values()) == [f"text {number}" for number in range(base.OPEN + 4)]
    assert addresses._open.cache_info().currsize <= base.OPEN
