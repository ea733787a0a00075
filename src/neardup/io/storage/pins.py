"""The state of an object when it was seen first, so that all bytes of a run are those of one version."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from neardup.display import counted, printable
from neardup.errors import InputError

_TAGS = (
    "etag",
    "e_tag",
    "content-md5",
    "content_md5",
    "md5",
    "md5hash",
    "sha256",
    "oid",
    "blob_id",
    "checksum",
    "cid",
)
_VERSIONS = ("versionid", "version_id", "generation", "revision")
_TIMES = (
    "last-modified",
    "lastmodified",
    "last_modified",
    "mtime",
    "modified",
    "updated",
    "timemodified",
    "created",
)
"""The names of these facts in the answers of servers and of plugins, in lower case."""


@dataclass(frozen=True)
class Pin:
    """The entity tag, the version, the time of the last change (ISO, UTC) and the size of an object.

    Unknown facts are None. A tag is weak if it begins with ``W/``.
    """

    etag: str | None = None
    version: str | None = None
    modified: str | None = None
    size: int | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any], size: int | None = None) -> "Pin":
        """Return the pin of the facts that a server, or a plugin of fsspec, reports of an object."""
        known = {name.lower(): value for name, value in facts.items() if value not in (None, "", b"")}
        tag, version, time = (
            next((_text(known[name]) for name in names if name in known), None)
            for names in (_TAGS, _VERSIONS, _TIMES)
        )
        known_tag, known_version = (None if value is None else str(value) for value in (tag, version))
        return cls(known_tag, known_version, None if time is None else _time(time), size)

    @property
    def strong_etag(self) -> str | None:
        """The entity tag if it is that of the bytes, so that ``If-Match`` may have it."""
        return None if self.etag is None or self.etag.startswith("W/") else self.etag

    @property
    def identity(self) -> dict[str, str | int | None]:
        """The facts that tell versions apart, for a record of the inputs: tag or version, else time and size."""
        if self.etag or self.version:
            return {"etag": _opaque(self.etag)} if self.etag else {"version": self.version}
        return {"modified": self.modified, "size": self.size}

    def is_of(self, seen: "Pin") -> bool:
        """Return whether the object ``seen`` may be the pinned one: nothing known of both contradicts it."""
        if None not in (self.size, seen.size) and self.size != seen.size:
            return False
        if None not in (self.version, seen.version) and self.version == seen.version:
            return True
        if None not in (self.etag, seen.etag):
            return _opaque(self.etag) == _opaque(seen.etag)
        if None not in (self.version, seen.version):
            return False
        return None in (self.modified, seen.modified) or _same_time(str(self.modified), str(seen.modified))

    def proves(self, seen: "Pin") -> bool:
        """Return whether ``seen`` has one of the facts that tell the versions of this object apart."""
        pairs = [(self.etag, seen.etag), (self.version, seen.version), (self.modified, seen.modified)]
        return any(None not in pair for pair in pairs)

    def with_more(self, other: "Pin") -> "Pin":
        """Return the pin with the facts of another one where its own are not known."""
        return replace(
            self,
            **{
                name: getattr(other, name)
                for name in ("etag", "version", "modified", "size")
                if getattr(self, name) is None
            },
        )

    def __str__(self) -> str:
        named = (("ETag", self.etag), ("version", self.version), ("last change", self.modified))
        parts = [f"{name} {printable(value)}" for name, value in named if value]
        return ", ".join([*parts, *([] if self.size is None else [counted(self.size, "byte")])])


class ChangedObjectError(Exception):
    """An object is not the pinned one; ``seen`` is its present state, None if it is gone."""

    def __init__(self, seen: Pin | None) -> None:
        self.seen = seen
        super().__init__("it has changed")


def changed_while_read_error(shown: str, before: str, now: str) -> InputError:
    """Return the error for a file that changed during a run; ``before`` and ``now`` describe its states."""
    was = f" (it had {before} at first)" if before else ""
    return InputError(
        f"{shown} changed while it was read: {now}{was}",
        "Files that stay as they are until the run has ended",
        "Run again when nothing writes to it, or give a copy that nobody writes to",
    )


def _opaque(etag: str | None) -> str:
    """The tag without the mark of a weak one: a server may make a tag strong once the file is old enough."""
    return (etag or "").removeprefix("W/")


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _same_time(one: str, other: str) -> bool:
    """Whether two times are equal; one of them may be without fractions of a second, as in headers of HTTP."""
    return one == other if ("." in one) == ("." in other) else one[:19] == other[:19]


def _time(value: Any) -> str:
    """A time of any notation as ISO in UTC."""
    try:
        if isinstance(value, int | float):
            value = datetime.fromtimestamp(value, UTC)
        elif isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                value = parsedate_to_datetime(value)
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
    except (ValueError, TypeError, AttributeError, OverflowError, OSError):
        return str(value)
