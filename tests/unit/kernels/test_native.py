"""The library of compiled kernels: what it must have, and the processors that it is for."""

from __future__ import annotations

import ctypes
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelbuild.library import LEVELS, entries
from neardup.kernels import declarations, native
from neardup.kernels.calls import Call
from neardup.kernels.compiler import INTERPRETED, JIT, entry
from neardup.kernels.sorting import sorted_by_key
from support.messages import has_parts

pytestmark = pytest.mark.skipif(INTERPRETED or JIT, reason="these kernels are not those of the library")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for libraries that is not one of a working copy."""
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    monkeypatch.setattr(native, "WORKING_COPY", tmp_path)
    return tmp_path


def failure(*parts: str) -> None:
    """The error has three parts: the state, the need, and the way out."""
    with pytest.raises(native.LibraryError) as failed:
        native.library.__wrapped__()
    given, allowed, do = failed.value.parts
    assert has_parts(given, *parts), given
    assert "built" in allowed or "compiles" in allowed
    assert has_parts(do, "nstall", "--force-reinstall", "--no-cache-dir")
    assert str(failed.value) == f"{given}. {allowed}. {do}."


def test_without_a_library(place: Path) -> None:
    failure("no compiled kernels", str(place))


def test_a_library_that_cannot_be_read(place: Path) -> None:
    (place / f"host{native.SUFFIX}").write_bytes(b"no library")
    failure(f"host{native.SUFFIX}", "cannot be loaded")


def test_a_library_for_another_processor(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / f"host{native.SUFFIX}").write_bytes(native.library().path.read_bytes())
    monkeypatch.setattr(native.Library, "fits", lambda self: False)
    failure("another processor", "host")


def test_the_processor_is_asked_for_each_word_of_what_is_needed() -> None:
    library = native.Library(native.library().path)
    assert library.fits()
    here = (ctypes.c_uint32 * native.FEATURE_WORDS)()
    library.code.nd_processor(here)
    for at, has in enumerate(here):
        library.about["needs"] = [0] * native.FEATURE_WORDS
        assert library.fits()
        library.about["needs"][at] = ~has & 0xFFFF_FFFF & -(~has & 0xFFFF_FFFF)  # the lowest that is absent
        assert not library.fits()


FLAGS = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "x86-64-v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}
"""The flags of /proc/cpuinfo that each level adds to the one before."""


@pytest.mark.parametrize("level", FLAGS)
def test_a_level_fits_the_processors_that_have_its_flags(level: str) -> None:
    about = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not about.exists():
        pytest.skip("these levels are those of x86-64, and Linux lists the flags")
    flags = about.read_text(encoding="utf-8").partition("flags\t")[2].partition("\n")[0].split()
    wanted = set[str]().union(*(more for name, more in FLAGS.items() if name <= level))
    library = native.Library(native.library().path)
    library.about["needs"] = list(LEVELS[level])
    assert library.fits() == (wanted <= {*flags})


def test_of_several_libraries_the_first_that_fits_is_taken(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = native.library().path.read_bytes()
    for level in ("x86-64-v4", "x86-64-v3", "x86-64-v2"):
        (place / f"{level}{native.SUFFIX}").write_bytes(code)
    monkeypatch.setattr(native.Library, "fits", lambda self: "v4" not in self.path.name)
    assert native.library.__wrapped__().path.name == f"x86-64-v3{native.SUFFIX}"


def test_an_entry_that_the_library_has_with_other_types_is_refused() -> None:
    def grown(keys: Any, passes: Any) -> None:
        """A kernel that was declared anew since the library was built."""

    signature = declarations.read("uint64[:], uint64 -> int32[:]")
    for name in (sorted_by_key.name, "neardup.kernels.sorting:gone"):
        with pytest.raises(native.LibraryError) as failed:
            Call(name, 0, grown, signature)
        assert has_parts(str(failed.value), name, "same sources", "nstall")


def test_the_library_has_every_declaration_and_no_other() -> None:
    declared = {
        native.symbol(kernel.name, number): declarations.spelled(signature)
        for kernel in entries()
        for number, signature in enumerate(kernel.signatures)
    }
    assert native.library().about["entries"] == declared
    assert json.loads(json.dumps(declared)) == declared


def test_a_declaration_is_read_at_the_first_call_alone() -> None:
    kernel = entry("no type -> None")(lambda array: None)
    with pytest.raises(ValueError, match="no type"):
        kernel(np.zeros(1))
