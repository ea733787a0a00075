"""Results are as private as the most private input."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import neardup as nd
from neardup.io.writers import common_access
from neardup.io.writers.filesystem import restrict
from support.command_line import BASE, NEAR, Run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions there are those of the folder")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(folder: Path) -> set[int]:
    return {mode(path) for path in folder.rglob("*") if path.is_file()}


def folder_of(path: Path) -> Path:
    path.mkdir()
    for name, text in (("a.txt", BASE), ("sub/b.txt", NEAR), ("c.txt", "other words")):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize(
    ("given", "files", "folders"), [(0o644, 0o644, 0o755), (0o640, 0o640, 0o750), (0o400, 0o600, 0o700)]
)
def test_private_input_makes_a_private_result(
    run: Run, mails: Path, tmp_path: Path, given: int, files: int, folders: int
) -> None:
    mails.chmod(given)
    out, strict = tmp_path / "out", tmp_path / "strict"
    assert run("dedup", mails, "-o", out).status == 0
    assert run("regroup", out, "--threshold", "0.95", "-o", strict).status == 0
    nd.find(str(mails)).save(tmp_path / "saved")
    nd.load(out).save(tmp_path / "again")
    for name in ("out", "strict", "saved", "again"):
        assert (mode(tmp_path / name), modes(tmp_path / name)) == (folders, {files}), name


def test_one_private_file_among_many_is_enough(run: Run, tmp_path: Path) -> None:
    documents = folder_of(tmp_path / "documents")
    (documents / "c.txt").chmod(0o600)
    assert run("dedup", documents, "-o", tmp_path / "out").status == 0
    assert modes(tmp_path / "out") == {0o600}
    assert {mode(path) for path in (tmp_path / "out").rglob("*") if path.is_dir()} == {0o700}
    assert (tmp_path / "out" / "kept" / "c.txt").exists()


def test_a_private_folder_and_a_private_reference_count(run: Run, mails: Path, tmp_path: Path) -> None:
    documents = folder_of(tmp_path / "documents")
    documents.chmod(0o700)
    assert run("dedup", documents, "-o", tmp_path / "out").status == 0
    assert modes(tmp_path / "out") == {0o600}
    reference = tmp_path / "reference.jsonl"
    reference.write_bytes(mails.read_bytes())
    reference.chmod(0o600)
    assert run("dedup", mails, "--against", reference, "-o", tmp_path / "against").status == 0
    assert modes(tmp_path / "against") == {0o600}


def test_pages_images_lists_and_collections_too(run: Run, mails: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(BASE)
    (tmp_path / "a.txt").chmod(0o600)
    with mails.open("a") as file:
        file.write("{broken\n")
    mails.chmod(0o600)
    assert run("compare", tmp_path / "a.txt", tmp_path / "a.txt", "--html", tmp_path / "x.html").status == 0
    assert run("plan", mails, "--svg", tmp_path / "x.svg").status == 1
    assert run("collection", "add", tmp_path / "c.neardup", mails, "--problems", tmp_path / "p.jsonl").status == 1
    assert {mode(tmp_path / name) for name in ("x.html", "x.svg", "p.jsonl", "c.neardup")} == {0o600}


def test_texts_in_memory_have_the_usual_permissions(tmp_path: Path) -> None:
    nd.find([BASE, NEAR]).save(tmp_path / "out")
    assert modes(tmp_path / "out") == {0o644}
    assert common_access(["-", "https://example.org/x.jsonl", "\0"]) == 0o666


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a file to a group")
def test_another_group_counts_for_nothing(tmp_path: Path) -> None:
    given, made = tmp_path / "given", tmp_path / "made"
    for group, access in ((os.getegid(), 0o660), (54321, 0o600)):
        given.write_text("x")
        given.chmod(0o660)
        os.chown(given, -1, group)
        assert common_access([given]) == access
    made.mkdir()
    (made / "x").write_text("x")
    os.chown(made / "x", -1, 54321)
    restrict(made, 0o660)
    assert (mode(made / "x"), mode(made)) == (0o600, 0o750)
