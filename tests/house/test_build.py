"""The build of the kernels: its requirements, and the processors and platforms that it is for."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from types import ModuleType
from typing import Any

import pytest

from kernelbuild.library import LEVELS
from neardup.kernels import native
from support.paths import ROOT

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
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setattr(module.shutil, "which", lambda name: name if name in commands else None)
    made = module.KernelsHook(str(ROOT), {}, None, None, "", "wheel")
    assert [line.partition(">")[0] for line in made.dependencies()] == ["ziglang"] * needs_zig


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
