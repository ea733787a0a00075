"""The living collection: documents that arrive, change and leave, kept with their fingerprints in one file."""

from neardup.collection.added import Added, NearCopy
from neardup.collection.collection import Collection, Document
from neardup.collection.groups.records import Change, Decision, Group, GroupPage, Member
from neardup.collection.near import Near

__all__ = [
    "Added",
    "Change",
    "Collection",
    "Decision",
    "Document",
    "Group",
    "GroupPage",
    "Member",
    "Near",
    "NearCopy",
]
