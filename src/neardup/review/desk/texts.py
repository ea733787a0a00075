"""The texts of a result, their places and their words, and the time that a page may take to read them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np

from neardup.collection.queries import WordsClause
from neardup.deduplication.results import Looked, Places, Texts
from neardup.deduplication.texts import no_texts_error
from neardup.display import counted, number, printable
from neardup.display.view import excerpt
from neardup.errors import InputError, NeardupError, QueryError
from neardup.review.desk.index import ResultDocuments
from neardup.tables import Int32s, Int64s, UInt64s, column
from neardup.text.cleaning import Cleaner
from neardup.text.keys import process_key
from neardup.text.units import Reading, read, words

LAST_WAIT = 5.0
"""Seconds that closing waits for a thread: the interpreter must not end while one of them reads or computes."""

HELD_BYTES = 1 << 26
"""Bytes of text to keep."""

BROUGHT_BYTES = 1 << 23
"""Bytes of text that are read at once for a page."""

HELD_WORDS = 200_000
"""Documents of which the first words are kept."""

HELD_FIELDS = 10_000
"""Documents of which the other values are kept."""

SHOWN = 100
"""Width of the first words of a text in a list."""

MOST_POSTINGS = 30_000_000
"""The most entries of the index, of 12 bytes each: the different words of documents. The rest is left out."""

MOST_VERIFIED = 2_000
"""Documents that are read to find the words of one phrase beside each other."""
_BLOCK = 4096


class Budget:
    """The rest of a time; ``short`` is set once something had to be left out because the time was over."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self.short = False

    def seconds_left(self) -> float:
        """Return the seconds that are left, 0 if none are."""
        return max(0.0, self._end - monotonic())

    def allows(self) -> bool:
        """Return whether there is time for one more thing; if not, that is noted."""
        in_time = monotonic() < self._end
        self.short = self.short or not in_time
        return in_time


class TextReader:
    """The texts behind a result. Methods may be called from several threads."""

    seconds = 2.0
    """The time that a page waits for texts; then it is shown as it is, and refreshes itself."""

    def __init__(self, documents: ResultDocuments, texts: Texts | None) -> None:
        self._documents, self._texts = documents, texts
        self._lock = threading.Lock()
        self._held: OrderedDict[int, Looked] = OrderedDict()
        self._bytes = 0
        self._words: OrderedDict[int, str] = OrderedDict()
        self._fields: OrderedDict[int, Mapping[str, Any]] = OrderedDict()

    def budget(self) -> Budget:
        """Return the time of a page, which begins now."""
        return Budget(self.seconds)

    @property
    def known(self) -> bool:
        """Whether the result has texts."""
        return self._texts is not None

    def look(self, document: int) -> Looked:
        """Return a document. Raises InputError if it cannot be read."""
        with self._lock:
            text = self._held.get(document)
            if text is not None:
                self._held.move_to_end(document)
                return text
            return self._hold(document)

    def _hold(self, document: int) -> Looked:
        """Read a document, and keep it."""
        text = self._held[document] = self._read(document)
        self._bytes += text.size
        while self._bytes > HELD_BYTES and len(self._held) > 1:
            self._bytes -= self._held.popitem(last=False)[1].size
        return text

    def read_ahead(self, documents: Iterable[int]) -> None:
        """Read at once the documents that a page shows: up to ``BROUGHT_BYTES``, without those that are kept."""
        known = self._held.keys() & self._fields.keys()
        wanted = np.array(sorted(set(documents) - known), np.int64)
        wanted = wanted[np.cumsum(self._documents.bytes[wanted]) <= BROUGHT_BYTES]
        if self._texts is not None and len(wanted) > 1:
            with self._lock, suppress(NeardupError, OSError):  # ``look`` gives the reason
                if self._texts.read_ahead(self._documents.rows[wanted]):
                    for document in wanted.tolist():
                        if document not in self._held:
                            self._hold(document)
                        self._hold_fields(document)

    def sweep(self, documents: Int64s) -> Iterator[tuple[int, str]]:
        """Yield documents (ascending) with their texts."""
        if self._texts is None:
            return
        rows = self._documents.rows
        for row, text in self._texts.each(rows[documents]):
            yield int(np.searchsorted(rows, row)), text.decode("utf-8", "replace")

    def once(self, document: int) -> Looked:
        """Return a document without keeping it. Raises InputError as ``look`` does."""
        with self._lock:
            return self._held.get(document) or self._read(document)

    def held_words(self, document: int) -> str | None:
        """Return the first words of a document if they were read before."""
        return self._words.get(document)

    def words(self, document: int) -> str:
        """Return the first words of a document on one line; "" if it cannot be read."""
        beginning = self._words.get(document)
        if beginning is None:
            beginning = ""
            if self.known:
                try:
                    beginning = excerpt(self.look(document).text, SHOWN)
                except (NeardupError, OSError):
                    return ""
            self._words[document] = beginning
            if len(self._words) > HELD_WORDS:
                self._words.popitem(last=False)
        return beginning

    def fields(self, document: int) -> Mapping[str, Any]:
        """Return the other values in the input for a document; {} where they cannot be read."""
        if self._texts is None:
            return {}
        with self._lock:
            return self._hold_fields(document)

    def _hold_fields(self, document: int) -> Mapping[str, Any]:
        """Return the other values of a document, and keep them."""
        known = self._fields.get(document)
        if known is None:
            assert self._texts is not None
            known = self._fields[document] = self._texts.fields(int(self._documents.rows[document]))
            if len(self._fields) > HELD_FIELDS:
                self._fields.popitem(last=False)
        return known

    def fault(self) -> str:
        """Return why texts cannot be read, by trying the first document; "" if they can."""
        try:
            if not self.known:
                raise no_texts_error()
            if len(self._documents):
                self.look(0)
        except NeardupError as error:
            return str(error)
        except OSError as error:
            return f"The texts cannot be read: {error.strerror or error}"
        return ""

    def forget(self) -> None:
        """Drop what was read: texts have changed."""
        with self._lock:
            self._held.clear()
            self._words.clear()
            self._fields.clear()
            self._bytes = 0

    def reading(self, document: int, cleaner: Cleaner | None = None) -> Reading:
        """Return a document as normalised text with its units, without those that the ``cleaner`` leaves out."""
        return read(self.look(document).text, cleaner=cleaner)

    def _read(self, document: int) -> Looked:
        """Read the text of a document from the input."""
        if self._texts is None:
            raise no_texts_error()
        id = self._documents.id(document)
        text = self._texts.look(id, int(self._documents.rows[document]))
        if text is None:
            raise InputError(f"There is no document {printable(id)} in the input", "An id as it is in the input")
        return text


