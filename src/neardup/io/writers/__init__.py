"""Write results: folders and files that are written atomically, and the kept documents."""

from neardup.io.writers.access import access_of, common_access, creating
from neardup.io.writers.kept import KeptWriter, open_kept, read_native
from neardup.io.writers.kept_layout import KeptLayout
from neardup.io.writers.kept_split import value_folder
from neardup.io.writers.kept_stream import StreamOutput
from neardup.io.writers.outputs import OutputFolder
from neardup.io.writers.page import OutputImage, OutputPage
from neardup.io.writers.problem_list import ProblemList

__all__ = [
    "KeptLayout",
    "KeptWriter",
    "OutputFolder",
    "OutputImage",
    "OutputPage",
    "ProblemList",
    "StreamOutput",
    "access_of",
    "common_access",
    "creating",
    "open_kept",
    "read_native",
    "value_folder",
]
