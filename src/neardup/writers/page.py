"""One HTML page."""

from __future__ import annotations

from neardup.writers.file import OutputFile

# A file that begins with this is a page of an earlier run and may be replaced when asked to.
_OWN = b'<meta name="generator" content="neardup'


class OutputPage(OutputFile):
    """A page as a context manager: complete under its name, or not there at all."""

    kind = "page"

    def is_own(self, beginning: bytes) -> bool:
        """Whether it is a page that neardup has made."""
        return _OWN in beginning

    def write(self, page: str) -> None:
        """Write the page, in UTF-8; a lone surrogate becomes a question mark."""
        self.write_bytes(page.encode("utf-8", "replace"))
