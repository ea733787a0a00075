"""Make the images of docs/contributing/pages.md: each part of a review of the sample documents, and its charts.

Needs the Chromium of the system and Playwright.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from gallery import first_link, review, sample_result, saved

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "tests"))

PARTS = {
    "bar": ("pair", "header.bar"),
    "panes": ("pair", "#pane-members"),
    "facets": ("groups", "main"),
    "members": ("group", "main"),
    "pair": ("pair", "#here"),
    "texts": ("pair", "table.texts"),
    "charts": ("threshold", "main"),
}
"""An image, the page that has the part, and where it is there."""
SIZE = {"width": 1366, "height": 768}
HIGHEST = 480
"""Pixels of an image."""


def screenshot(page: Any, address: str, place: str, image: Path) -> None:
    """Write the image of a part of a page, at most its first ``HIGHEST`` pixels."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    box = page.locator(place).first.bounding_box()
    height = min(box["height"], HIGHEST)
    clip = {"x": max(0, box["x"]), "y": box["y"], "width": min(box["width"], SIZE["width"]), "height": height}
    page.screenshot(path=image, type="jpeg", quality=60, clip=clip, full_page=True)


def main() -> None:
    """Make all images."""
    from support.browser import chromium

    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        os.chdir(made)  # names without the folder
        with review(sample_result(Path())) as address:
            groups = saved(address, "/")
            group = first_link(groups, "groups")
            pair = first_link(saved(address, group), "pairs")
            paths = {"groups": "/", "group": group, "pair": pair, "threshold": "/threshold"}
            page = browser.new_page(viewport=SIZE)
            for name, (where, place) in PARTS.items():
                screenshot(page, address + paths[where], place, IMAGES / f"part-{name}.jpg")


if __name__ == "__main__":
    main()
