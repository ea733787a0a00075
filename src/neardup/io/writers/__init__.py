"""Write results: folders and files that are written atomically, and the kept documents."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.writers.filesystem import access_of, common_access, limited_access
from neardup.io.writers.folder import OutputFolder
from neardup.io.writers.kept_layout import KeptLayout, value_folder
from neardup.io.writers.kept_rows import (
    ChunkRows, KeptWriter, StreamOutput, WrittenRows, open_kept, read_native, write_kept,
)
from neardup.io.writers.output import OutputImage, OutputPage, ProblemList
