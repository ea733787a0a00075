"""Files of one sample, such as 000000.txt beside 000000.json and 000000.png, stay or go together, or all stay."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from itertools import groupby
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from neardup.io.readers.folders import decide, samples
from neardup.io.readers.sources import Source
from support.command_line import BASE, NEAR, OTHER, Run, run_json
from support.messages import has_parts

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
def test_the_files_of_a_sample_stay_or_go_together(made: object, run: Run, tmp_path: Path) -> None:
    result = run("dedup", made(tmp_path), "-o", tmp_path / "out", "--keep", "first")  # type: ignore[operator]
    assert result.status == 0, result.err
    gone = ("part/000001", "part/000002", "part/000003", "alone/b.txt")
    assert kept_in(tmp_path / "out") == {name: FILES[name] for name in FILES if not name.startswith(gone)}
    assert has_parts(result.out, "6 read", "4 samples of several files", ".txt", "12 other files")
    account = run_json(tmp_path / "out")
    assert (account["counts"]["read"], account["counts"]["removed"]) == (6, 4)
    assert not pq.read_table(tmp_path / "out" / "not_judged.parquet").num_rows


def test_kept_shards_are_shards(run: Run, tmp_path: Path) -> None:
    """The files of a sample follow each other, as WebDataset reads them."""
    for shard in ("000.tar", "001.tar"):
        (tmp_path / "in").mkdir(exist_ok=True)
        with tarfile.open(tmp_path / "in" / shard, "w") as file:
            for name, content in FILES.items():
                if name.startswith("part/"):
                    info = tarfile.TarInfo(f"{shard[:3]}-{name[5:]}")
                    info.size = len(content)
                    file.addfile(info, io.BytesIO(content))
    out = tmp_path / "out"
    assert run("dedup", tmp_path / "in", "-o", out, "--keep", "first", "--write-removed").status == 0
    keys = {}
    for place in sorted((*out.glob("kept/*.tar"), *out.glob("removed/*.tar"))):
        with tarfile.open(place) as file:
            members = [one.partition(".") for one in file.getnames()]
        runs = [(key, "".join(sorted(m[2] for m in group))) for key, group in groupby(members, lambda m: m[0])]
        assert all(suffixes == "clsjsonpngtxt" for _, suffixes in runs)
        keys[f"{place.parent.name}/{place.name}"] = [key for key, _ in runs]
    assert keys == {
        "kept/000.tar": ["000-000000", "000-000003"],
        "removed/000.tar": ["000-000001", "000-000002"],
        "removed/001.tar": ["001-000000", "001-000001", "001-000002", "001-000003"],
    }


def test_results_and_fingerprints_know_samples(run: Run, tmp_path: Path) -> None:
    part, merged, out = tmp_path / "fp", tmp_path / "merged", tmp_path / "out"
    assert run("fingerprint", folder(tmp_path), "-o", part).status == 0
    assert run("merge", part, "-o", merged, "--keep", "first").status == 0
    assert run("part", tmp_path / "in", "--of", merged, "-o", tmp_path / "part").status == 0
    assert run("group", tmp_path / "in", "-o", out, "--keep", "first").status == 0
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "first", "--keep", "first").status == 0
    assert run("apply", tmp_path / "first", "-o", tmp_path / "final").status == 0
    kept = kept_in(tmp_path / "first")
    assert kept_in(tmp_path / "final") == kept == kept_in(tmp_path / "part")


def test_the_suffix_of_the_text_is_given(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, (text, caption) in enumerate(((BASE, OTHER), (NEAR, BASE), (BASE, NEAR))):
        (tmp_path / "in" / f"{number}.txt").write_text(text)
        (tmp_path / "in" / f"{number}.caption.txt").write_text(caption)
    out = tmp_path / "out"
    given = run("dedup", tmp_path / "in", "-o", out, "--text-suffix", "caption.txt", "--keep", "first")
    assert given.status == 0, given.err
    assert sorted(kept_in(out)) == ["0.caption.txt", "0.txt", "1.caption.txt", "1.txt"]
    wrong = run("dedup", tmp_path / "in", "-o", tmp_path / "no", "--text-suffix", "a/b")
    assert has_parts(wrong.err, "a/b", "caption.txt")


def test_a_sample_whose_text_cannot_be_read_stays(run: Run, tmp_path: Path) -> None:
    place = folder(tmp_path) / "part" / "000001.txt"
    place.write_bytes(PNG)
    out = tmp_path / "out"
    assert run("dedup", tmp_path / "in", "-o", out, "--keep", "first").status == 0
    assert {f"part/000001.{suffix}" for suffix in ("txt", "json", "cls", "png")} <= set(kept_in(out))


def test_files_of_several_texts_are_never_removed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "a.md", "b.txt", "b.md", "alone.txt"):
        (tmp_path / "in" / name).write_text(BASE)
    result = run("dedup", tmp_path / "in", "-o", tmp_path / "out")
    assert has_parts(result.out, "4 files share")
    assert {"a.txt", "a.md", "b.txt", "b.md"} <= set(kept_in(tmp_path / "out"))


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
