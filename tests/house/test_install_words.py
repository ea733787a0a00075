"""Each install command on pages and in messages works: from the clone, until a version is released."""

import re
import tomllib

import pytest

from neardup import errors
from support.paths import ROOT

PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "docs").rglob("*.ipynb"),
    ROOT / "Dockerfile",
]
SOURCES = [path for form in ("py", "txt", "html", "js") for path in (ROOT / "src").rglob(f"*.{form}")]
PUBLISHED = re.compile(r"""neardup\[[a-z]|pip3? install (?:-\S+ )*['"]?neardup\b""")
"""The package by its name: whatever somebody else may have registered."""
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_nobody_is_told_to_install_a_package_that_is_not_published() -> None:
    if errors.PACKAGE != ".":
        pytest.skip("the package is released")
    for path in [*PAGES, *SOURCES]:
        assert not PUBLISHED.search(path.read_text(encoding="utf-8")), path


def test_the_pattern_finds_what_was_written_before() -> None:
    for words in (
        'pip install "neardup[web]"',
        "pip install neardup",
        "needs neardup[mcp]",
        "pip install -U neardup",
    ):
        assert PUBLISHED.search(words)
    assert not PUBLISHED.search("pip install . && neardup demo")


def test_every_extra_that_is_named_exists() -> None:
    named = {}
    for path in PAGES:
        for extras in re.findall(r"\.\[([a-z0-9,]+)\]", path.read_text(encoding="utf-8")):
            named.update(dict.fromkeys(extras.split(","), path))
    for path in SOURCES:
        named.update(dict.fromkeys(re.findall(r'install\("(\w+)"\)', path.read_text(encoding="utf-8")), path))
    assert len(named) > 6
    assert not {extra: path for extra, path in named.items() if extra not in EXTRAS}


def test_hints_are_made_by_one_function() -> None:
    for path in SOURCES:
        if path.suffix == ".py" and path.name != "errors.py":
            code = path.read_text(encoding="utf-8").replace("Try: pip install", "")  # an example in a docstring
            assert not re.search(r"""pip install ['"]?\.""", code), path
