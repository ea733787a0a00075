"""The images of the documentation are made by a script, and can be read without seeing them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.paths import ROOT

IMAGES = sorted((ROOT / "docs" / "images").glob("*.svg"))
PHOTOGRAPHS = sorted((ROOT / "docs" / "images").glob("*.jpg"))
LARGEST = 60_000
"""Bytes of an image."""
CORE = (
    *("tutorial/first-dedup", "tutorial/two-documents", "tutorial/a-collection", "howto/review", "howto/report"),
    *("explanation/comparison", "explanation/thresholds", "explanation/measures"),
)
"""The pages that show what they are about."""
SHOWN = re.compile(r"!\[([^\]]+)\]\([^)]*images/([\w.-]+)\)")
PAGE_OF = {
    "comparison.svg": "docs/explanation/comparison.md",
    "plan.svg": "docs/explanation/measures.md",
    "shingles.svg": "docs/explanation/measures.md",
    "stages.svg": "ARCHITECTURE.md",
    "thresholds.svg": "docs/explanation/thresholds.md",
}
SVG = "{http://www.w3.org/2000/svg}"


def test_the_images_are_up_to_date() -> None:
    script = ROOT / "scripts" / "make_images.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_image_has_a_page() -> None:
    assert [path.name for path in IMAGES] == sorted(PAGE_OF)


def test_photographs_are_made_by_the_script_and_shown_with_words() -> None:
    shown = {
        name: words for page in (ROOT / "docs").rglob("*.md") for words, name in SHOWN.findall(page.read_text())
    }
    made = (ROOT / "scripts" / "page_images.py").read_text(encoding="utf-8")
    assert PHOTOGRAPHS
    for path in PHOTOGRAPHS:
        assert f'"{path.stem}": (' in made
        assert len(shown[path.name]) > 20


@pytest.mark.parametrize("path", [*IMAGES, *PHOTOGRAPHS], ids=lambda path: path.name)
def test_an_image_is_small(path: Path) -> None:
    assert path.stat().st_size <= LARGEST


@pytest.mark.parametrize("name", CORE)
def test_a_core_page_has_a_picture(name: str) -> None:
    assert SHOWN.search((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))


def test_the_stages_fit_one_screen() -> None:
    image = ElementTree.parse(ROOT / "docs" / "images" / "stages.svg").getroot()
    assert float(image.get("width", "inf")) <= 1200
    assert float(image.get("height", "inf")) <= 700


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.name)
def test_an_image_has_a_title_and_a_description_and_needs_no_other_file(path: Path) -> None:
    image = ElementTree.parse(path).getroot()
    named = (image.get("aria-labelledby") or "").split()
    known = {element.get("id"): element for element in image}
    assert [known[name].tag for name in named] == [f"{SVG}title", f"{SVG}desc"]
    assert all(known[name].text for name in named)
    text = path.read_text(encoding="utf-8").replace(SVG[1:-1], "")
    assert not any(part in text for part in ("http", "url(", "@import", "<script", "href"))
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.name)
def test_its_page_shows_the_image_with_an_alternative_text(path: Path) -> None:
    page = (ROOT / PAGE_OF[path.name]).read_text(encoding="utf-8")
    shown = re.search(rf"!\[([^\]]+)\]\((?:docs|\.\.)/images/{re.escape(path.name)}\)", page)
    assert shown
    assert len(shown[1]) > 30
