"""The living collection: documents that arrive, change and leave, kept with their fingerprints in one file."""

from neardup.collection.collection import Collection
from neardup.collection.documents import Document
from neardup.collection.near import Near
from neardup.collection.records import Added, Change, GroupPage, NearCopy, PairDecision, StoredGroup, StoredMember

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
