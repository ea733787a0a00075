"""Folders and files that are written atomically, the kept rows, and the working files and journals of runs."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.writers import (
    ChunkRows, KeptLayout, OutputFolder, OutputImage, OutputPage, ProblemList, StreamOutput, access_of,
    limited_access, read_native, value_folder, write_kept,
)
from neardup.io.writers.exports import (
    FORMS, GRAPH_FORMS, OutputExport, as_bytes_of, document_bytes, for_spreadsheets, formulas, refuse_table,
    write_documents, write_new_table,
)
from neardup.io.writers.filesystem import common_access, exposure_warning, require_room, unwritable_error
from neardup.io.writers.kept_formats import have_one_column, line_pieces, with_texts
from neardup.io.writers.kept_parquet import waiting_bytes, writer_threads
from neardup.io.writers.kept_rows import WrittenRows, check_extra
from neardup.io.writers.mirrors import LEFT_OUT, Mirror, fetched_copy, holds_fingerprints
from neardup.io.writers.object_stores import names_in, staging_path, url_of
from neardup.io.writers.output import OutputMetrics, OutputRedline, REDLINE_MARK, stamped_page, write_table
from neardup.io.writers.scratch import (
    FiledTable, FinishedParts, NumberFile, RunJournal, Scratch, TABLE_ROWS, discard, drop_pages, journal_here,
    journal_of, scratch_array, scratch_folder, working_in,
)
