"""The site of the documentation: built by one command, read from the disk in Chromium."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from neardup import __version__
from support.browser import chromium
from support.paths import ROOT

pytest.importorskip("furo", reason="the group site of pyproject.toml has it")
NEWER = "99.0"
"""A version whose site is a copy of this one."""


class Site(NamedTuple):
    """A folder with the sites of two versions, and the messages of the build."""

    folder: Path
    messages: str

    @property
    def docs(self) -> Path:
        return self.folder / __version__ / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    (folder / NEWER / "docs").mkdir(parents=True)
    (folder / NEWER / "docs" / "index.html").write_text("a site that stays")
    build = [sys.executable, str(ROOT / "scripts" / "make_site.py"), str(folder)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    shutil.copytree(folder / __version__, folder / NEWER, dirs_exist_ok=True)
    for page in (folder / NEWER).rglob("*.html"):
        own = page.read_text(encoding="utf-8")
        page.write_text(own.replace(f'data-version="{__version__}"', f'data-version="{NEWER}"'), encoding="utf-8")
    return Site(folder, done.stderr)


def test_the_site_builds_without_a_warning_and_without_a_broken_link(site: Site) -> None:
    assert 'id="neardup.find"' in (site.docs / "reference" / "api.html").read_text(encoding="utf-8")
    assert f"{NEWER}/docs/index.html" in (site.folder / "index.html").read_text(encoding="utf-8")
    assert f'["{NEWER}", "{__version__}"]' in (site.folder / "versions.js").read_text(encoding="utf-8")
    for page in site.folder.rglob("*.html"):
        assert "–from" not in page.read_text(encoding="utf-8"), f"{page}: an option has lost its dashes"


def test_the_gallery_has_a_picture_of_each_page_in_both_schemes(site: Site) -> None:
    gallery = (site.docs / "gallery.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'href="(gallery/[^"]+)"', gallery))
    assert len(shown) >= 6
    assert all("<h1" in (site.docs / name).read_text(encoding="utf-8") for name in shown)
    pictures = re.findall(r'<img class="only-(?:light|dark)" src="([^"]+)"[^>]*\balt="[^"]{20,}"', gallery)
    if "the gallery has no pictures" in site.messages:
        pytest.skip("Chromium or Playwright is not installed")
    assert len(set(pictures)) == 2 * len(shown)
    assert sum((site.docs / name).stat().st_size for name in pictures) <= 300_000


def test_every_page_is_reached_from_the_index(site: Site) -> None:
    """Only the page of search results has no link."""
    reached, left = set(), [site.docs / "index.html"]
    while left:
        page = left.pop()
        if page not in reached:
            reached.add(page)
            links = re.findall(r'<a\b[^>]*\bhref="([^":#?]+\.html)[#"]', page.read_text(encoding="utf-8"))
            left += [(page.parent / link).resolve() for link in links]
    pages = set((site.folder / __version__).rglob("*.html"))
    assert {page.name for page in pages - reached} == {"search.html"}
    assert reached <= pages


def test_search_and_versions_work_from_the_disk(site: Site) -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.goto((site.folder / "index.html").as_uri())
        page.wait_for_url(f"**/{NEWER}/docs/index.html")
        page.click("#versions a")
        page.wait_for_url(f"**/{__version__}/docs/index.html")
        page.fill("input.sidebar-search", "decontaminate")
        page.press("input.sidebar-search", "Enter")
        page.wait_for_selector("#search-results li a")
        page.click("#search-results li a >> nth=0")
        page.wait_for_url("**/docs/**")
        assert "decontaminate" in page.inner_text("article")


@pytest.mark.parametrize("name", ["howto/agents", "evidence", "gallery", "reference/cli", "reference/api"])
def test_a_page_fits_a_telephone(site: Site, name: str) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        page.goto((site.docs / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        lines = page.evaluate("""() => {
            const title = document.querySelector("h1"), style = getComputedStyle(title);
            return title.getBoundingClientRect().height / parseFloat(style.lineHeight);
        }""")
        assert lines < 3.5
