"""Inputs that a result records, read again, and the tables of results."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.readers.arrow import as_binary, chosen, column_type, fitted_table
from neardup.io.readers.manifest import (
    ChangedError, Manifest, RUN_FILE, damaged_error, decoded_table, read_manifest, read_regular, table_in,
    read_whole,
)
from neardup.io.readers.parquet import ParquetDocuments
from neardup.io.readers.parquet_pages import FooterGroup
from neardup.io.readers.places import Recorded, RecordedFiles, places_of
from neardup.io.readers.sources import Source, refuse_stdin, whole_digest
from neardup.io.readers.tables import read_table
