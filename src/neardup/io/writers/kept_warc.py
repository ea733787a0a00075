"""Kept records of WARC files: byte for byte, with revisit records for removed captures if they are asked for.

A revisit record (ISO 28500:2017, 6.7) states that a capture has the payload of another one. It is written only if
the payloads are identical, byte for byte. A removed near copy has another payload: a metadata record states the
reason, and the record that stays.
"""

import base64
import gzip
import hashlib
import io
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from neardup.display import printable
from neardup.io.containers.codecs import GZIP_LEVEL
from neardup.io.containers.warc import WarcRecord, head_end, stream_records
from neardup.io.readers.base import Capture, NativeRecords, Removal
from neardup.io.writers.kept_formats import FileSink

_END = b"\r\n\r\n"
PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_REPLACED = frozenset(
    ("warc-type", "content-length", "content-type", "warc-block-digest", "warc-payload-digest", "warc-profile")
)


Removals: TypeAlias = Callable[[int, int], Removal]
"""The removal of the record of a number in the file at a position."""


class RecordsSink(FileSink):
    """Writes records; with ``members`` each is a gzip member, as in the file it comes from.

    With ``removals``, other records are written in the place of those that go.
    """

    def __init__(
        self, path: Path, compression: str | None, *, members: bool, removals: Removals | None = None
    ) -> None:
        super().__init__(path, None if members else compression)
        self._members, self._removals = members, removals

    def prepare(self, native: NativeRecords, keep: npt.NDArray[np.bool_], extra: Any) -> list[bytes] | None:
        """Return the records that stay and those in the place of others, in order."""
        replaced: dict[int, bytes] = {}
        if self._removals is not None:
            keep = keep.copy()
            for row in np.flatnonzero(~keep).tolist():
                removal = self._removals(native.position, int(native.row_numbers[row]))
                replacement, keep[row] = _replacement(self._whole(native, int(native.rows[row])), removal)
                replaced[int(native.rows[row])] = self._as_stored(replacement, packed=False)
        stay = native.kept_records(keep)
        records = (
            replaced.get(place)
            or (self._as_stored(_bytes_of(native, place), packed=native.packed) if stay[place] else b"")
            for place in range(len(stay))
        )
        return [record for record in records if record] or None

    @staticmethod
    def _whole(native: NativeRecords, place: int) -> WarcRecord:
        data = _bytes_of(native, place)
        return next(stream_records(io.BytesIO(gzip.decompress(data) if native.packed else data).read))

    def _as_stored(self, record: bytes, *, packed: bool) -> bytes:
        """Return a record in the form of this file; one at the end of a file may lack its blank lines."""
        if packed:
            return record if self._members else gzip.decompress(record)
        whole = record if record.endswith(_END) else record.rstrip(_END) + _END
        return gzip.compress(whole, GZIP_LEVEL, mtime=0) if self._members else whole


def _bytes_of(native: NativeRecords, place: int) -> bytes:
    return native.data[int(native.starts[place]) : int(native.ends[place])]


def capture_of(record: WarcRecord) -> Capture:
    """Return the parts of a record that a revisit of it names."""
    return Capture(record.url, record.fields.get("warc-date", ""), record.id, _digest(_parts(record)[1]))


def _parts(record: WarcRecord) -> tuple[bytes, bytes]:
    """Return the HTTP header of a record, if it has one, and its payload."""
    is_http = record.fields.get("content-type", "").lower().startswith("application/http")
    end = (head_end(record.block) or 0) if is_http else 0
    return record.block[:end], record.block[end:]


def _digest(data: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"


def _replacement(record: WarcRecord, removal: Removal) -> tuple[bytes, bool]:
    """Return the record in the place of a removed one, and whether it is a revisit, with which requests stay.

    A conversion, as in a WET file, is no capture: it has no revisit.
    """
    header, payload = _parts(record)
    digest, kept = _digest(payload), removal.kept
    if kept is None or kept.payload != digest or record.type == "conversion":
        return _metadata(record, removal), False
    headers = [
        ("WARC-Type", "revisit"),
        *_fields_of(record),
        ("WARC-Profile", PROFILE),
        *_refers_to(kept),
        ("WARC-Refers-To-Target-URI", kept.url or ""),
        ("WARC-Refers-To-Date", kept.date),
        ("WARC-Payload-Digest", digest),
        ("Content-Type", record.fields.get("content-type", "")),
    ]
    return _record_bytes(headers, header), True


def _metadata(record: WarcRecord, removal: Removal) -> bytes:
    """Return the record that states why another one is removed; its identifier follows from that one."""
    name = record.id or _digest(record.block)
    headers = [
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'neardup removed {name}')}>"),
        ("WARC-Date", record.fields.get("warc-date", "")),
        ("WARC-Target-URI", record.url or ""),
        *(() if removal.kept is None else _refers_to(removal.kept)),
        ("Content-Type", "application/warc-fields"),
    ]
    body = f"removed: {printable(record.id)}\r\nreason: {printable(removal.reason)}\r\n"
    return _record_bytes(headers, body.encode("utf-8", "replace"))


def _fields_of(record: WarcRecord) -> list[tuple[str, str]]:
    """Return the headers that a revisit has from the removed record, its identifier and date among them."""
    names = {name.lower(): name for name in record.names}
    return [(names[key], value) for key, value in record.fields.items() if key not in _REPLACED]


def _refers_to(kept: Capture) -> list[tuple[str, str]]:
    return [("WARC-Refers-To", f"<{kept.id}>")] if kept.id else []


def _record_bytes(headers: Sequence[tuple[str, str]], content: bytes) -> bytes:
    lines = [f"{name}: {value}".replace("\r", " ") for name, value in headers if value]
    lines += [f"WARC-Block-Digest: {_digest(content)}", f"Content-Length: {len(content)}"]
    head = "\r\n".join(("WARC/1.1", *lines))
    return head.encode("utf-8", "replace") + _END + content + _END
