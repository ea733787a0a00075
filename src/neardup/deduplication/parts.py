"""Runs in parts: fingerprints made anywhere, merged, and grown by new documents."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.run.parts.merge import (
    Fingerprinted, merge_opened, open_parts, parts_in, parts_to_merge, require_columns, save_fingerprints,
    with_settings,
)
from neardup.deduplication.run.parts.rows import kept_of_part
from neardup.deduplication.run.parts.update import (
    fill_against, find_against, growing_by, name_parts, read_documents,
)
