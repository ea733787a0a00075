"""Decisions of people about a result, and tables for other programs."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.run.exchange import (
    Exported, describe_table, export_bytes, export_table, export_pieces, import_into, require_export,
)
from neardup.deduplication.run.review_decisions import ReviewedResult, sizes_of
from neardup.deduplication.run.stored_review import (
    after_review, as_reviewed, later_action, older_report, page_state, review_in, read_review,
)
