"""Make the photographs of docs/images: pages that the program makes of its sample documents, and parts of them.

Needs the Chromium of the system and Playwright. No image has more than ``LARGEST`` bytes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from gallery import first_link, review, run, sample_result, saved

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
LETTERS = ROOT / "docs" / "tutorial" / "files" / "letters"
sys.path.insert(0, str(ROOT / "tests"))

PARTS = {
    "part-bar": ("pair", "header.bar"),
    "part-panes": ("pair", "#pane-members"),
    "part-facets": ("groups", "main"),
    "part-members": ("group", "main"),
    "part-pair": ("pair", "#here"),
    "part-texts": ("pair", "table.texts"),
    "part-charts": ("threshold", "main"),
    "desk-light": ("pair", "body"),
    "desk-dark": ("pair", "body"),
    "report": ("report", "body"),
    "letters": ("letters", "table.texts"),
}
"""An image, the page that has the part, and where it is there."""
SIZE = {"width": 1366, "height": 768}
WINDOWS = {
    "desk": {"width": 1110, "height": 500},
    "report": {"width": 1200, "height": 768},
    "letters": {"width": 1000, "height": 768},
}
"""The windows of images that are shown whole: the smallest with three panes, and that of a page read alone."""
HIGHEST = 480
"""Pixels of an image."""
LARGEST = 60_000
"""Bytes of an image."""


def photograph(page: Any, address: str, place: str) -> bytes:
    """Return the image of a part of a page, its first ``HIGHEST`` pixels, in the best quality that fits."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    box = page.locator(place).first.bounding_box()
    width = min(box["width"], page.viewport_size["width"])
    clip = {"x": max(0, box["x"]), "y": max(0, box["y"]), "width": width, "height": min(box["height"], HIGHEST)}
    for quality in (70, 60, 50, 40, 30, 20):
        image: bytes = page.screenshot(type="jpeg", quality=quality, clip=clip, full_page=True)
        if len(image) <= LARGEST:
            return image
    raise SystemExit(f"{address}, {place}: {len(image)} bytes in the lowest quality")


def main() -> None:
    """Make all images."""
    from support.browser import chromium

    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        os.chdir(made)  # names without the folder
        result = sample_result(Path())
        run("dedup", "documents.jsonl", "-o", "result")
        run("report", "result", "-o", "report.html")
        run("compare", LETTERS / "inbox/budget.eml", LETTERS / "sent/answer.eml", "--html", "letters.html")
        with review(result) as address:
            groups = saved(address, "/")
            group = first_link(groups, "groups")
            pair = first_link(saved(address, group), "pairs")
            paths = {"groups": "/", "group": group, "pair": pair, "threshold": "/threshold"}
            pages = {name: address + path for name, path in paths.items()}
            for name in ("report", "letters"):
                pages[name] = Path(f"{name}.html").absolute().as_uri()
            for name, (where, place) in PARTS.items():
                scheme = "dark" if name.endswith("-dark") else "light"
                page = browser.new_page(viewport=WINDOWS.get(name.partition("-")[0], SIZE), color_scheme=scheme)
                (IMAGES / f"{name}.jpg").write_bytes(photograph(page, pages[where], place))
                page.close()


if __name__ == "__main__":
    main()
