"""The contents of files: text, attachments, and members of archives."""

# mypy: implicit-reexport
# ruff: noqa: F401, I001
# fmt: off

from neardup.io.attachments import (
    ATTACHMENTS, ATTACHMENTS_TYPE, Carried, NOT_COMPARED, carried_by, carries, column_for, column_of,
    differences, differing_kinds, differing_in, in_samples, in_words, kinds_not_compared, lacking_places,
    lost_unread, mix_in, own_of, same_or_not, stored_attachments, unread_of,
)
from neardup.io.containers.addresses import MARK, is_container, split_address
from neardup.io.containers.base import safe_name
from neardup.io.formats import packages
from neardup.io.formats.content import ATTACHED, Attachment, Content, LISTS, METADATA, ORIGIN, UNREAD
from neardup.io.formats.kinds import NOT_EXTRACTED
from neardup.io.storage.spool import local_copies
