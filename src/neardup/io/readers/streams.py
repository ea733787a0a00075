"""The common base of JSONL and CSV files: their encodings, found when they are opened, and their compression."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.io.formats.charsets import UTF_8, Charset
from neardup.io.readers.encodings import charset_of_source
from neardup.io.readers.files import UNREADABLE, FileDocuments
from neardup.io.readers.lines import Stream
from neardup.io.readers.sources import Source


class StreamDocuments(FileDocuments):
    """Files that are read as a stream of bytes, which are UTF-8 or converted to it."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self._charsets: list[Charset] = [UTF_8] * len(self.sources)

    @property
    def compression(self) -> str | None:
        """Codec of the files when all have the same, else None."""
        codecs = {source.compression for source in self.sources}
        return codecs.pop() if len(codecs) == 1 else None

    def find_charsets(self, asked: str) -> None:
        """Find the encoding of each file; an unreadable file is reported when it is read."""
        for position, source in enumerate(self.sources):
            self.take_stamp(position)
            try:
                found = charset_of_source(source, asked)
            except UNREADABLE:
                continue
            if found != UTF_8:
                self._charsets[position] = found
                self.findings.tell(source.name, found)

    def is_utf8(self, position: int) -> bool:
        """Whether the lines of a file can be found again by their place in it."""
        return self._charsets[position].encoding == "utf-8"

    def charset(self, position: int) -> Charset:
        """Return the encoding of a file."""
        return self._charsets[position]

    def stream(self, position: int) -> Stream:
        """Open a file, from its start."""
        return Stream(self.sources[position], self._charsets[position])
