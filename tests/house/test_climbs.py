"""Who calls whom at run time: calls from a wing into a wing above it are rare, and counted for five walks."""

import inspect
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from test_layers import LEVEL, SOURCE

import neardup as nd
from neardup.display.spellings import checking_keywords

TEXTS = [
    "the quick brown fox jumps over the lazy dog and runs far away",
    "the quick brown fox jumps over the lazy dog and ran far away",
    "nothing like it in the world of men and mice",
]


def collection(path: Path) -> None:
    with nd.Collection(path / "texts.neardup") as made:
        made.add([{"id": str(number), "text": text} for number, text in enumerate(TEXTS)])


def query(path: Path) -> None:
    with nd.Collection(path / "texts.neardup") as made:
        made.search("FINGERPRINT:0_20_80")


WALKS: dict[str, tuple[Callable[[Path], Any], int]] = {
    "find": (lambda path: nd.find(TEXTS), 8),
    "another threshold": (lambda path: nd.find(TEXTS).at(0.9), 8),
    "compare": (lambda path: str(nd.compare(*TEXTS[:2])), 120),  # one for each distinct character
    "add": (collection, 0),
    "query": (query, 0),
}
"""Calls of the library, and the most calls that climb: ``runtime`` calls the work it is given."""
CHECKING = checking_keywords(collection, "").__code__  # a method that checks its keywords is called by its caller


def file_of(frame: FrameType | None) -> str:
    """The file of a frame below the package; "" for any other."""
    name = frame.f_code.co_filename if frame is not None else ""
    return name.removeprefix(f"{SOURCE}{os.sep}") if name.startswith(str(SOURCE)) else ""


@contextmanager
def climbs() -> Iterator[Counter[tuple[str, str]]]:
    """Count the calls from a file into one of a wing above, through any files that are not of the package."""
    found: Counter[tuple[str, str]] = Counter()

    def seen(frame: FrameType, event: str, argument: object) -> None:
        callee, caller = file_of(frame), frame.f_back
        if event != "call" or not callee or frame.f_code.co_flags & inspect.CO_GENERATOR:
            return  # a generator is data: it runs where it is read
        while caller is not None and (not file_of(caller) or caller.f_code is CHECKING):
            caller = caller.f_back
        if caller is None:
            return
        levels = [LEVEL.get(name.split(os.sep)[0].removesuffix(".py"), -1) for name in (file_of(caller), callee)]
        if -1 < levels[0] < levels[1]:
            found[file_of(caller), callee] += 1

    before = sys.getprofile()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("walk", WALKS)
def test_calls_go_down(walk: str, tmp_path: Path) -> None:
    call, most = WALKS[walk]
    if walk == "query":
        collection(tmp_path)
    with climbs() as found:
        call(tmp_path)
    assert found.total() <= most, dict(found)


def test_a_call_that_climbs_is_seen() -> None:
    with climbs() as found:
        runtime = sys.modules["neardup.runtime"]
        code = compile("compare('a b', 'a b')", str(SOURCE / "runtime.py"), "eval")
        eval(code, {**vars(runtime), "compare": inspect.unwrap(nd.compare)})
    assert any(caller == "runtime.py" and callee.startswith("comparison") for caller, callee in found)
