"""Prepare the files of a release: what only the place of publication knows, and what must agree before it.

    python scripts/release.py --check vX.Y.Z
    python scripts/release.py --address URL vX.Y.Z
    python scripts/release.py --recipe dist/neardup-X.Y.Z.tar.gz vX.Y.Z > recipe.yaml

--check compares the tag with the versions in pyproject.toml, CITATION.cff and the recipe, and with the changelog.
--address writes the address of the repository into a checkout that is about to be built: the links of the project,
links and pictures of README.md, which a package page shows without the files beside it, the address and date in
CITATION.cff, the address in the recipe, and the published name into hints and pages. The workflow runs it; nothing
of it is committed. --recipe prints the recipe of conda-forge with the digest of the sdist.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPE = "deploy/conda/recipe.yaml"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def absolute(page: str, address: str, tag: str) -> str:
    """Return a page whose links to files beside it lead into the repository.

    >>> absolute("[A](docs/a.md#b) ![B](b.svg) [C](https://c.example)", "https://host.example/n", "v1")
    '[A](https://host.example/n/blob/v1/docs/a.md#b) ![B](https://host.example/n/raw/v1/b.svg) [C](https://c.example)'
    """
    return LINK.sub(
        lambda link: f"{link[1]}[{link[2]}]({address}/{'raw' if link[1] else 'blob'}/{tag}/{link[3]})", page
    )


def urls(address: str) -> str:
    """Return the table of links of the project."""
    return (
        "[project.urls]\n"
        f'Repository = "{address}"\n'
        f'Documentation = "{address}/blob/main/docs/index.md"\n'
        f'Changelog = "{address}/blob/main/CHANGELOG.md"\n'
        f'Issues = "{address}/issues"\n'
        f'Security = "{address}/security/advisories/new"\n\n'
    )


def version() -> str:
    """Return the version in pyproject.toml."""
    stated = re.search(r'^version = "(.+)"$', read("pyproject.toml"), re.MULTILINE)
    assert stated is not None, "pyproject.toml has a version"
    return stated[1]


def read(name: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def disagreements(tag: str) -> list[str]:
    """Return the places that name another version than the tag."""
    number = tag.removeprefix("v")
    places = []
    if version() != number:
        places.append(f"pyproject.toml has version {version()}")
    if f"version: {number}\n" not in read("CITATION.cff"):
        places.append("CITATION.cff has another version")
    if f'version: "{number}"\n' not in read(RECIPE):
        places.append(f"{RECIPE} has another version")
    if not re.search(rf"^## \[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d$", read("CHANGELOG.md"), re.MULTILINE):
        places.append(f"CHANGELOG.md has no section {number} with a date")
    return places


def write(address: str, tag: str) -> None:
    """Write the address and the published name into the checkout."""
    changed = {
        "README.md": absolute(read("README.md"), address, tag),
        "pyproject.toml": read("pyproject.toml").replace(
            "[project.scripts]", urls(address) + "[project.scripts]", 1
        ),
        "CITATION.cff": read("CITATION.cff").replace(
            "license:", f"repository-code: {address}\ndate-released: {datetime.now(UTC):%Y-%m-%d}\nlicense:", 1
        ),
        RECIPE: read(RECIPE).replace("about:\n", f"about:\n  homepage: {address}\n  repository: {address}\n", 1),
        "src/neardup/errors.py": read("src/neardup/errors.py").replace('PACKAGE = "."', 'PACKAGE = "neardup"', 1),
    }
    for name, text in changed.items():
        assert text != read(name), f"{name} has nothing to change"
        (ROOT / name).write_text(text, encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        text = re.sub(r'pip install "?\.(\[[\w,]+\])?"?(?=[\s`]|$)', published, text)
        page.write_text(re.sub(r"\b(uvx|pipx run) --(?:from|spec) \. ", r"\1 ", text), encoding="utf-8")


def recipe(sdist: Path) -> str:
    """Return the recipe of conda-forge with the digest of an sdist."""
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    return re.sub(r'^(  sha256: )".*"$', rf'\1"{digest}"', read(RECIPE), flags=re.MULTILINE)


def published(command: re.Match[str]) -> str:
    """Return the command that installs the published package in place of a clone."""
    return f'pip install "neardup{command[1]}"' if command[1] else "pip install neardup"


def main() -> int:
    """Check the tag, and write the address or print the recipe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tag")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--address")
    parser.add_argument("--recipe", type=Path)
    given = parser.parse_args()
    if places := disagreements(given.tag):
        print(f"{given.tag}: {'; '.join(places)}", file=sys.stderr)
        return 1
    if given.address:
        write(given.address.rstrip("/"), given.tag)
    if given.recipe:
        print(recipe(given.recipe), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
