"""Words and phrases in the texts of a result: an index made in the background when the first one is asked for."""

from __future__ import annotations

import threading

import numpy as np

from neardup.collection.query.syntax import WordsClause
from neardup.display import counted, number
from neardup.errors import NeardupError, QueryError
from neardup.kernels.text.keyed import Key
from neardup.review.desk.ahead import LAST_WAIT
from neardup.review.desk.documents import ResultDocuments
from neardup.review.desk.reading import TextReader
from neardup.tables import Int32s, Int64s, UInt64s
from neardup.text.keys import process_key

MOST_POSTINGS = 30_000_000
"""The most entries of the index, of 12 bytes each: the different words of documents. The rest is left out."""
MOST_VERIFIED = 2_000
"""Documents that are read to find the words of one phrase beside each other."""
_BLOCK = 4096


class WordIndex:
    """The documents that contain words, each exact copy through the first document with its text.

    ``wanted`` are the documents to read. A query sees the documents read when it comes; ``note`` says how many.
    """

    def __init__(self, documents: ResultDocuments, reader: TextReader, wanted: Int64s) -> None:
        self._documents, self._reader = documents, reader
        chosen = np.zeros(len(documents), np.bool_)
        chosen[documents.first[wanted]] = True
        self._wanted: Int64s = np.flatnonzero(chosen)
        self._blocks: list[tuple[UInt64s, Int32s]] = []
        self._read = self._unreadable = 0
        self._full = False
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._phrases: dict[tuple[bytes, int], tuple[Int64s, bool]] = {}
        self._cut = self._closed = False
        self.pending = False
        """Whether texts were still being read when the last query was answered."""

    def having(self, clause: WordsClause, query: str) -> Int64s:
        """Return the documents with the words beside each other. Raises QueryError if texts cannot be read."""
        fault = self._reader.fault()
        if fault:
            what = "Words cannot be searched for, because the texts of this result cannot be read"
            raise QueryError(what, fault, query=query, position=clause.span[0])
        self._start()
        from neardup.text.units import words  # its kernels are not needed to filter by fields

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
        said = []
        if not self._done.is_set() or self._full:
            state = "are searched for words, as many as fit into memory" if self._full else "are searched so far"
            said.append(f"{number(self._read)} of {counted(len(self._wanted), 'text')} {state}")
        if self._unreadable:
            said.append(f"{counted(self._unreadable, 'text')} cannot be read")
        if self._cut:
            said.append(f"a phrase is looked for in {counted(MOST_VERIFIED, 'text')} with its words")
        return "; ".join(said)

    def close(self) -> None:
        """Stop reading."""
        self._closed = True
        if self._thread is not None:
            self._thread.join(LAST_WAIT)

    def wait(self, seconds: float) -> None:
        """Wait until the texts are read."""
        self._done.wait(seconds)

    def _start(self) -> None:
        """Begin to read, once."""
        with self._lock:
            if self._thread is not None:
                return
            self._key: Key = process_key()
            self._thread = threading.Thread(target=self._make, name="words of a result", daemon=True)
            self._thread.start()

    def _make(self) -> None:
        try:
            self._read_all()
        finally:
            self._unreadable = 0 if self._full or self._closed else len(self._wanted) - self._read
            self._done.set()

    def _read_all(self) -> None:
        from neardup.text.units import words

        held: list[tuple[int, UInt64s]] = []
        postings = 0
        for document, text in self._reader.sweep(self._wanted):
            hashes = np.unique(words(text, self._key).hashes)
            postings += len(hashes)
            self._full = postings > MOST_POSTINGS
            if self._full or self._closed:
                break
            held.append((document, hashes))
            if len(held) == _BLOCK:
                self._add(held)
                held = []
        if held:
            self._add(held)

    def _add(self, held: list[tuple[int, UInt64s]]) -> None:
        """Add the words of some documents to the index."""
        documents = np.repeat([document for document, _ in held], [len(hashes) for _, hashes in held])
        hashes = np.concatenate([hashes for _, hashes in held])
        order = np.argsort(hashes, kind="stable")
        self._blocks.append((hashes[order], documents[order].astype(np.int32)))
        self._read += len(held)

    def _phrase(self, hashes: UInt64s) -> Int64s:
        """Return the documents read so far that have all words, beside each other."""
        blocks = self._blocks[:]
        key = hashes.tobytes(), len(blocks)
        if key not in self._phrases:
            found = [self._in_block(block, np.unique(hashes)) for block in blocks]
            documents = np.concatenate(found) if found else np.empty(0, np.int64)
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
        found: Int32s | None = None
        for word in wanted:
            begin, end = np.searchsorted(hashes, word), np.searchsorted(hashes, word, side="right")
            having = documents[begin:end]
            found = having if found is None else np.intersect1d(found, having, assume_unique=True)
        assert found is not None
        return found.astype(np.int64)

    def _contains(self, document: int, hashes: UInt64s) -> bool:
        from neardup.text.units import words

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
