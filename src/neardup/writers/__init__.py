"""Writing results: a folder that appears whole or not at all, and the documents that were kept."""

from neardup.writers.kept import KeptWriter, open_kept
from neardup.writers.outputs import OutputFolder

__all__ = ["KeptWriter", "OutputFolder", "open_kept"]
