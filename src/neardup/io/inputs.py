"""Documents of any input: files, formats, columns and rows."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.readers import (
    AUTO, choose_columns, choose_reference, document_content, open_documents, open_files, open_sources,
    read_document, read_stream,
)
from neardup.io.readers.base import (
    CHUNK_BYTES, Capture, Chunk, Column, Documents, FailedChunk, Findings, Format, GivesBack, LineProblems,
    NativeLines, NativeRows, NativeTable, Problem, Problems, ReadRows, Removal, ReplacesRows, Sink, as_opened,
    formats_of, have_columns, memory_of, names_in_words, remind,
)
from neardup.io.readers.columns import (
    Chosen, ColumnOptions, ID_NAMES, NAMED_BY_ROW, Reference, TEXT_NAMES, as_text, digests, fault_of_ids,
    find_column, find_labels, inputs_with, join_ids, offer_fields, require_labels, require_one_kind, text_here,
    type_of_column, types_of,
)
from neardup.io.readers.discovery import SUFFIXES_OF_FILES, find_files, matching, names_among, split_pattern
from neardup.io.readers.fields import EACH, FieldPath, joined_name, parts_of, paths_of, texts_in
from neardup.io.readers.folders import Discovered, format_of, partition_of, walk
from neardup.io.readers.rows import as_bytes, read_file_row, row_of
from neardup.io.readers.sets import ElementNumbers, NumberedSets, SetDocuments, SetElements, as_weights
from neardup.io.readers.text_files import PLACE, words_in
