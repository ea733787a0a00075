"""The living collection: documents that arrive, change and leave, kept with their fingerprints in one file."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.collection.collection import Arrival, Collection, own_files
from neardup.collection.documents import Document, DocumentPage, DocumentsById, rows_of_page
from neardup.collection.near import Near
from neardup.collection.records import (
    Added, Change, GroupPage, GroupedPending, NearCopy, PairDecision, StoredGroup, StoredMember, count_into,
)
