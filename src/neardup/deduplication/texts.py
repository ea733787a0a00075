"""The texts of a result, read again from the places that it records."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.deduplication.run.copy_differences import CopyDifferences, NO_TEXTS
from neardup.deduplication.run.places import (
    Outside, differing_parts, fate, fetched_inputs, fields_of, no_texts_error, places_of, similarities,
    similarity_of_pair, typed_id,
)
from neardup.deduplication.run.texts import split_id
