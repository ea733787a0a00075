"""One HTML page, or one SVG image."""

from __future__ import annotations

from pathlib import Path

from neardup.io.writers.access import EVERYBODY
from neardup.io.writers.file import OutputFile
from neardup.io.writers.stamp import stamped_page

_BEGINNING = 2048

# In the head of each page, after its content security policy.
_PAGE_HEAD = b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv='
_PAGE_MARK = b'\n<meta name="generator" content="neardup'
_IMAGE_HEAD = b'<svg xmlns="http://www.w3.org/2000/svg" class="neardup-advice" '


class OutputPage(OutputFile):
    """A page as a context manager: complete under its name, or absent."""

    kind = "a page"

    def is_own(self, path: Path) -> bool:
        """Return whether neardup wrote the page."""
        beginning = _beginning(path)
        return beginning.startswith(_PAGE_HEAD) and _PAGE_MARK in beginning

    def write(self, page: str) -> None:
        """Write the page, in UTF-8; a lone surrogate becomes a question mark."""
        self.write_bytes(stamped_page(page).encode("utf-8", "replace"))


class OutputImage(OutputPage):
    """An image as a context manager; one of an earlier run is replaced."""

    kind = "an image"

    def __init__(self, path: str | Path, *, access: int = EVERYBODY) -> None:
        super().__init__(path, overwrite=True, access=access)

    def is_own(self, path: Path) -> bool:
        """Return whether neardup wrote the image."""
        return _beginning(path).startswith(_IMAGE_HEAD)


def _beginning(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(_BEGINNING)
