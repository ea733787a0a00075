"""A release can be made from a checkout: its pages work by themselves, and its recipes fit pyproject.toml."""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from support.paths import ROOT

ADDRESS = "https://host.example/owner/neardup"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TAG = f"v{PROJECT['version']}"
NEEDED = (
    "README.md",
    "pyproject.toml",
    "CITATION.cff",
    "CHANGELOG.md",
    "deploy/conda/recipe.yaml",
    "scripts/release.py",
    "src/neardup/errors.py",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that a release reads and writes, with a dated section of the changelog."""
    for name in NEEDED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    log = tmp_path / "CHANGELOG.md"
    log.write_text(log.read_text(encoding="utf-8").replace("- unreleased", "- 2030-01-31"), encoding="utf-8")
    return tmp_path


def release(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "scripts" / "release.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_tag_that_disagrees_is_refused_with_each_place(checkout: Path) -> None:
    assert release(checkout, "--check", TAG).returncode == 0
    refused = release(checkout, "--check", "v9.9.9")
    assert refused.returncode == 1
    for place in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "deploy/conda/recipe.yaml"):
        assert place in refused.stderr
    shutil.copy(ROOT / "CHANGELOG.md", checkout)
    assert ("CHANGELOG.md" in release(checkout, "--check", TAG).stderr) == (
        "- unreleased" in read(ROOT, "CHANGELOG.md")
    )


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_links_lead_into_the_repository_and_hints_name_the_published_package(checkout: Path) -> None:
    written = release(checkout, "--address", ADDRESS, TAG)
    assert written.returncode == 0, written.stderr
    readme = read(checkout, "README.md")
    targets = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert targets
    assert all(target.startswith(("https://", "#")) for target in targets), targets
    for target in targets:
        if target.startswith(ADDRESS):
            path = target.removeprefix(ADDRESS).split("#")[0].split(f"/{TAG}/")[1]
            assert (ROOT / path).exists(), target
    project = tomllib.loads(read(checkout, "pyproject.toml"))["project"]
    assert project["urls"]["Repository"] == ADDRESS
    assert {name: value for name, value in project.items() if name != "urls"} == PROJECT
    assert f"repository-code: {ADDRESS}\n" in read(checkout, "CITATION.cff")
    for page in (checkout / "README.md", *(checkout / "docs").rglob("*.md")):
        assert not re.search(r'pip install "?\.[\["\s`]', page.read_text(encoding="utf-8")), page
    assert "`uvx neardup demo` and `pipx run neardup demo`" in readme
    code = "import sys; sys.path.insert(0, sys.argv[1]); import errors; print(errors.install('web'))"
    hint = subprocess.run(
        [sys.executable, "-c", code, str(checkout / "src" / "neardup")], capture_output=True, text=True, check=True
    )
    assert hint.stdout == 'pip install "neardup[web]"\n'


def listed(recipe: str, heading: str) -> list[str]:
    """The lines of a list of the recipe."""
    (lines,) = re.findall(rf"^( +){heading}:\n((?:\1  - .*\n)+)", recipe, re.MULTILINE)
    return [line.strip()[2:] for line in lines[1].splitlines()]


def test_the_recipe_of_conda_is_that_of_pyproject() -> None:
    recipe, whole = read(ROOT, "deploy/conda/recipe.yaml"), tomllib.loads(read(ROOT, "pyproject.toml"))
    python, *run = listed(recipe, "run")
    assert python == "python >=${{ python_min }}"
    assert [line.replace(" ", "") for line in run] == PROJECT["dependencies"]
    python, pip, *host = listed(recipe, "host")
    assert (python, pip) == ("python ${{ python_min }}.*", "pip")
    assert [line.replace(" ", "") for line in host] == whole["build-system"]["requires"]
    assert [line.replace(" ", "") for line in listed(recipe, "entry_points")] == [
        f"{name}={function}" for name, function in PROJECT["scripts"].items()
    ]
    stated = dict(reversed(re.findall(r'^  (\w+): "?([^"\n]+)"?$', recipe, re.MULTILINE)))
    assert stated["version"] == PROJECT["version"]
    assert f">={stated['python_min']}" == PROJECT["requires-python"]
    assert (stated["summary"], stated["license"]) == (PROJECT["description"], PROJECT["license"])
    files = stated["license_file"].strip("[]").split(", ")
    assert {*files} == {
        str(path.relative_to(ROOT)) for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)
    }


def test_the_recipe_of_a_release_has_the_digest_of_its_sdist(checkout: Path, tmp_path: Path) -> None:
    sdist = tmp_path / f"neardup-{PROJECT['version']}.tar.gz"
    sdist.write_bytes(b"an archive")
    printed = release(checkout, "--address", ADDRESS, "--recipe", str(sdist), TAG)
    assert printed.returncode == 0, printed.stderr
    assert f'sha256: "{hashlib.sha256(b"an archive").hexdigest()}"\n' in printed.stdout
    assert f"  homepage: {ADDRESS}\n" in printed.stdout


def test_the_sdist_has_what_the_recipes_copy(tmp_path: Path) -> None:
    build = "import sys; from hatchling.build import build_sdist; build_sdist(sys.argv[1])"
    pytest.importorskip("hatchling", reason="builds the package; the group tests has it")
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        members = {name.partition("/")[2] for name in opened.getnames()}
    lines = re.findall(r"^COPY (?!--)(.*) \S+$", read(ROOT, "Dockerfile"), re.MULTILINE)
    for name in (*" ".join(lines).split(), "Dockerfile", "deploy/conda/recipe.yaml", "LICENSE"):
        assert any(member == name or member.startswith(f"{name}/") for member in members), name
