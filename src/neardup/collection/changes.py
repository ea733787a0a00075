"""Changes of a collection: documents and fields that arrive, groups and tags."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.collection.arrivals import group_pending
from neardup.collection.contract import GroupRow, MemberRow, StoreUnavailableError, too_long_error
from neardup.collection.entries import loaded_texts
from neardup.collection.fields import (
    Ids, LONGEST_ID, MOST_METADATA, MOST_VALUES, differing_parts, id_fault, metadata_fault, parts_in,
    text_fault, usable_id, usable_ids,
)
from neardup.collection.groups.formation import THRESHOLD
from neardup.collection.groups.methods import (
    TaggedDocuments, collection_table, require_verdict, store_reviewing, tag_chosen, tags_page,
)
from neardup.collection.groups.thresholds import regroup
from neardup.collection.intake import OnDuplicate, StorableRows, intake_of
