"""The first pass over a part of the input, stored."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.fingerprints.chunk import ChunkFacts, EXTRA, ReadChunk, SKETCHES, Values
from neardup.io.fingerprints.documents import FingerprintedDocuments
from neardup.io.fingerprints.folder import (
    MANIFEST, FingerprintFolder, SavedColumn, SavedFingerprints, SavedInput, SavedSource, SortedBands,
    is_fingerprints, manifest_of, read_fingerprints,
)
from neardup.io.fingerprints.companions import (
    NAMES, key_file, names_at, new_key_file, notes_on, read_names, read_secret, shared_secret, write_names,
)
