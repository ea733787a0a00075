"""Read one file as one text, with the code that reads folders."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from neardup.errors import InputError
from neardup.io.formats import Extractor, format_of, refuse_size
from neardup.io.formats.charsets import charset_of, decoded
from neardup.io.formats.content import FILE_BYTES
from neardup.io.formats.kinds import HEAD_BYTES, refuse_kind
from neardup.io.readers.discover import find_file
from neardup.io.readers.folder import TextDocuments


def read_document(path: str | Path, pages: str = "all") -> str:
    """Return the text of a file (text, Markdown, HTML, PDF, office, mail) as a run over its folder reads it.

    ``pages``: all visible text of a web page, or its ``main`` content. ``archive.zip!/name`` is a file in an
    archive, ``inbox.mbox!/1.eml`` the first message of a mailbox. Any other file is plain text, in UTF-8 unless
    its bytes indicate otherwise. A URL is read through fsspec.
    Raises InputError for a file that is missing or cannot be read, with the reason.
    """
    documents = TextDocuments(str(path), [find_file(path)], pages=pages)
    for chunk in documents.chunks():
        rows = chunk.read(["text"])
        for problem in rows.problems:
            raise InputError(problem.reason[0].upper() + problem.reason[1:])
        content: bytes = rows.table.column("text")[0].as_py()
    return content.decode("utf-8", "replace")


def read_stream(stream: BinaryIO) -> str:
    """Return the text of a document without a name: a PDF if its first bytes match, else plain text.

    Raises InputError for a PDF that cannot be read, for binary data, and for more bytes than a file may have.
    """
    data = stream.read(FILE_BYTES + 1)
    refuse_size(len(data))
    if format_of("", data) == "text":
        refuse_kind(data[:HEAD_BYTES], "")
        return decoded(data, charset_of(data)).decode("utf-8", "replace")
    with Extractor() as extractor:
        return extractor.extract(data, "")
