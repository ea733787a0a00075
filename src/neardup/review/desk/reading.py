"""The texts of a result, read one by one, with the last ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.display import counted, printable
from neardup.errors import InputError, NeardupError
from neardup.review.desk.documents import ResultDocuments
from neardup.run.looking import no_places
from neardup.run.records import Looked, Texts
from neardup.tables import Int64s

if TYPE_CHECKING:
    from neardup.text.cleaning import Cleaner
    from neardup.text.units import Reading

HELD_BYTES = 1 << 26
"""Bytes of text to keep."""
HELD_WORDS = 200_000
"""Documents of which the first words are kept."""
HELD_FIELDS = 10_000
"""Documents of which the other values are kept."""
_BEGINNING = 400
_SHOWN = 100


class TextReader:
    """The texts behind a result. Methods may be called from several threads."""

    def __init__(self, documents: ResultDocuments, texts: Texts | None) -> None:
        self._documents, self._texts = documents, texts
        self._lock = threading.Lock()
        self._held: OrderedDict[int, Looked] = OrderedDict()
        self._bytes = 0
        self._words: OrderedDict[int, str] = OrderedDict()
        self._fields: OrderedDict[int, Mapping[str, Any]] = OrderedDict()

    @property
    def known(self) -> bool:
        """Whether the result records texts or places; reading may fail all the same."""
        return self._texts is not None

    def look(self, document: int) -> Looked:
        """Return a document. Raises InputError if it cannot be read as it was."""
        with self._lock:
            found = self._held.get(document)
            if found is not None:
                self._held.move_to_end(document)
                return found
            found = self._read(document)
            self._held[document] = found
            self._bytes += found.size
            while self._bytes > HELD_BYTES and len(self._held) > 1:
                self._bytes -= self._held.popitem(last=False)[1].size
            return found

    def sweep(self, documents: Int64s) -> Iterator[tuple[int, str]]:
        """Yield documents with their texts, in the order of the files; those that are not as they were lack."""
        if self._texts is None:
            return
        rows, sizes = self._documents.rows, self._documents.bytes
        for row, text in self._texts.sweep(rows[documents]):
            document = int(np.searchsorted(rows, row))
            if len(text) == sizes[document]:
                yield document, text.decode("utf-8", "replace")

    def once(self, document: int) -> Looked:
        """Return a document without keeping it. Raises InputError as ``look`` does."""
        with self._lock:
            return self._held.get(document) or self._read(document)

    def held_words(self, document: int) -> str | None:
        """Return the first words of a document if they were read before."""
        return self._words.get(document)

    def words(self, document: int) -> str:
        """Return the first words of a document on one line; "" if it cannot be read."""
        found = self._words.get(document)
        if found is None:
            found = ""
            if self.known:
                try:
                    found = beginning(self.look(document).text)
                except (NeardupError, OSError):
                    return ""
            self._words[document] = found
            if len(self._words) > HELD_WORDS:
                self._words.popitem(last=False)
        return found

    def fields(self, document: int) -> Mapping[str, Any]:
        """Return the other values in the input for a document; {} where they cannot be read."""
        if self._texts is None:
            return {}
        with self._lock:
            found = self._fields.get(document)
            if found is None:
                found = self._fields[document] = self._texts.fields(int(self._documents.rows[document]))
                if len(self._fields) > HELD_FIELDS:
                    self._fields.popitem(last=False)
            return found

    def fault(self) -> str:
        """Return why texts cannot be read, by trying the first document; "" if they can."""
        try:
            if len(self._documents):
                self.look(0)
            elif not self.known:
                raise no_places()
        except NeardupError as error:
            return str(error)
        except OSError as error:
            return f"The texts cannot be read: {error.strerror or error}"
        return ""

    def reading(self, document: int, cleaner: Cleaner | None = None) -> Reading:
        """Return a document as normalised text with its units, without those that the ``cleaner`` leaves out."""
        from neardup.text.units import read  # its kernels are not needed to list groups

        return read(self.look(document).text, cleaner=cleaner)

    def _read(self, document: int) -> Looked:
        if self._texts is None:
            raise no_places()
        id = self._documents.id(document)
        found = self._texts.look(id, int(self._documents.rows[document]))
        if found is None:
            raise InputError(f"There is no document {printable(id)} in the input", "An id as it is in the input")
        size = int(self._documents.bytes[document])
        if found.size != size:
            raise InputError(
                f"{printable(id)} has changed since the result was made: it has {counted(found.size, 'byte')}, "
                f"and {size:,} were read ({printable(found.where)})",
                "The input as the run read it",
                "Make the result again",
            )
        return found


def beginning(text: str) -> str:
    """Return the first words of a text on one line.

    >>> beginning("Dear  all,\\n\\nthe budget")
    'Dear all, the budget'
    """
    words = " ".join(text[:_BEGINNING].split())
    if len(words) <= _SHOWN:
        return words if len(text) <= _BEGINNING else f"{words} …"
    return f"{words[:_SHOWN].rpartition(' ')[0] or words[:_SHOWN]} …"
