"""The living collection: documents that arrive, change and leave, kept with their fingerprints in one file."""

from neardup.collection.collection import Added, Collection, Document

__all__ = ["Added", "Collection", "Document"]
