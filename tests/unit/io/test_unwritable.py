"""Outputs that cannot be written: each reason of the system has its own words and way out, for every writer."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from neardup.errors import OutputError
from neardup.io.writers.filesystem import unwritable_error
from neardup.io.writers.folder import OutputFolder
from neardup.io.writers.kept_rows import _failed_error
from neardup.io.writers.output import Output, OutputImage, OutputPage, OutputTable, ProblemList
from neardup.io.writers.scratch import Scratch
from support.messages import has_parts

REASONS = {
    errno.ENOSPC: ("disk is full", "space"),
    errno.EDQUOT: ("quota", "space"),
    errno.EFBIG: ("larger", "limit"),
    errno.EACCES: ("may not write", "rights"),
    errno.EROFS: ("read-only", "place"),
    errno.EIO: ("device", "disk"),
    errno.ENAMETOOLONG: ("name is too long", "shorter"),
    errno.EMFILE: ("open files", "limit"),
}


@pytest.mark.parametrize("number", REASONS)
def test_each_reason_has_its_words_and_its_way_out(number: int) -> None:
    error = unwritable_error("out", OSError(number, os.strerror(number)))
    why, do = REASONS[number]
    assert has_parts(error.given, "out", why, os.strerror(number))
    assert do in error.do


def test_no_two_reasons_share_their_words() -> None:
    words = {unwritable_error("out", OSError(number, os.strerror(number))).given for number in REASONS}
    assert len(words) == len(REASONS)


def written(writer: type[Output], path: Path) -> Any:
    return writer(path, b"mark") if writer is OutputTable else writer(path)  # type: ignore[call-arg,arg-type]


@pytest.mark.parametrize("writer", [OutputFolder, OutputPage, OutputImage, ProblemList, OutputTable])
def test_every_writer_says_why(writer: type[Output], tmp_path: Path) -> None:
    output = written(writer, tmp_path / "out")
    with pytest.raises(OutputError) as raised, output.translated_errors():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert has_parts(str(raised.value), "out", "disk is full", "Free some space")


def test_rows_and_working_files_say_why(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert has_parts(str(_failed_error(tmp_path / "kept.parquet", full)), "kept.parquet", "disk is full", "space")
    scratch = Scratch(tmp_path)
    with pytest.raises(OutputError) as raised, scratch.failing_in_words(5):
        raise full
    assert has_parts(str(raised.value), "disk is full", "space")