class Whereabouts:
    """The file and the row of each document, as the result records them."""

    def __init__(self, documents: ResultDocuments, places: Places | None) -> None:
        self._documents, self._places = documents, places

    @cached_property
    def _files(self) -> tuple[Int64s, Int64s, dict[int, tuple[str, bool]]]:
        """Return the file and the row of each document, −1 if not recorded, and the path and form of each file."""
        rows = self._documents.rows
        nowhere: Int64s = np.full(len(rows), -1, np.int64)
        tables = {} if self._places is None else self._places.tables(rows)
        if not tables:
            return nowhere, nowhere, {}
        located = tables["located"]
        known, file, number = (column(located, name) for name in ("row", "file", "number"))
        positions = np.minimum(np.searchsorted(known, rows), max(len(known) - 1, 0))
        same = known[positions] == rows if len(known) else np.zeros(len(rows), np.bool_)
        places = tables["places"].select(["file", "path", "format"]).to_pylist()
        paths = {place["file"]: (place["path"], place["format"] == "text") for place in places}
        return np.where(same, file[positions], -1), np.where(same, number[positions], -1), paths

    def of(self, document: int) -> str:
        """Return the place of a document in words; "" if it is not recorded."""
        file, number, paths = self._files
        if file[document] < 0:
            return ""
        path, is_document = paths[int(file[document])]
        return path if is_document else f"row {int(number[document]):,} of {path}"

    def relative(self, document: int, id: object) -> str:
        """Return the path of a document as its input names it; that of its file if its id has no folder."""
        file, _, paths = self._files
        path, is_document = paths[int(file[document])] if file[document] >= 0 else ("", True)
        return str(id) if is_document or "/" in str(id) else path

    def in_file(self, name: str) -> Int64s:
        """Return the documents in a file, named by its path or by the last parts of it."""
        file, _, paths = self._files
        wanted = "/" + name.replace("\\", "/").lstrip("/")
        same = [number for number, (path, _) in paths.items() if ("/" + path.replace("\\", "/")).endswith(wanted)]
        return np.flatnonzero(np.isin(file, same))


