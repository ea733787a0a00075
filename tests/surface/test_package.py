"""The package as people install it: a wheel and a source archive, built without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from neardup.kernels import native

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
LIBRARY = "neardup/kernels/library"
OBJECTS = Path("build", "kernels")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source archive, and the wheel that is built from its content."""
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run([*build, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # 3.11.4
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    if (ROOT / OBJECTS).exists():  # of the same sources, or else they are compiled
        shutil.copytree(ROOT / OBJECTS, unpacked / OBJECTS)
    subprocess.run([*build, "-t", "wheel"], cwd=unpacked, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return archive, wheel


def tracked() -> set[str]:
    """The files of the package, as the repository has them: without the library of kernels, which is built."""
    return {
        path.relative_to(SOURCES).as_posix()
        for path in (SOURCES / "neardup").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.parent != native.FOLDER
    }


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == tracked() | {f"{LIBRARY}/host{native.SUFFIX}"}
    assert {"neardup/py.typed", "neardup/unicode-15.0.0.npz"} <= names


def test_the_wheel_is_for_one_platform_and_all_versions_of_python(built: tuple[Path, Path]) -> None:
    version, python, abi, platform = built[1].stem.removeprefix("neardup-").split("-")
    assert (python, abi) == ("py3", "none")
    assert platform.startswith(("linux_", "macosx_", "win"))
    with zipfile.ZipFile(built[1]) as wheel:
        about = wheel.read(f"neardup-{version}.dist-info/WHEEL").decode()
    assert f"Tag: py3-none-{platform}\n" in about
    assert "Root-Is-Purelib: false\n" in about


def test_the_metadata_are_those_of_the_project(built: tuple[Path, Path]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(built[1]) as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        metadata = message_from_bytes(wheel.read(name))
        assert any(name.endswith("licenses/NOTICE") for name in wheel.namelist())
    assert metadata["Name"] == "neardup"
    assert metadata["Version"] == project["version"]
    assert set(metadata.get_all("Classifier", [])) == set(project["classifiers"])
    assert set(metadata.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    assert "# neardup" in str(metadata.get_payload())
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {project['version']}\n" in citation


def test_the_wheel_runs_where_it_is_installed(built: tuple[Path, Path], tmp_path: Path) -> None:
    place = tmp_path / "place"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(place),
    ]
    subprocess.run([*command, str(built[1])], check=True, capture_output=True)
    program = (
        "import neardup, sys; from neardup.cli.commands import COMMANDS; "
        "sys.modules['numba'] = None; "
        "assert len(neardup.find(['one two three four five six'] * 2).removed) == 1; "
        "print(neardup.__file__, neardup.__version__, len(COMMANDS) > 10)"
    )
    env = {"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=env, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.split()[0] == str(place / "neardup" / "__init__.py")
    assert done.stdout.split()[2] == "True"


def test_the_source_archive_has_the_sources_and_all_that_its_tests_need(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "CITATION.cff", "SECURITY.md"} <= names
    assert {f"src/{name}" for name in tracked()} <= names
    assert {"hatch_build.py", "kernelbuild/library.py", "kernelbuild/runtime.c"} <= names
    assert not [name for name in names if LIBRARY in name or name.startswith("build")]
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*") if path.is_file()}
    assert {name for name in tests if "__pycache__" not in name} <= names
    assert not [name for name in names if name.startswith(".venv")]


WITHOUT = """
import importlib, pkgutil, sys
for name in sys.argv[1:]:
    sys.modules[name] = None
import neardup
for found in pkgutil.walk_packages(neardup.__path__, "neardup."):
    try:
        found.name.endswith("__main__") or importlib.import_module(found.name)
    except ImportError:
        print(found.name)
"""
EXTRAS = {
    "service": ("starlette", "uvicorn", "h11", "prometheus_client", "python_multipart"),
    "others": ("psycopg", "mcp", "httpx", "pyspark", "fsspec", "pypdfium2", "olefile", "openpyxl", "warcio"),
}
"""The packages of extras, by their import names."""
NEEDS = {
    "service": (
        *("neardup.service.app", "neardup.service.routes", "neardup.service.endpoints", "neardup.service.front"),
        *("neardup.service.executor", "neardup.service.server", "neardup.service.workers"),
        *(
            "neardup.review.live.",
            "neardup.service.web.middleware",
            "neardup.service.web.monitoring",
            "neardup.service.web.server",
        ),
        "neardup.cli.agents",
    ),
    "others": (
        *("neardup.collection.store.postgres", "neardup.cli.agents", "neardup.io.containers.warc"),
        *("neardup.io.readers.warc", "neardup.io.writers.kept_warc"),
    ),
}
"""The modules that are loaded for these extras alone, by the beginnings of their names."""


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_package_is_imported_without_an_extra(extra: str) -> None:
    """The client of the service, for example, comes with an extra of its own."""
    command = [sys.executable, "-c", WITHOUT, *EXTRAS[extra]]
    failed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert not [name for name in failed if not name.startswith(NEEDS[extra])]
    assert all(any(name.startswith(begin) for name in failed) for begin in NEEDS[extra])
