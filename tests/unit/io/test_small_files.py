"""Small files that are neither documents nor results."""

import os
import stat
from pathlib import Path

import pytest

from neardup.io.files import (
    allocate,
    beginning,
    beginning_and_mode,
    make_numbers,
    remove_folder,
    shared_numbers,
)


def test_a_beginning_has_at_most_the_given_bytes_and_by_default_all(tmp_path: Path) -> None:
    path = tmp_path / "settings"
    path.write_bytes(b"threshold")
    assert beginning(path, 4) == b"thre"
    assert beginning(path, 40) == beginning(path) == b"threshold"
    (tmp_path / "link").symlink_to(path)
    assert beginning(tmp_path / "link") == b"threshold"
    with pytest.raises(FileNotFoundError):
        beginning(tmp_path / "absent")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no bits for groups and others")
def test_the_mode_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_bytes(b"read one")
    path.chmod(0o640)
    content, mode = beginning_and_mode(path, 4)
    assert (content, stat.S_IMODE(mode)) == (b"read", 0o640)


def test_numbers_begin_with_zeros_and_are_shared(tmp_path: Path) -> None:
    path = tmp_path / "connections"
    make_numbers(path, 3)
    one, other = shared_numbers(path), shared_numbers(path)
    assert one.tolist() == [0, 0, 0]
    one[1] = -7
    assert other.tolist() == [0, -7, 0]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot allocate")
def test_allocated_space_keeps_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.db"
    path.write_bytes(b"one")
    allocate(path, 4096)
    assert path.read_bytes() == b"one" + bytes(4093)


def test_a_folder_goes_with_its_files_also_if_it_has_gone(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    make_numbers(folder / "connections", 1)
    remove_folder(folder)
    assert not folder.exists()
    remove_folder(folder)