class PageThread:
    """A thread that works beside the pages: begun by the first that needs it, stopped by ``close``."""

    name, again = "", False
    """The name of the thread, and whether it may begin again after its end."""

    def __init__(self) -> None:
        self._lock, self._done = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def wait(self, seconds: float) -> None:
        """Wait for the end of the work."""
        self._done.wait(seconds)

    def close(self) -> None:
        """Stop after the present piece of work; nothing begins after that."""
        self._closed = True
        thread = self._thread
        if thread is not None:
            thread.join(LAST_WAIT)

    def _begin(self) -> None:
        """Start the thread, unless there is one."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._done.clear()
                self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            self._done.set()
            with self._lock:
                if self.again and self._thread is threading.current_thread():
                    self._thread = None

    def _work(self) -> None:
        """Do the work, while ``_closed`` is not set."""
        raise NotImplementedError


class WordIndex(PageThread):
    """The documents that contain words, each exact copy through the first document with its text.

    ``wanted`` are the documents to read. A query sees the documents read when it comes; ``note`` says how many.
    """

    name = "words of a result"

    def __init__(self, documents: ResultDocuments, reader: TextReader, wanted: Int64s) -> None:
        super().__init__()
        self._documents, self._reader, self._key = documents, reader, process_key()
        chosen = np.zeros(len(documents), np.bool_)
        chosen[documents.first[wanted]] = True
        self._wanted: Int64s = np.flatnonzero(chosen)
        self._blocks: list[tuple[UInt64s, Int32s]] = []
        self._read = self._unreadable = 0
        self._phrases: dict[tuple[bytes, int], tuple[Int64s, bool]] = {}
        self._full = self._cut = False
        self.pending = False
        """Whether texts were still being read when the last query was answered."""

    def documents_with(self, clause: WordsClause, query: str) -> Int64s:
        """Return the documents with the words beside each other. Raises QueryError if texts cannot be read."""
        fault = self._reader.fault()
        if fault:
            what = "Words cannot be searched for, because the texts of this result cannot be read"
            raise QueryError(what, fault, query=query, position=clause.span[0])
        self._begin()
        hashes = words(clause.words, self._key).hashes
        if not len(hashes):
            what = "There is no word here, only signs"
            raise QueryError(what, "Letters and digits", query=query, position=clause.span[0])
        self.pending = not self._done.is_set()  # before the look-up, which then sees them all
        return self._of_texts(self._phrase(hashes))

    def note(self) -> str:
        """Return a sentence on the documents that were not searched; "" if all were."""
        if self._thread is None:
            return ""
        notes = []
        if not self._done.is_set() or self._full:
            state = "are searched for words, as many as fit into memory" if self._full else "are searched so far"
            notes.append(f"{number(self._read)} of {counted(len(self._wanted), 'text')} {state}")
        if self._unreadable:
            notes.append(f"{counted(self._unreadable, 'text')} cannot be read")
        if self._cut:
            notes.append(f"a phrase is looked for in {counted(MOST_VERIFIED, 'text')} with its words")
        return "; ".join(notes)

    def _work(self) -> None:
        try:
            self._read_all()
        finally:
            self._unreadable = 0 if self._full or self._closed else len(self._wanted) - self._read

    def _read_all(self) -> None:
        unsorted: list[tuple[int, UInt64s]] = []
        postings = 0
        for document, text in self._reader.sweep(self._wanted):
            hashes = np.unique(words(text, self._key).hashes)
            postings += len(hashes)
            self._full = postings > MOST_POSTINGS
            if self._full or self._closed:
                break
            unsorted.append((document, hashes))
            if len(unsorted) == _BLOCK:
                self._add(unsorted)
                unsorted = []
        if unsorted:
            self._add(unsorted)

    def _add(self, unsorted: list[tuple[int, UInt64s]]) -> None:
        """Add the words of some documents to the index."""
        documents = np.repeat([document for document, _ in unsorted], [len(hashes) for _, hashes in unsorted])
        hashes = np.concatenate([hashes for _, hashes in unsorted])
        order = np.argsort(hashes, kind="stable")
        self._blocks.append((hashes[order], documents[order].astype(np.int32)))
        self._read += len(unsorted)

    def _phrase(self, hashes: UInt64s) -> Int64s:
        """Return the documents read so far that have all words, beside each other."""
        blocks = self._blocks[:]
        key = hashes.tobytes(), len(blocks)
        if key not in self._phrases:
            of_blocks = [self._in_block(block, np.unique(hashes)) for block in blocks]
            documents = np.concatenate(of_blocks) if of_blocks else np.empty(0, np.int64)
            cut = len(hashes) > 1 and len(documents) > MOST_VERIFIED
            if len(hashes) > 1:
                few = documents[:MOST_VERIFIED].tolist()
                documents = np.array([number for number in few if self._contains(number, hashes)], np.int64)
            if len(self._phrases) > 1000:
                self._phrases.clear()
            self._phrases[key] = documents, cut
        documents, self._cut = self._phrases[key]
        return documents

    def _in_block(self, block: tuple[UInt64s, Int32s], wanted: UInt64s) -> Int64s:
        hashes, documents = block
        common: Int32s | None = None
        for word in wanted:
            begin, end = np.searchsorted(hashes, word), np.searchsorted(hashes, word, side="right")
            having = documents[begin:end]
            common = having if common is None else np.intersect1d(common, having, assume_unique=True)
        assert common is not None
        return common.astype(np.int64)

    def _contains(self, document: int, hashes: UInt64s) -> bool:
        try:
            own = words(self._reader.once(document).text, self._key).hashes
        except (NeardupError, OSError):
            return False
        if len(own) < len(hashes):
            return False
        windows = np.lib.stride_tricks.sliding_window_view(own, len(hashes))
        return bool((windows == hashes).all(axis=1).any())

    def _of_texts(self, firsts: Int64s) -> Int64s:
        """Return all documents with the texts of these."""
        return np.flatnonzero(np.isin(self._documents.first, firsts))
