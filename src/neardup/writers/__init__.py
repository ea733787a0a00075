"""Writing results: a folder or a page that appears whole or not at all, and the documents that were kept."""

from neardup.writers.kept import KeptWriter, open_kept
from neardup.writers.outputs import OutputFolder
from neardup.writers.page import OutputPage

__all__ = ["KeptWriter", "OutputFolder", "OutputPage", "open_kept"]
