"""Write results: folders and files that are written atomically, and the kept documents."""

from neardup.io.writers.access import access_of, common_access, creating
from neardup.io.writers.kept import KeptWriter, open_kept
from neardup.io.writers.outputs import OutputFolder
from neardup.io.writers.page import OutputImage, OutputPage
from neardup.io.writers.problem_list import ProblemList

__all__ = [
    "KeptWriter",
    "OutputFolder",
    "OutputImage",
    "OutputPage",
    "ProblemList",
    "access_of",
    "common_access",
    "creating",
    "open_kept",
]
