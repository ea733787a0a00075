"""Files of one sample, such as 000000.txt beside 000000.json and 000000.png, are compared and never removed."""

from __future__ import annotations

import json
import tarfile
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from neardup.io.readers.folders import decide, samples
from neardup.io.readers.sources import Source
from support.command_line import BASE, NEAR, OTHER, Run

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
CAPTIONS = [BASE, NEAR, BASE, OTHER]
FILES = {
    f"part/{number:06}.{suffix}": content
    for number, caption in enumerate(CAPTIONS)
    for suffix, content in (
        ("txt", caption.encode()),
        ("json", json.dumps({"label": BASE}).encode()),
        ("cls", b"1"),
        ("png", PNG),
    )
} | {"alone/a.txt": OTHER.encode(), "alone/b.txt": OTHER.encode()}


def folder(place: Path) -> Path:
    for name, content in FILES.items():
        (place / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "in" / name).write_bytes(content)
    return place / "in"


def tar(place: Path) -> Path:
    with tarfile.open(place / "in.tar", "w") as file:
        file.add(folder(place), "in")
    return place / "in.tar"


def zipped(place: Path) -> Path:
    with zipfile.ZipFile(place / "in.zip", "w") as file:
        for name, content in FILES.items():
            file.writestr(name, content)
    return place / "in.zip"


def kept_in(out: Path) -> dict[str, bytes]:
    """Return the files that were kept, by the end of their name."""
    if (out / "kept.tar").exists():
        with tarfile.open(out / "kept.tar") as file:
            return {each.name[3:]: file.extractfile(each).read() for each in file if each.isfile()}  # type: ignore[union-attr]
    if (out / "kept.zip").exists():
        with zipfile.ZipFile(out / "kept.zip") as file:
            return {name: file.read(name) for name in file.namelist()}
    files = (path for path in (out / "kept").rglob("*") if path.is_file())
    return {str(path.relative_to(out / "kept")): path.read_bytes() for path in files}


@pytest.mark.parametrize("made", [folder, tar, zipped])
def test_no_file_of_a_sample_is_removed_by_itself(made: object, run: Run, tmp_path: Path) -> None:
    result = run("dedup", made(tmp_path), "-o", tmp_path / "out")  # type: ignore[operator]
    assert result.status == 0, result.err
    assert kept_in(tmp_path / "out") == {name: FILES[name] for name in FILES if name != "alone/b.txt"}
    assert "16 files share" in result.out
    account = json.loads((tmp_path / "out" / "run.json").read_text())
    assert account["counts"]["removed"] == 1
    groups = pq.read_table(tmp_path / "out" / "groups.parquet").to_pylist()
    said = {row["id"].rpartition("/")[2]: row["reason"] for row in groups}
    assert "with 000002." in said["000002.txt"]
    assert {"000000.txt", "000001.txt", "000002.txt", "b.txt"} <= set(said)


def test_fingerprints_and_grouping_again_know_samples(run: Run, tmp_path: Path) -> None:
    part, merged = tmp_path / "fp", tmp_path / "merged"
    assert run("fingerprint", folder(tmp_path), "-o", part).status < 2  # it counts images as rejected
    assert run("merge", part, "-o", merged).status < 2
    assert json.loads((merged / "run.json").read_text())["counts"]["removed"] == 1
    again = tmp_path / "again"
    assert run("group", tmp_path / "in", "-o", tmp_path / "first").status == 0
    assert run("regroup", tmp_path / "first", "--threshold", 0.9, "-o", again).status == 0
    removed = [row["id"] for row in pq.read_table(again / "groups.parquet").to_pylist() if not row["kept"]]
    assert removed in ([], ["alone/b.txt"])


def test_files_without_words_stay_in_their_samples(run: Run, tmp_path: Path) -> None:
    for name in ("a.txt", "a.json", "b.txt", "b.json", "alone.txt"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(" \n" if name.endswith(".txt") else f"{name} {BASE}")
    for treatment in ("drop", "one"):
        out = tmp_path / treatment
        assert run("dedup", tmp_path / "in", "-o", out, "--empty", treatment).status == 0
        assert {"a.txt", "a.json", "b.txt", "b.json"} <= set(kept_in(out))


def names(*given: str) -> dict[str, set[str]]:
    """Return the names of the files that belong to samples, and of the files beside each."""
    found = samples([Source(name, name) for name in given])
    return {given[place]: {other.name for other in others} for place, others in found.items()}


def test_names_that_differ_in_the_suffix_make_a_sample() -> None:
    assert names("d/a.txt", "d/a.json") == {"d/a.txt": {"a.json"}, "d/a.json": {"a.txt"}}
    assert names("a.seg.png", "a.txt") == {"a.seg.png": {"a.txt"}, "a.txt": {"a.seg.png"}}
    assert names("a.caption.txt", "a.jpg", "b.jpg") == {"a.caption.txt": {"a.jpg"}, "a.jpg": {"a.caption.txt"}}
    assert names("README", "README.md").keys() == {"README", "README.md"}
    many = names(*(f"x.s{i}" for i in range(50)))
    assert len(many) == 50
    assert all(len(beside) <= 3 for beside in many.values())


@pytest.mark.parametrize(
    "given",
    [
        ("a/x.txt", "b/x.json"),
        ("x.txt", "x.txt.gz"),
        ("x.txt", "x.v2.txt"),
        ("2020.01", "2020.02"),
        ("mail.1", "mail.2"),
        ("a.txt", "ab.json"),
        ("1.", "2."),
    ],
)
def test_other_names_do_not(given: tuple[str, ...]) -> None:
    assert names(*given) == {}


def test_json_with_a_text_of_its_name_each_is_not_data() -> None:
    pairs = [
        Source(f"{i}.{suffix}", f"{i}.{suffix}", size)
        for i in range(9)
        for suffix, size in (("json", 9999), ("txt", 9))
    ]
    assert decide("in", pairs).format == "text"
    described = [
        Source("a.jsonl", "a.jsonl", 9999),
        Source("b.jsonl", "b.jsonl", 9999),
        Source("a.txt", "a.txt", 9),
    ]
    assert decide("in", described).format == "jsonl"
