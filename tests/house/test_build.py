"""The build of the kernels: its requirements, and the processors and platforms that it is for."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kernelbuild import library, machine
from kernelbuild.library import LEVELS, BuildError
from neardup.kernels import native
from support.messages import has_parts
from support.paths import ROOT

POSIX = ("cc", "gcc", "clang")
WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RELEASE = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
PLACES = {
    "Dockerfile": (ROOT / "Dockerfile").read_text(encoding="utf-8"),
    "release.yml": RELEASE,
    "recipe.yaml": (ROOT / "deploy" / "conda" / "recipe.yaml").read_text(encoding="utf-8"),
}


def hook() -> ModuleType:
    pytest.importorskip("hatchling", reason="builds the package; the group tests has it")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned(requirements: list[str]) -> set[str]:
    return {line for line in requirements if line.startswith("numba")}


def test_numba_is_the_same_in_the_build_and_in_a_working_copy_and_nowhere_else() -> None:
    project = WHOLE["project"]
    assert pinned(WHOLE["build-system"]["requires"]) == pinned(WHOLE["dependency-groups"]["short"])
    assert len(pinned(WHOLE["build-system"]["requires"])) == 1
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    assert not pinned([*project["dependencies"], *extras])
    for heading in ("run", "host"):
        lines = PLACES["recipe.yaml"].partition(f"  {heading}:\n")[2].partition(":\n")[0]
        assert ("numba" in lines) == (heading == "host")


@pytest.mark.parametrize(
    ("compiler", "commands", "needs_zig"),
    [
        ("", ("cc",), False),
        ("", ("clang",), False),
        ("", (), True),
        ("musl-gcc", (), False),
        ("python -m ziglang cc -target x86_64-linux-gnu.2.28", ("cc",), True),
    ],
)
def test_a_compiler_is_required_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, compiler: str, commands: tuple[str, ...], needs_zig: bool
) -> None:
    module: Any = hook()
    monkeypatch.setattr(machine, "COMPILERS", POSIX)
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setattr(module.shutil, "which", lambda name: name if name in commands else None)
    made = module.KernelsHook(str(ROOT), {}, None, None, "", "wheel")
    assert [line.partition(">")[0] for line in made.dependencies()] == ["ziglang"] * needs_zig


def test_on_windows_a_build_takes_the_compiler_of_the_release_whatever_else_is_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = hook()
    monkeypatch.setattr(machine, "COMPILERS", ())
    monkeypatch.delenv("CC", raising=False)
    made = module.KernelsHook(str(ROOT), {}, None, None, "", "wheel")
    assert [line.partition(">")[0] for line in made.dependencies()] == ["ziglang"]
    short = WHOLE["dependency-groups"]["short"]  # an edited kernel is compiled anew outside of pip
    assert any(line.startswith("ziglang") and "sys_platform == 'win32'" in line for line in short)
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(machine.shutil, "which", lambda name: f"C:/cygwin64/bin/{name}.exe")
    assert machine.linker_of() == [sys.executable, "-m", "ziglang", "cc"]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the path, where commands are files that do nothing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(machine, "COMPILERS", POSIX)
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    return tmp_path


def command(folder: Path, name: str) -> str:
    made = folder / f"{name}{'.exe' if sys.platform == 'win32' else ''}"
    made.touch(mode=0o755)
    return str(made)


@pytest.mark.parametrize("names", [POSIX, POSIX[1:], POSIX[2:]])
def test_the_first_compiler_on_the_path_links(path: Path, names: tuple[str, ...]) -> None:
    made = [command(path, name) for name in reversed(names)]
    assert [os.path.normcase(word) for word in machine.linker_of()] == [os.path.normcase(made[-1])]


def test_the_package_links_where_the_path_has_no_compiler(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: object() if name == "ziglang" else None)
    assert machine.linker_of() == [sys.executable, "-m", "ziglang", "cc"]


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("musl-gcc -static-libgcc", ["musl-gcc", "-static-libgcc"]),
        ('"/opt/my tools/clang" -O1', ["/opt/my tools/clang", "-O1"]),
    ],
)
def test_cc_names_the_compiler_before_all_others(
    path: Path, monkeypatch: pytest.MonkeyPatch, named: str, words: list[str]
) -> None:
    command(path, "cc")
    monkeypatch.setenv("CC", named)
    assert machine.linker_of() == words


@pytest.mark.parametrize("compilers", [POSIX, ()])
def test_without_any_compiler_the_error_says_what_is_looked_for_and_how_to_get_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, compilers: tuple[str, ...]
) -> None:
    monkeypatch.setattr(machine, "COMPILERS", compilers)
    with pytest.raises(BuildError) as failed:
        machine.linker_of()
    assert has_parts(str(failed.value), "no C compiler", *compilers, "pip install ziglang", "CC")
    assert ("apt-get" in str(failed.value)) == bool(compilers)


def test_a_library_is_linked_in_a_folder_whose_name_has_spaces(tmp_path: Path) -> None:
    place = tmp_path / "a folder' of mine"
    place.mkdir()
    linker = machine.linker_of()
    one = place / "one part.o"
    source = place / "one.c"
    source.write_text("int one(void) { return 1; }\n", encoding="ascii")
    subprocess.run([*linker, "-c", "-o", str(one), str(source)], check=True)
    made = place / f"made{native.SUFFIX}"
    library._link(made, [one], {"needs": []}, linker, machine.target_of("generic"))
    opened = native.Library(made)
    assert (opened.about, opened.code.one()) == ({"needs": []}, 1)


OBJECT = """
import sys
import llvmlite.binding as llvm
from kernelbuild import library, machine, objects
from neardup.kernels.sets import parity_words
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
emitter = machine.emitter_of(library.Target("x86-64-v2", "x86-64-v2", "", f"x86_64-pc-{sys.argv[1]}"))
sys.stdout.buffer.write(objects.object_of(parity_words, 0, 0, emitter))
"""


@pytest.mark.parametrize("system", ["windows-gnu", "unknown-linux-gnu"])
def test_entries_are_exported_by_name_on_windows(system: str) -> None:
    """The functions of runtime.c are, and then nothing else is exported by itself."""
    pytest.importorskip("llvmlite.binding", reason="compiles a kernel; the group short has it")
    # in a process of its own, as a build: objects.py takes the kernels of its process from Numba's own dispatcher
    line = [sys.executable, "-c", OBJECT, system]
    code = subprocess.run(line, cwd=ROOT, capture_output=True, check=True).stdout
    assert (b"-export:nd_sets_parity_words" in code) == ("windows" in system)
    assert code.startswith(b"\x64\x86" if "windows" in system else b"\x7fELF")
    assert "kernelbuild.objects" not in sys.modules


def test_on_windows_code_is_made_for_the_linker_of_mingw(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm = pytest.importorskip("llvmlite.binding", reason="asks LLVM; the group short has it")
    monkeypatch.setattr(llvm, "get_process_triple", lambda: "x86_64-pc-windows-msvc")
    target = machine.target_of("x86-64-v3")
    assert target.triple == "x86_64-pc-windows-gnu"
    assert "-fPIC" not in machine.shared(target, Path("made.dll"), [])


@pytest.mark.parametrize("place", PLACES)
def test_what_is_given_to_others_is_built_for_levels_and_not_for_the_host(place: str) -> None:
    named = set(re.findall(r"x86-64-v\d", PLACES[place]))
    assert len(named) > 1
    assert named <= LEVELS.keys()
    assert named <= set(native.LEVELS)
    assert "generic" in PLACES[place]
    assert not re.search(r"KERNELS(?:_FOR)?[=:] ?['\"]?host", PLACES[place])


def test_each_wheel_of_a_release_names_its_platform_and_the_oldest_system_that_it_is_linked_for() -> None:
    linkers, platforms = re.findall(r"linker: (\S+)", RELEASE), re.findall(r"platform: (\S+)", RELEASE)
    assert len(linkers) == len(platforms) > 3
    assert "NEARDUP_WHEEL_PLATFORM: ${{ matrix.platform }}" in RELEASE
    for linker, platform in zip(linkers, platforms, strict=True):
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.rpartition("_")[2], platform)
        assert linker.startswith(re.sub(r"^manylinux_\d+_\d+_", "", machine))
        version = re.findall(r"gnu\.(\d+)\.(\d+)|macos\.(\d+)\.(\d+)", linker)
        assert not version or "_".join(filter(None, version[0])) in platform
