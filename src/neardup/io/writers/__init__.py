"""Write results: folders and files that are written atomically, and the kept documents."""

from neardup.io.writers.access import access_of, common_access, creating
from neardup.io.writers.kept import (
    ChunkRows,
    KeptWriter,
    StreamOutput,
    WrittenRows,
    open_kept,
    read_native,
    write_kept,
)
from neardup.io.writers.kept_layout import KeptLayout, value_folder
from neardup.io.writers.outputs import OutputFolder
from neardup.io.writers.page import OutputImage, OutputPage
from neardup.io.writers.problem_list import ProblemList

__all__ = [
    "ChunkRows",
    "KeptLayout",
    "KeptWriter",
    "OutputFolder",
    "OutputImage",
    "OutputPage",
    "ProblemList",
    "StreamOutput",
    "WrittenRows",
    "access_of",
    "common_access",
    "creating",
    "open_kept",
    "read_native",
    "value_folder",
    "write_kept",
]
