"""The living collection: documents that arrive, change and leave, kept with their fingerprints in one file."""

from neardup.collection.added import Added, NearCopy
from neardup.collection.collection import Collection, Document
from neardup.collection.groups.records import Change, GroupPage, PairDecision, StoredGroup, StoredMember
from neardup.collection.near import Near

__all__ = [
    "Added",
    "Change",
    "Collection",
    "Document",
    "GroupPage",
    "Near",
    "NearCopy",
    "PairDecision",
    "StoredGroup",
    "StoredMember",
]
